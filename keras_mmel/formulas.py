r"""Formulas: the view losses of a group in, one number per group out.

For view losses $l_1 .. l_k$ of one group and $\lambda$ = `lambda_p`, the worst
reweighting of the views within a KL ball around the uniform one has a closed
form (theorem 1 of the paper):

$$w_j = \mathrm{softmax}_j(l_j / \lambda) \tag{6}$$
$$R = \sum_j w_j l_j - \lambda \sum_j w_j \log(k w_j)
    = \lambda \log \frac{1}{k} \sum_j e^{l_j / \lambda} \tag{7}$$

The weights' own derivative cancels against the KL term:
$dR/d\theta = \sum_j w_j \, dl_j/d\theta$.

Nothing here knows a model or data. Everything is computed in float32 on
`keras.ops`, whatever precision comes in: `loss / lambda_p` overflows float16
before the maximum can be subtracted.

Reference:
    Yi et al., Reweighting Augmented Samples by Minimizing the Maximal Expected
    Loss, ICLR 2021.
"""

import math
import numbers
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_mmel.arrays import shapes_agree

# `lambda_p` is clipped to this range. At its ends the float32 softmax already
# is the limit: losses further apart than 1e-28 give weights of exactly 0 and
# 1 at the lower end, and exp(loss / 1e20) is 1 for every loss below 1e12 at
# the upper. Going further would meet subnormal numbers in the gradient.
_LAMBDA_RANGE = (1e-30, 1e20)

# Lambdas that the largest loss may be away from where a group is centred. exp
# of it is large enough for the logarithm of the mean to lose no digits and
# small enough for the weights to be exact.
_REACH = 3.0


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

    ```python
    keras_mmel.objectives.view_weights([[1.0, 2.0]], lambda_p=1.0)
    # [[0.26894143, 0.7310586]]
    ```

    Reference:
        Yi et al., ICLR 2021, equation 6.
    """
    return expected_loss_and_weights(losses, lambda_p, mask)[1]


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

    ```python
    keras_mmel.objectives.maximal_expected_loss([[1.0, 2.0]], lambda_p=1.0)
    # [1.6201146]
    ```

    Reference:
        Yi et al., ICLR 2021, equation 7.
    """
    return expected_loss_and_weights(losses, lambda_p, mask)[0]


def expected_loss_and_weights(
    losses: Any, lambda_p: Any, mask: Any = None
) -> tuple[Any, Any]:
    """Results of `maximal_expected_loss` and `view_weights` for one price.

    Args:
        losses: Shape `(batch, num_views)`.
        lambda_p: KL coefficient.
        mask: Optional, bool of shape `(batch, num_views)`.

    Returns:
        The loss of each group, `(batch,)`, and the weights of its views,
        `(batch, num_views)`.

    Raises:
        ValueError: As `view_weights`.
    """
    losses, real = real_losses(losses, mask)
    value, weights = _solve(losses, real, _scale(lambda_p))
    return _with_weights_as_gradient(value, weights, losses), weights


def mean_and_weights(losses: Any, mask: Any = None) -> tuple[Any, Any]:
    """`expected_loss_and_weights` at `lambda_p=inf`, in a few operations.

    Args:
        losses: Shape `(batch, num_views)`.
        mask: Optional, bool of shape `(batch, num_views)`.

    Returns:
        The mean over the real views of each group, `(batch,)`, and their equal
        weights, `(batch, num_views)`.
    """
    losses, real = real_losses(losses, mask)
    count = count_views(losses, real)
    value = _total(losses) / count
    # As at any other lambda.
    poison = ops.where(ops.isfinite(value), 0.0, math.nan)
    value = ops.squeeze(value + poison, axis=1)
    weights = (1.0 + poison) / count
    if real is None:
        return value, ops.broadcast_to(weights, ops.shape(losses))
    return value, ops.where(real, weights, 0.0)


def effective_views(weights: Any) -> Any:
    r"""Number of views that count: $\exp(-\sum_j w_j \log w_j)$.

    From 1, where one view has all the weight, to the number of real views,
    where they weigh the same.

    Args:
        weights: Shape `(batch, num_views)`, from `view_weights`.

    Returns:
        Float32 of shape `(batch,)`.

    Example:

    ```python
    keras_mmel.objectives.effective_views([[0.5, 0.5], [1.0, 0.0]])
    # [2.0, 1.0]
    ```
    """
    weights = ops.cast(ops.convert_to_tensor(weights), "float32")
    # A weight of 0 adds nothing: its log only has to be finite.
    return ops.exp(-ops.sum(weights * ops.log(weights + 1e-37), axis=1))


def check_lambda_p(lambda_p: Any) -> None:
    """Raises ValueError unless `lambda_p` is a number from 0 to inf."""
    if not (is_number(lambda_p) and lambda_p >= 0):
        raise ValueError(
            "`lambda_p` must be a number from 0 (the maximum) to inf (the "
            f"mean). Received: lambda_p={lambda_p!r}"
        )


