r"""Other ways to train on groups of views, for comparison at equal cost.

    batch augmentation  the mean over views: `keras_mmel.objectives.Uniform`
    MaxUp               the hardest view: `keras_mmel.objectives.Hard(0.0)`
    CVaR of the views   `Hardest`: the mean of the hardest ones of each group
    TERM                `Tilted`: the formula of MMEL over the whole batch
    AugMix's loss       `Consistency`: the original's loss and the divergence
                        of the views' predictions

They are here and not in the package: what a peer is, its authors say. On CIFAR,
with the options of `experiments.training.cifar`, whose methods are there too:

    python -m experiments.rivals --method maxup tilted consistency

Reference:
    Hoffer et al., Augment your batch, CVPR 2020. Gong et al., MaxUp, CVPR
    2021. Li et al., Tilted empirical risk minimization, ICLR 2021. Hendrycks
    et al., AugMix, ICLR 2020.
"""

import dataclasses
import math
from typing import Any

import keras
from keras import ops

import keras_mmel
from experiments.training import cifar
from experiments.training import images
from keras_mmel import objectives


@keras.saving.register_keras_serializable(package="keras_mmel_examples")
@dataclasses.dataclass(frozen=True)
class Tilted(objectives.Objective):
    r"""TERM: the views of a whole batch tilted together, not group by group.

    $R = \lambda \log \frac{1}{bk} \sum_{ij} e^{l_{ij} / \lambda}$ over the $k$
    views of all $b$ examples, where $\lambda = 1 / t$ of the paper. Hard
    examples get more weight than easy ones, not only hard views of an example.
    Under a strategy each replica tilts its own part of the batch.

    Args:
        lambda_p: What 1 / t is in the paper, from 0 to inf.

    Example:

    >>> Tilted(1.0)([[1.0, 2.0], [3.0, 3.0]])
    [2.539, 2.539]

    Reference:
        Li et al., ICLR 2021, equation 2.
    """

    lambda_p: float = 1.0

    def __post_init__(self):
        objectives.Hard(self.lambda_p)

    def value_and_weights(
        self, losses: Any, mask: Any = None, lambda_p: Any = None
    ) -> tuple[Any, Any]:
        lambda_p = self.lambda_p if lambda_p is None else lambda_p
        losses = ops.convert_to_tensor(losses)
        shape = ops.shape(losses)
        one_row = ops.reshape(losses, (1, -1))
        if mask is not None:
            mask = ops.reshape(ops.cast(mask, "bool"), (1, -1))
        value = objectives.maximal_expected_loss(one_row, lambda_p, mask)
        weights = objectives.view_weights(one_row, lambda_p, mask)
        # The step takes the mean over examples: each carries the whole value,
        # and the weights of the batch sum to the number of examples.
        examples = ops.cast(shape[0], weights.dtype)
        return (
            ops.broadcast_to(value, (shape[0],)),
            ops.reshape(weights, shape) * examples,
        )


@keras.saving.register_keras_serializable(package="keras_mmel_examples")
@dataclasses.dataclass(frozen=True)
class Hardest(objectives.Objective):
    """The mean of the hardest views: their conditional value at risk.

    Args:
        count: How many of the views of a group; all of them where it has
            fewer.

    Example:

    >>> Hardest(2)([[1.0, 2.0, 4.0]])
    [3.0]
    """

    count: int = 1

    def value_and_weights(
        self, losses: Any, mask: Any = None, lambda_p: Any = None
    ) -> tuple[Any, Any]:
        losses = ops.cast(ops.convert_to_tensor(losses), "float32")
        real = ops.ones_like(losses)
        if mask is not None:
            real = ops.cast(mask, "float32")
        ordered = ops.where(real > 0, losses, -float("inf"))
        place = ops.argsort(ops.argsort(-ordered, axis=1), axis=1)
        hardest = real * ops.cast(place < self.count, "float32")
        count = ops.maximum(ops.sum(hardest, axis=1, keepdims=True), 1.0)
        return objectives.maximal_expected_loss(
            losses, math.inf, hardest > 0
        ), hardest / count


class Consistency(keras_mmel.MMELModel):
    r"""AugMix's loss on our views: agree with the original, and be right.

    $l(f(x), y) + c \cdot \mathrm{JS}(p_0, .., p_{k-1})$, where the divergence
    is the mean of $\mathrm{KL}(p_j \| \bar p)$ over the views, the original
    included, and $\bar p$ is their mean. Classification from logits, without
    masks and teachers.

    Args:
        model: Gives logits.
        coefficient: c; 12 in AugMix.

    Reference:
        Hendrycks et al., ICLR 2020, section 3.
    """

    def __init__(
        self, model: keras.Model, coefficient: float = 12.0, **settings
    ):
        settings.pop("objective", None)
        super().__init__(model, "uniform", **settings)
        self.coefficient = coefficient

    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ):
        if not (isinstance(x, dict) and "views" in x):
            return super().compute_loss(
                x, y, y_pred, sample_weight, training=training
            )
        if sample_weight is not None or isinstance(y, dict) or "mask" in x:
            raise ValueError(
                "AugMix's loss is here for labels alone, without teacher, mask "
                f"and sample weights. Received: x with {sorted(x)}, y of type "
                f"{type(y).__name__}, sample_weight={sample_weight!r}"
            )
        views = keras.tree.flatten(x["views"])[0].shape[1]
        logits = ops.cast(y_pred, "float32")
        logits = ops.reshape(logits, (-1, views, logits.shape[-1]))
        right = keras.losses.sparse_categorical_crossentropy(
            y, logits[:, 0], from_logits=True
        )
        self.view_statistics.update_state(
            ops.mean(right),
            ops.full_like(right, views),
            ops.cast(ops.shape(right)[0], "float32"),
        )
        loss = ops.mean(right + self.coefficient * jensen_shannon(logits))
        return loss + sum(ops.cast(extra, "float32") for extra in self.losses)


def jensen_shannon(logits: Any) -> Any:
    """Jensen-Shannon divergence of the predictions of each group, in nats.

    Args:
        logits: Shape `(batch, num_views, classes)`.

    Returns:
        Shape `(batch,)`, from 0 (all the same) to log(num_views).

    Example:

    >>> jensen_shannon([[[0.0, 50.0], [50.0, 0.0]]])
    [0.6931472]
    """
    log_p = ops.log_softmax(logits, axis=-1)
    p = ops.exp(log_p)
    # As in AugMix's code: no logarithm of what underflowed.
    log_mean = ops.log(ops.clip(ops.mean(p, axis=1, keepdims=True), 1e-7, 1.0))
    return ops.mean(ops.sum(p * (log_p - log_mean), axis=-1), axis=1)


def _maxup(model, settings):
    return keras_mmel.MMELModel(model, objectives.Hard(0.0))


def _tilted(model, settings):
    return keras_mmel.MMELModel(model, Tilted(float(settings["lambda_p"])))


def _consistency(model, settings):
    return Consistency(model)


METHODS = {"maxup": _maxup, "tilted": _tilted, "consistency": _consistency}
images.METHODS.update(METHODS)
images.WITH_LAMBDA_P.add("tilted")
record_path = cifar.record_path

if __name__ == "__main__":
    cifar.main(script=__file__)
