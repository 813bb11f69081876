"""How a BERT is fine-tuned, on GLUE and on few labels."""

from collections.abc import Sequence

import keras
import numpy as np

from keras_mmel import text

# As in BERT's own code; the paper does not tell.
EPSILON = 1e-6
# Never decayed, as in BERT: by name, for a bias of attention is a matrix.
NOT_DECAYED = ("bias", "gamma", "beta")


def compile_model(
    model: keras.Model,
    learning_rate: float,
    steps: int,
    loss: keras.losses.Loss,
    weight_decay: float = 0.0,
    metrics: Sequence[str] = (),
) -> None:
    """AdamW with linear decay to 0, without warm-up (appendix B of the paper).

    Args:
        model: A classifier, or the wrapper of one.
        learning_rate: Of the first step.
        steps: Of the whole training.
        loss: Of one example.
        weight_decay: Of all weights but biases and layer norms.
        metrics: As of `compile`.
    """
    rate = keras.optimizers.schedules.PolynomialDecay(
        learning_rate, steps, end_learning_rate=0.0
    )
    optimizer = keras.optimizers.AdamW(
        rate, weight_decay=weight_decay, epsilon=EPSILON
    )
    weights = model.trainable_weights
    optimizer.exclude_from_weight_decay(
        var_list=[one for one in weights if one.name in NOT_DECAYED]
    )
    model.compile(optimizer, loss, metrics=list(metrics))
    optimizer.build(weights)


def loss_of(num_classes: int, of_classes: bool = True) -> keras.losses.Loss:
    """Crossentropy, or the squared error where there is one output.

    Args:
        num_classes: Outputs of the classifier; 1 is regression.
        of_classes: Whether labels are class numbers, not probabilities.
    """
    if num_classes == 1:
        return keras.losses.MeanSquaredError()
    if of_classes:
        return keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return keras.losses.CategoricalCrossentropy(from_logits=True)


def predict(classifier: keras.Model, table: text.TokenTable) -> np.ndarray:
    """Outputs for the originals of a table, float64 `(examples, classes)`."""
    examples = text.read_plain(table, batch_size=64, labels=False)
    return np.asarray(classifier.predict(examples, verbose=0), "float64")