def is_number(value: Any) -> bool:
    """Whether `value` is a real number and not a bool."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def real_losses(losses: Any, mask: Any) -> tuple[Any, Any]:
    """Losses as a float32 tensor with 0 in place of padding, and the mask.

    Args:
        losses: Shape `(batch, num_views)`, any float type.
        mask: None, or `(batch, num_views)`, bool or numbers.

    Returns:
        The losses, and a bool tensor or None.

    Raises:
        ValueError: If `losses` is not a matrix or `mask` has another shape.
    """
    losses = ops.cast(ops.convert_to_tensor(losses), "float32")
    if len(losses.shape) != 2:
        raise ValueError(
            "`losses` must have shape (batch, num_views). "
            f"Received: losses.shape={tuple(losses.shape)}"
        )
    if mask is None:
        return losses, None
    mask = ops.cast(ops.convert_to_tensor(mask), "bool")
    if not shapes_agree(mask.shape, losses.shape):
        raise ValueError(
            "`mask` must have the shape of `losses`, "
            f"{tuple(losses.shape)}. Received: mask.shape={tuple(mask.shape)}"
        )
    return ops.where(mask, losses, 0.0), mask


def _scale(lambda_p):
    """`lambda_p` within the range where float32 is exact."""
    lowest, highest = _LAMBDA_RANGE
    if isinstance(lambda_p, np.ndarray) and lambda_p.ndim == 0:
        lambda_p = lambda_p.item()
    if isinstance(lambda_p, numbers.Real):
        check_lambda_p(lambda_p)
        return min(max(float(lambda_p), lowest), highest)
    lambda_p = ops.cast(ops.convert_to_tensor(lambda_p), "float32")
    if len(lambda_p.shape):
        raise ValueError(
            "`lambda_p` must be one number for all groups. "
            f"Received: lambda_p of shape {tuple(lambda_p.shape)}"
        )
    return ops.clip(lambda_p, lowest, highest)


def _solve(losses, real, scale):
    """Value and weights of each group, by the formula around a centre c.

    R = c + scale log1p(mean_j expm1((l_j - c) / scale)) for any c: what is
    lost to cancellation and to overflow depends on it.
    """
    count = count_views(losses, real)
    largest, is_largest = find_largest(losses, real)
    mean = _total(losses) / count
    # Makes NaN of all that it is added to, or changes nothing: NaN and inf
    # reach the result by themselves, -inf would be weighted away.
    poison = ops.where(ops.isfinite(mean), 0.0, math.nan)
    # Around the mean nothing cancels; but the largest loss must stay within a
    # few lambda, or exp overflows. Nor may it be smaller: a rounded mean of
    # equal losses can be larger than they are, and a tiny lambda would make
    # that a long way.
    centre = ops.clip(mean, largest - _REACH * scale, largest)
    centre = ops.stop_gradient(centre + poison)
    scaled = (losses - centre) / scale
    # XLA computes losses anew where it fuses, and may round them differently
    # from the ones that the maximum was taken of. Over a tiny lambda the
    # difference is huge: what is the largest is decided once, by its place.
    limit = ops.stop_gradient((largest - centre) / scale)
    # Not `minimum`, which halves the gradient where both are equal.
    scaled = ops.where(scaled > limit, limit, scaled)
    scaled = ops.where(
        is_largest, limit + (scaled - ops.stop_gradient(scaled)), scaled
    )
    raised, excess = ops.exp(scaled), ops.expm1(scaled)
    if real is not None:
        raised = ops.where(real, raised, 0.0)
        excess = ops.where(real, excess, 0.0)
    total = _total(raised)
    log_mean_exp = ops.log1p(_total(excess) / count)
    value = ops.squeeze(centre + scale * log_mean_exp, axis=1)
    if real is None:
        return value, raised / total
    return value, ops.where(real, ops.divide_no_nan(raised, total), 0.0)


def _with_weights_as_gradient(value, weights, losses):
    """`value` with the derivative that theory gives for it, the weights.

    Autodiff finds the same in the formula, in some forty more operations: a
    twentieth of the step of a small model. XLA, on JAX, fuses them away.
    """
    if keras.backend.backend() != "tensorflow":
        return value
    import tensorflow as tf

    @tf.custom_gradient
    def attach(losses):
        del losses
        return value, lambda upstream: upstream[:, None] * weights

    return attach(losses)


def _total(values):
    return ops.sum(values, axis=1, keepdims=True)


def count_views(losses: Any, real: Any) -> Any:
    """Real views of each group; 1 where there is none.

    Args:
        losses: Float32 `(batch, num_views)`.
        real: None or bool `(batch, num_views)`, `False` for padding.

    Returns:
        A number for all groups, or float32 `(batch, 1)` where `real` is given.
    """
    if real is not None:
        return ops.maximum(_total(ops.cast(real, losses.dtype)), 1.0)
    views = ops.shape(losses)[1]
    if isinstance(views, int):
        return float(views)
    return ops.cast(views, losses.dtype)


def find_largest(losses: Any, real: Any) -> tuple[Any, Any]:
    """The largest real loss of each group, and where the (first) largest is.

    Args:
        losses: Float32 `(batch, num_views)`.
        real: None or bool `(batch, num_views)`, `False` for padding.

    Returns:
        Float32 `(batch, 1)`, 0 for a group without a real view, and bool
        `(batch, num_views)`.
    """
    if real is not None:
        losses = ops.where(real, losses, -math.inf)
    largest, place = ops.top_k(losses, 1)
    if real is not None:
        largest = ops.where(ops.any(real, axis=1, keepdims=True), largest, 0.0)
    views = ops.arange(ops.shape(losses)[1], dtype=place.dtype)
    return largest, views == place
