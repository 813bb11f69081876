r"""Formulas: the view losses of a group in, one number per group out.

For view losses $l_1 .. l_k$ of one group and $\lambda$ = `lambda_p`, the worst
reweighting of the views within a KL ball around the uniform one has a closed
form (theorem 1 of the paper):

$$w_j = \mathrm{softmax}_j(l_j / \lambda) \tag{6}$$
$$R = \sum_j w_j l_j - \lambda \sum_j w_j \log(k w_j)
    = \lambda \log \frac{1}{k} \sum_j e^{l_j / \lambda} \tag{7}$$

The weights' own derivative cancels against the KL term, so that
$dR/d\theta = \sum_j w_j \, dl_j/d\theta$: no `stop_gradient` is needed.

Nothing here knows a model or data. Everything is computed in float32 on
`keras.ops`, whatever precision comes in: `loss / lambda_p` overflows float16
before the maximum can be subtracted.

Reference:
    Yi et al., Reweighting Augmented Samples by Minimizing the Maximal Expected
    Loss, ICLR 2021.
"""

import dataclasses
import math
import numbers
from typing import Any

import keras
from keras import ops

# `lambda_p` is clipped to this range. At its ends the float32 softmax already
# is the limit: losses further apart than 1e-28 give weights of exactly 0 and
# 1 at the lower end, and exp(loss / 1e20) is 1 for every loss below 1e12 at
# the upper. Going further would meet subnormal numbers in the gradient.
_LAMBDA_RANGE = (1e-30, 1e20)


def view_weights(losses: Any, lambda_p: Any, mask: Any = None) -> Any:
    r"""Weight of each view in its group: softmax of loss over `lambda_p`.

    Computes $w_j = \mathrm{softmax}_j(l_j / \lambda)$ over the real views of
    each group (equation 6). `lambda_p=inf` gives equal weights, `lambda_p=0`
    gives all the weight to the view with the largest loss; ties share it.

    Args:
        losses: Shape `(batch, num_views)`. View losses, any float type.
        lambda_p: KL coefficient, a float from 0 to inf or a scalar tensor, in
            the unit of the losses.
        mask: Optional, bool of shape `(batch, num_views)`. `False` marks
            padding: its weight is exactly 0 whatever its loss, NaN included.

    Returns:
        Float32 of shape `(batch, num_views)`. Each row sums to 1; a row without
        a real view is all zeros. A non-finite loss of a real view makes the
        weights of its group NaN.

    Raises:
        ValueError: If `lambda_p` is negative or NaN, `losses` is not a matrix
            or `mask` has another shape.

    Example:

    >>> keras_mmel.objectives.view_weights([[1.0, 2.0]], lambda_p=1.0)
    [[0.26894143, 0.7310586]]

    Reference:
        Yi et al., ICLR 2021, equation 6.
    """
    losses, real = _real_losses(losses, mask)
    largest = ops.max(_fill(losses, real, -math.inf), axis=1, keepdims=True)
    scaled = (losses - _finite_or_zero(largest, real)) / _scale(lambda_p)
    unnormalized = _fill(ops.exp(scaled), real, 0.0)
    total = ops.sum(unnormalized, axis=1, keepdims=True)
    weights = ops.divide_no_nan(unnormalized, total)
    return _fill(weights + _nan_if_not_finite(losses), real, 0.0)


def maximal_expected_loss(losses: Any, lambda_p: Any, mask: Any = None) -> Any:
    r"""Loss of each group under the worst reweighting of its views.

    Computes $R = \lambda \log \frac{1}{k} \sum_j e^{l_j / \lambda}$ over the
    $k$ real views of each group, which equals
    $\sum_j w_j l_j - \lambda \sum_j w_j \log(k w_j)$ with the weights of
    `view_weights` (equation 7). `lambda_p=inf` gives the mean of the losses,
    `lambda_p=0` their maximum. The gradient with respect to $l_j$ is $w_j$.

    Args:
        losses: Shape `(batch, num_views)`. View losses, any float type.
        lambda_p: KL coefficient, a float from 0 to inf or a scalar tensor, in
            the unit of the losses.
        mask: Optional, bool of shape `(batch, num_views)`. `False` marks
            padding: it does not count in $k$ and gets no gradient, even when
            its loss is NaN.

    Returns:
        Float32 of shape `(batch,)`, in the unit of the losses. A group without
        a real view gives 0; a group with a non-finite loss of a real view
        gives NaN, so that it is seen and not weighted away.

    Raises:
        ValueError: If `lambda_p` is negative or NaN, `losses` is not a matrix
            or `mask` has another shape.

    Example:

    >>> keras_mmel.objectives.maximal_expected_loss([[1.0, 2.0]], lambda_p=1.0)
    [1.6201146]

    Reference:
        Yi et al., ICLR 2021, equation 7.
    """
    losses, real = _real_losses(losses, mask)
    scale = _scale(lambda_p)
    mean_over_views = _mean_over(losses, real)
    mean = mean_over_views(losses)
    largest = _finite_or_zero(
        ops.max(_fill(losses, real, -math.inf), axis=1, keepdims=True), real
    )
    smallest = ops.min(_fill(losses, real, math.inf), axis=1, keepdims=True)
    # R does not depend on the centre, its rounding error does. Around the mean
    # nothing cancels while the losses are within one lambda of each other;
    # further apart, exp would overflow around anything but the maximum.
    centre = ops.stop_gradient(
        ops.where(largest - smallest <= scale, mean, largest)
    )
    scaled = (losses - centre) / scale
    excess = mean_over_views(_fill(ops.expm1(scaled), real, 0.0))
    near = excess > -0.5
    average = ops.where(near, 1.0, mean_over_views(ops.exp(scaled)))
    # log1p is exact where the mean of exp is close to 1, log elsewhere.
    log_mean_exp = ops.where(near, ops.log1p(excess), ops.log(average))
    value = centre + scale * log_mean_exp + _nan_if_not_finite(losses)
    return ops.squeeze(value, axis=1)


