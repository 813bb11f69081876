"""Objectives: how the view losses of a group become one number.

Thin, immutable classes on top of the two formulas, which are public here as
well.
"""

import dataclasses
import math
from typing import Any

import keras
from keras import ops

from keras_mmel import formulas
from keras_mmel import kl_ball
from keras_mmel.formulas import effective_views
from keras_mmel.formulas import maximal_expected_loss
from keras_mmel.formulas import view_weights

__all__ = [
    "Hard",
    "KLBall",
    "Objective",
    "Soft",
    "Uniform",
    "effective_views",
    "get",
    "maximal_expected_loss",
    "view_weights",
]


@dataclasses.dataclass(frozen=True)
class Objective:
    """How the view losses of a group become one number.

    Subclass it to train with a formula of your own: override
    `value_and_weights`, keep the settings in dataclass fields, and register the
    class with `keras.saving.register_keras_serializable`. Objectives are
    values: they are compared by their fields and never change. To change
    `lambda_p` during training, assign to `MMELModel.lambda_p`.

    Attributes:
        soft_targets: Class attribute. `False`: all losses given to the
            objective are taken against labels. `True`: those of the augmented
            views are taken against the prediction for the original view.
        scheduled: Class attribute. Name of the field that may change during
            training, if the objective has it; what `value_and_weights` then is
            given in its place comes in `lambda_p`.
    """

    soft_targets = False
    scheduled = "lambda_p"

    def value_and_weights(
        self, losses: Any, mask: Any = None, lambda_p: Any = None
    ) -> tuple[Any, Any]:
        """The loss of each group and what each view counts in it.

        Args:
            losses: View losses `(batch, num_views)`.
            mask: None, or bool `(batch, num_views)`, `False` for padding.
            lambda_p: Takes the place of the objective's own, where it has one;
                may be a scalar tensor.

        Returns:
            Float32 `(batch,)`, and the weights of the views in it, float32
            `(batch, num_views)`, which sum to 1 over the real views. Padding
            weighs 0, whatever it holds; a group without a real view gives 0;
            a real loss that is not finite gives NaN.
        """
        raise TypeError(
            f"{type(self).__name__} must override "
            "`value_and_weights(losses, mask, lambda_p)`."
        )

    def __call__(
        self, losses: Any, mask: Any = None, lambda_p: Any = None
    ) -> Any:
        """The first result of `value_and_weights`."""
        return self.value_and_weights(losses, mask, lambda_p)[0]

    def weights(
        self, losses: Any, mask: Any = None, lambda_p: Any = None
    ) -> Any:
        """The second result of `value_and_weights`.

        Args:
            losses: View losses `(batch, num_views)`.
            mask: None, or bool `(batch, num_views)`, `False` for padding.
            lambda_p: Takes the place of the objective's own, where it has one.

        Returns:
            Float32 `(batch, num_views)`.

        Example:

        ```python
        keras_mmel.objectives.Hard().weights([[1.0, 2.0]])
        # [[0.26894143, 0.7310586]]
        ```
        """
        return self.value_and_weights(losses, mask, lambda_p)[1]

    def get_config(self) -> dict:
        return dataclasses.asdict(self)

    @classmethod
    def from_config(cls, config: dict) -> "Objective":
        return cls(**config)


@keras.saving.register_keras_serializable(package="keras_mmel")
@dataclasses.dataclass(frozen=True)
class Hard(Objective):
    """MMEL-H: every view against its label (equation 8).

    Args:
        lambda_p: KL coefficient, from 0 (train on the hardest view) to inf
            (train on the mean), in the unit of the loss. Defaults to 1.

    Raises:
        ValueError: If `lambda_p` is negative or NaN.

    Example:

    ```python
    keras_mmel.objectives.Hard(lambda_p=1.0)([[1.0, 2.0], [3.0, 3.0]])
    # [1.6201146, 3.0]
    ```
    """

    lambda_p: float = 1.0

    def __post_init__(self):
        formulas.check_lambda_p(self.lambda_p)

    def value_and_weights(
        self, losses: Any, mask: Any = None, lambda_p: Any = None
    ) -> tuple[Any, Any]:
        lambda_p = self.lambda_p if lambda_p is None else lambda_p
        return formulas.expected_loss_and_weights(losses, lambda_p, mask)


