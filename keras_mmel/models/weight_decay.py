r"""Weight decay as SGD in PyTorch and in the recipes understands it.

Two rules carry the name. Written for SGD with momentum mu and rate eta:

    coupled      g = grad + wd * w;   v = mu v + g;   w = w - eta v
    decoupled    v = mu v + grad;     w = w - eta v - eta wd * w

The recipes of He et al. and of the paper mean the first one: there the decay
passes through the momentum, which makes it 1 / (1 - mu) times as strong in the
long run, ten times with the usual mu = 0.9. `weight_decay` of
`keras.optimizers.SGD` is the second one: 5e-4 given there is a tenth of the
recipe's. The coupled rule is the gradient of a penalty of
wd / 2 * ||w||^2, so it is done with an L2 regularizer on the weights. That
also survives saving, and gradient clipping and accumulation see it as they
do in PyTorch. (A change of the rate in mid-training acts at once on PyTorch's
velocity and with a delay of 1 / (1 - mu) steps on that of Keras.)
"""

import math
from collections.abc import Callable

import keras


def with_weight_decay(model: keras.Model, weight_decay: float) -> keras.Model:
    r"""Copies a model, with weight decay on all of its trainable weights.

    Every trainable weight `w` gets a regularizer that adds

        weight_decay / 2 * sum(w ** 2)

    to the loss, so its gradient gains `weight_decay * w`: the rule of
    `torch.optim.SGD(..., weight_decay=...)`, which like this function takes
    all parameters, biases and those of batch normalization included. The
    penalty is part of the logged `loss` and `val_loss`, but of no metric.

    Args:
        model: A functional or Sequential model of Keras layers. It is not
            changed.
        weight_decay: The coefficient, for example `5e-4`. Not negative. It
            replaces regularizers that the layers have.

    Returns:
        A model of the same kind, with the same weights and not compiled.

    Raises:
        ValueError: If `weight_decay` is negative or not finite, or if a
            trainable weight belongs to a layer that takes no regularizer
            for it.

    Example:

    ```python
    import keras
    import keras_mmel

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    model = keras_mmel.models.with_weight_decay(model, 5e-4)
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
    ```

    Reference:
        Loshchilov, Hutter: [Decoupled Weight Decay Regularization](
        https://arxiv.org/abs/1711.05101), for the two rules.
    """
    if not math.isfinite(weight_decay) or weight_decay < 0:
        raise ValueError(
            "`weight_decay` must be finite and not negative. "
            f"Received: {weight_decay}"
        )

    def add_penalty(layer, config):
        penalty = keras.regularizers.L2(weight_decay / 2)
        for key in config:
            # `activity_regularizer` is one on outputs, not on weights.
            if key.endswith("_regularizer") and key[:8] != "activity":
                config[key] = keras.regularizers.serialize(penalty)

    copy = rebuild(model, add_penalty)
    bare = [w.path for w in copy.trainable_weights if w.regularizer is None]
    if bare:
        raise ValueError(
            "Each trainable weight must be one that its layer takes a "
            f"regularizer for. Received: a model with {', '.join(bare)}"
        )
    return copy


def rebuild(
    model: keras.Model, change: Callable[[keras.layers.Layer, dict], None]
) -> keras.Model:
    """Copies a model, where `change` may edit the config of each layer.

    The copy takes the weights over if no initializer was edited.
    """
    fresh = False

    def copy_layer(layer):
        nonlocal fresh
        config = layer.get_config()
        before = {k: v for k, v in config.items() if "initializer" in k}
        change(layer, config)
        fresh |= any(config[key] != value for key, value in before.items())
        return type(layer).from_config(config)

    copy = keras.models.clone_model(
        model, clone_function=copy_layer, recursive=True
    )
    if not fresh:
        copy.set_weights(model.get_weights())
    return copy