@dataclasses.dataclass(frozen=True)
class Objective:
    """How the view losses of a group become one number.

    Subclass it to train with a formula of your own: override `__call__` and
    `weights`, keep the settings in dataclass fields, and register the class
    with `keras.saving.register_keras_serializable`. Objectives are values:
    they are compared by their fields and never change. To change `lambda_p`
    during training, assign to `MMELModel.lambda_p`.

    Attributes:
        soft_targets: Class attribute. `False`: all losses given to the
            objective are taken against labels. `True`: those of the augmented
            views are taken against the prediction for the original view.
    """

    soft_targets = False

    def __call__(
        self, losses: Any, mask: Any = None, lambda_p: Any = None
    ) -> Any:
        """One loss per group, shape `(batch,)`."""
        raise TypeError(
            f"{type(self).__name__} must override `__call__(losses, mask, "
            "lambda_p)`."
        )

    def weights(
        self, losses: Any, mask: Any = None, lambda_p: Any = None
    ) -> Any:
        """Derivative of the value by each view loss, `(batch, num_views)`."""
        raise TypeError(
            f"{type(self).__name__} must override `weights(losses, mask, "
            "lambda_p)`."
        )

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

    >>> keras_mmel.objectives.Hard(lambda_p=1.0)([[1.0, 2.0], [3.0, 3.0]])
    [1.6201146, 3.0]
    """

    lambda_p: float = 1.0

    def __post_init__(self):
        check_lambda_p(self.lambda_p)

    def __call__(
        self, losses: Any, mask: Any = None, lambda_p: Any = None
    ) -> Any:
        lambda_p = self.lambda_p if lambda_p is None else lambda_p
        return maximal_expected_loss(losses, lambda_p, mask)

    def weights(
        self, losses: Any, mask: Any = None, lambda_p: Any = None
    ) -> Any:
        lambda_p = self.lambda_p if lambda_p is None else lambda_p
        return view_weights(losses, lambda_p, mask)


@keras.saving.register_keras_serializable(package="keras_mmel")
@dataclasses.dataclass(frozen=True)
class Soft(Objective):
    r"""MMEL-S: augmented views against the prediction for the original.

    $R = l(f(x), y) + \lambda_T R'$ where $R'$ is the formula of
    `maximal_expected_loss` over the augmented views with
    $l_j = l(f(z_j), f(x))$ (equations 9 and 10). `losses[:, 0]` is the loss of
    the original view against its label, `losses[:, 1:]` are the losses of the
    augmented views against the soft target.

    The original view has no weight in the softmax: `weights` gives it 0, and
    the weights of the other views sum to 1.

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

    >>> objective = keras_mmel.objectives.Soft(lambda_p=1.0, lambda_t=0.5)
    >>> objective([[0.5, 1.0, 2.0]])
    [1.3100573]
    """

    lambda_p: float = 1.0
    lambda_t: float = 1.0
    stop_gradient: bool = True

    soft_targets = True

    def __post_init__(self):
        check_lambda_p(self.lambda_p)
        if not (_is_number(self.lambda_t) and 0 < self.lambda_t < math.inf):
            raise ValueError(
                "`lambda_t` must be a positive number. "
                f"Received: lambda_t={self.lambda_t!r}"
            )

    def __call__(
        self, losses: Any, mask: Any = None, lambda_p: Any = None
    ) -> Any:
        lambda_p = self.lambda_p if lambda_p is None else lambda_p
        losses, augmented, mask = _split_original(losses, mask)
        soft = maximal_expected_loss(augmented, lambda_p, mask)
        return losses[:, 0] + self.lambda_t * soft

    def weights(
        self, losses: Any, mask: Any = None, lambda_p: Any = None
    ) -> Any:
        lambda_p = self.lambda_p if lambda_p is None else lambda_p
        losses, augmented, mask = _split_original(losses, mask)
        weights = view_weights(augmented, lambda_p, mask)
        return ops.concatenate([ops.zeros_like(losses[:, :1]), weights], axis=1)


@keras.saving.register_keras_serializable(package="keras_mmel")
@dataclasses.dataclass(frozen=True)
class Uniform(Objective):
    """The mean over views: plain training on all of them (equation 2).

    It is what batch augmentation does and the baseline that reweighting has
    to beat at the same cost. Same value as `Hard(lambda_p=inf)`.

    Example:

    >>> keras_mmel.objectives.Uniform()([[1.0, 2.0]])
    [1.5]
    """

    def __call__(
        self, losses: Any, mask: Any = None, lambda_p: Any = None
    ) -> Any:
        return maximal_expected_loss(losses, math.inf, mask)

    def weights(
        self, losses: Any, mask: Any = None, lambda_p: Any = None
    ) -> Any:
        return view_weights(losses, math.inf, mask)


_BY_NAME = {"hard": Hard, "soft": Soft, "uniform": Uniform}


def get(identifier: Any) -> Objective:
    """Objective from its name, its config or itself.

    Args:
        identifier: `"hard"`, `"soft"` or `"uniform"` (with the default
            settings), an `Objective`, or what
            `keras.saving.serialize_keras_object` gave for one.

    Returns:
        An `Objective`.

    Raises:
        ValueError: If it is none of these.

    Example:

    >>> keras_mmel.objectives.get("hard")
    Hard(lambda_p=1.0)
    """
    objective = identifier
    if isinstance(identifier, str) and identifier in _BY_NAME:
        objective = _BY_NAME[identifier]()
    elif isinstance(identifier, dict):
        objective = keras.saving.deserialize_keras_object(identifier)
    if not isinstance(objective, Objective):
        raise ValueError(
            f"`objective` must be one of {sorted(_BY_NAME)} or an instance of "
            f"`keras_mmel.objectives.Objective`. Received: {identifier!r}"
        )
    return objective


def check_lambda_p(lambda_p: Any) -> None:
    """Raises ValueError unless `lambda_p` is a number from 0 to inf."""
    if not (_is_number(lambda_p) and lambda_p >= 0):
        raise ValueError(
            "`lambda_p` must be a number from 0 (the maximum) to inf (the "
            f"mean). Received: lambda_p={lambda_p!r}"
        )


def _is_number(value):
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _real_losses(losses, mask):
    """Float32 losses with 0 in place of padding, and the bool mask or None."""
    losses = ops.cast(ops.convert_to_tensor(losses), "float32")
    if len(losses.shape) != 2:
        raise ValueError(
            "`losses` must have shape (batch, num_views). "
            f"Received: losses.shape={tuple(losses.shape)}"
        )
    if mask is None:
        return losses, None
    mask = ops.cast(ops.convert_to_tensor(mask), "bool")
    same = len(mask.shape) == 2 and all(
        m == n or m is None or n is None
        for m, n in zip(mask.shape, losses.shape, strict=True)
    )
    if not same:
        raise ValueError(
            "`mask` must have the shape of `losses`, "
            f"{tuple(losses.shape)}. Received: mask.shape={tuple(mask.shape)}"
        )
    return ops.where(mask, losses, 0.0), mask


def _scale(lambda_p):
    if isinstance(lambda_p, numbers.Real):
        check_lambda_p(lambda_p)
    return ops.clip(
        ops.cast(ops.convert_to_tensor(lambda_p), "float32"), *_LAMBDA_RANGE
    )


def _fill(values, real, value):
    return values if real is None else ops.where(real, values, value)


def _finite_or_zero(largest, real):
    """A group without a real view has no maximum; any number will do."""
    if real is None:
        return largest
    return ops.where(ops.any(real, axis=1, keepdims=True), largest, 0.0)


def _mean_over(losses, real):
    """Function that averages over the real views, 0 where there is none."""
    if real is None:
        return lambda values: ops.mean(values, axis=1, keepdims=True)
    real = ops.cast(real, losses.dtype)
    count = ops.maximum(ops.sum(real, axis=1, keepdims=True), 1.0)
    return lambda values: ops.sum(values * real, axis=1, keepdims=True) / count


def _nan_if_not_finite(losses):
    """0, or NaN where a real view's loss is not finite: seen, not hidden."""
    finite = ops.all(ops.isfinite(losses), axis=1, keepdims=True)
    return ops.where(finite, 0.0, math.nan)


def _split_original(losses, mask):
    losses = ops.cast(ops.convert_to_tensor(losses), "float32")
    if len(losses.shape) == 2 and losses.shape[1] == 1:
        raise ValueError(
            "The soft objective compares augmented views with the original "
            "and needs groups of at least 2 views. "
            f"Received: losses.shape={tuple(losses.shape)}"
        )
    mask = None if mask is None else ops.convert_to_tensor(mask)[:, 1:]
    return losses, losses[:, 1:], mask