@keras.saving.register_keras_serializable(package="keras_mmel")
@dataclasses.dataclass(frozen=True)
class Soft(Objective):
    r"""MMEL-S: augmented views against the prediction for the original.

    $R = l(f(x), y) + \lambda_T R'$ where $R'$ is the formula of
    `maximal_expected_loss` over the augmented views with
    $l_j = l(f(z_j), f(x))$ (equations 9 and 10). `losses[:, 0]` is the loss of
    the original view against its label, `losses[:, 1:]` are the losses of the
    augmented views against the soft target.

    The original view has no part in the softmax: `weights` gives it 0, and the
    weights of the other views sum to 1.

    Args:
        lambda_p: KL coefficient, from 0 to inf. Defaults to 1.
        lambda_t: Weight of the soft term, above 0. Defaults to 1.
        stop_gradient: Whether the soft target is a constant. The paper does
            not say; UDA stops the gradient, and so do we by default. Read by
            `MMELModel`, which makes the target.

    Raises:
        ValueError: If `lambda_p` is negative or NaN, `lambda_t` is not a
            positive number, or the groups have only one view.

    Example:

    ```python
    objective = keras_mmel.objectives.Soft(lambda_p=1.0, lambda_t=0.5)
    objective([[0.5, 1.0, 2.0]])  # [1.3100573]
    ```
    """

    lambda_p: float = 1.0
    lambda_t: float = 1.0
    stop_gradient: bool = True

    soft_targets = True

    def __post_init__(self):
        formulas.check_lambda_p(self.lambda_p)
        is_number = formulas.is_number(self.lambda_t)
        if not (is_number and 0 < self.lambda_t < math.inf):
            raise ValueError(
                "`lambda_t` must be a positive number. "
                f"Received: lambda_t={self.lambda_t!r}"
            )

    def value_and_weights(
        self, losses: Any, mask: Any = None, lambda_p: Any = None
    ) -> tuple[Any, Any]:
        lambda_p = self.lambda_p if lambda_p is None else lambda_p
        losses, real = formulas.real_losses(losses, mask)
        if losses.shape[1] == 1:
            raise ValueError(
                "The soft objective compares augmented views with the original "
                "and needs groups of at least 2 views. "
                f"Received: losses.shape={tuple(losses.shape)}"
            )
        if real is not None:
            real = real[:, 1:]
        soft, weights = formulas.expected_loss_and_weights(
            losses[:, 1:], lambda_p, real
        )
        value = losses[:, 0] + self.lambda_t * soft
        # A weight for each view that came in: the original's is 0.
        no_weight = ops.zeros_like(losses[:, :1])
        return value, ops.concatenate([no_weight, weights], axis=1)


@keras.saving.register_keras_serializable(package="keras_mmel")
@dataclasses.dataclass(frozen=True)
class KLBall(Objective):
    r"""The worst weights within a ball: the paper's theorem, constrained.

    $R = \max_w \sum_j w_j l_j$ over the weights with
    $\mathrm{KL}(w \,\|\, \mathrm{uniform}) \le$ `radius`. The weights are
    the softmax of `Hard`, with the $\lambda$ of each group for which the ball
    is just reached. `lambda_p` is in the unit of the loss and has little
    effect once losses are far below it; a radius has no unit and has the same
    effect at every scale: about $k e^{-\mathrm{radius}}$ of $k$ views count
    (`effective_views`), 90 % of them at 0.1.

    Args:
        radius: From 0 (train on the mean) to the logarithm of the number of
            views (train on the hardest one), in nats. Defaults to 0.1.

    Raises:
        ValueError: If `radius` is negative or NaN.

    Example:

    ```python
    keras_mmel.objectives.KLBall(radius=0.1)([[1.0, 2.0], [3.0, 3.0]])
    # [1.7197, 3.0]
    ```
    """

    radius: float = 0.1

    scheduled = "radius"

    def __post_init__(self):
        kl_ball.check_radius(self.radius)

    def value_and_weights(
        self, losses: Any, mask: Any = None, lambda_p: Any = None
    ) -> tuple[Any, Any]:
        radius = self.radius if lambda_p is None else lambda_p
        return kl_ball.ball_loss_and_weights(losses, radius, mask)


@keras.saving.register_keras_serializable(package="keras_mmel")
@dataclasses.dataclass(frozen=True)
class Uniform(Objective):
    """The mean over views: plain training on all of them (equation 2).

    It is what batch augmentation does and the baseline that reweighting has
    to beat at the same cost. Same value as `Hard(lambda_p=inf)`.

    Example:

    ```python
    keras_mmel.objectives.Uniform()([[1.0, 2.0]])  # [1.5]
    ```
    """

    def value_and_weights(
        self, losses: Any, mask: Any = None, lambda_p: Any = None
    ) -> tuple[Any, Any]:
        return formulas.mean_and_weights(losses, mask)


_BY_NAME = {"hard": Hard, "soft": Soft, "uniform": Uniform}
_CLASSES = {cls.__name__: cls for cls in (Hard, Soft, KLBall, Uniform)}


def get(identifier: Any) -> Objective:
    """Objective from its name, its config or itself.

    Args:
        identifier: `"hard"`, `"soft"` or `"uniform"` (with the default
            settings), an `Objective`, what
            `keras.saving.serialize_keras_object` gave for one, or
            `{"class_name": "Hard", "config": {"lambda_p": 0.5}}`.

    Returns:
        An `Objective`.

    Raises:
        ValueError: If it is none of these.

    Example:

    ```python
    keras_mmel.objectives.get("hard")  # Hard(lambda_p=1.0)
    ```
    """
    objective = identifier
    if isinstance(identifier, str) and identifier in _BY_NAME:
        objective = _BY_NAME[identifier]()
    elif isinstance(identifier, dict):
        # As Keras's own, it need not say where the class is.
        objective = keras.saving.deserialize_keras_object(
            identifier, custom_objects=_CLASSES
        )
    if not isinstance(objective, Objective):
        raise ValueError(
            f"`objective` must be one of {sorted(_BY_NAME)} or an instance of "
            f"`keras_mmel.objectives.Objective`. Received: {identifier!r}"
        )
    return objective
