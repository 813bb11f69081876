r"""The maximal expected loss over a KL ball of a given radius.

Where `keras_mmel.formulas` subtracts $\lambda$ times the divergence of the
weights from the uniform ones, a ball limits it:

$$R = \max_w \sum_j w_j l_j, \quad
    \mathrm{KL}(w \,\|\, \mathrm{uniform}) = \sum_j w_j \log(k w_j) \le \rho$$
$$R = \min_\lambda \lambda \rho + \lambda \log \frac{1}{k} \sum_j
    e^{l_j / \lambda} \quad \text{(its Lagrange dual)}$$

The weights are the same softmax, $w_j = \mathrm{softmax}_j(l_j / \lambda)$,
with the $\lambda$ of each group for which the ball is just reached, and
$dR / dl_j = w_j$. So the radius has no unit, and $R(c l + d) = c R(l) + d$ for
$c \ge 0$.
"""

import math
from typing import Any

import numpy as np
from keras import ops

from keras_mmel import formulas

# The logarithm of lambda is looked for in this range, for losses of a group
# scaled to 0..1. Below it two float32 losses of which one is larger weigh 0
# and 1, above it all weigh the same.
_LOG_LAMBDA = (math.log(1e-9), math.log(1e7))

# The range is cut into so many cells at once, the cell with the boundary of
# the ball into as many again, and a Newton step from the middle of the last
# one does the rest: an error of about 1e-6 of a weight. A few large operations
# take less time than the many small ones of a bisection.
_CELLS = 128

# As many lambdas may the largest loss be away from where a group is centred.
_REACH = 3.0

# A gap so wide that exp of it is 0 for every lambda of the range.
_PADDING = 1e9


def ball_loss_and_weights(
    losses: Any, radius: Any, mask: Any = None
) -> tuple[Any, Any]:
    r"""Loss of each group under the worst weights of a KL ball, and these.

    Computes $R = \max_w \sum_j w_j l_j$ over all weights of the $k$ real views
    with $\mathrm{KL}(w \,\|\, \mathrm{uniform}) \le \rho$. A `radius` of 0
    gives the mean of the losses, of log k and more their maximum; ties share
    their weight.

    The gradient with respect to $l_j$ is $w_j$; the weights are constants in
    it, so that a second derivative is 0.

    Args:
        losses: Shape `(batch, num_views)`. View losses, any float type.
        radius: $\rho$, in nats; a number from 0 or a scalar tensor.
        mask: Optional, bool of shape `(batch, num_views)`. `False` marks
            padding: it does not count in $k$ and weighs 0, even when its loss
            is NaN.

    Returns:
        The loss of each group, float32 `(batch,)` in the unit of the losses,
        and the weights of its views, float32 `(batch, num_views)`. A group
        without a real view gives 0; a group with a non-finite loss of a real
        view gives NaN in both.

    Raises:
        ValueError: If `radius` is negative or NaN, `losses` is not a matrix or
            `mask` has another shape.

    Example:

    ```python
    ball_loss_and_weights([[1.0, 2.0]], radius=0.1)
    # [1.7197], [[0.2803, 0.7197]]
    ```
    """
    losses, real = formulas.real_losses(losses, mask)
    weights = ops.stop_gradient(_weights(losses, real, _checked(radius)))
    return ops.sum(weights * losses, axis=1), weights


def check_radius(radius: Any) -> None:
    """Raises ValueError unless `radius` is a number from 0 to inf."""
    if not (formulas.is_number(radius) and radius >= 0):
        raise ValueError(
            "`radius` must be a number from 0 (the mean) up; from the "
            "logarithm of the number of views it gives the maximum. "
            f"Received: radius={radius!r}"
        )


def _checked(radius):
    """`radius` as a float or a float32 tensor."""
    if formulas.is_number(radius):
        check_radius(radius)
        return float(radius)
    return ops.cast(ops.convert_to_tensor(radius), "float32")


def _gaps(losses, real):
    """How far each loss is below the largest, over the widest such gap."""
    largest, is_largest = formulas.find_largest(losses, real)
    # XLA may compute the losses anew and round them otherwise: that the
    # largest has no gap is known by its place.
    gaps = ops.where(is_largest, 0.0, ops.maximum(largest - losses, 0.0))
    if real is not None:
        gaps = ops.where(real, gaps, 0.0)
    return ops.divide_no_nan(gaps, ops.max(gaps, axis=1, keepdims=True))


def _weights(losses, real, radius):
    """Softmax of the losses over the lambda that reaches the radius."""
    views = losses.shape[1] or ops.cast(ops.shape(losses)[1], "float32")
    count = formulas.count_views(losses, real)
    gaps = _gaps(losses, real)
    mean = _total(gaps) / count
    absent = views - count
    # From here on the last axis is that of the lambdas.
    gaps, mean = gaps[:, :, None], mean[:, :, None]
    if real is not None:
        gaps = ops.where(real[:, :, None], gaps, _PADDING)
        count, absent = count[:, :, None], absent[:, :, None]

    def tilted(log_lambda):
        """Exponents, exp of them and the divergence for each lambda.

        Centred at the mean of the gaps nothing cancels where the weights are
        nearly equal; exp would overflow there where lambda is small.
        """
        scale = ops.exp(log_lambda)
        exponents = (ops.minimum(mean, _REACH * scale) - gaps) / scale
        excess = ops.expm1(exponents)
        powers = excess + 1.0
        # The exp of padding is 0, one less than its share of the mean.
        mean_excess = (_total(excess) + absent) / count
        moment = _total(powers * exponents) / count
        divergence = moment / (mean_excess + 1.0) - ops.log1p(mean_excess)
        return exponents, powers, divergence

    lowest, highest = _LOG_LAMBDA
    borders = np.arange(1, _CELLS, dtype="float32")[None, None]
    start, width = lowest, highest - lowest
    for _ in range(2):
        width = width / _CELLS
        # The divergence falls as lambda grows: where it is too large still,
        # the boundary of the ball lies further on.
        too_large = tilted(start + width * borders)[2] > radius
        cell = ops.sum(ops.cast(too_large, "float32"), axis=2, keepdims=True)
        start = start + width * cell
    exponents, powers, divergence = tilted(start + width / 2)
    total = _total(powers)
    centred = exponents - _total(powers * exponents) / total
    variance = _total(powers * centred * centred) / total
    step = ops.divide_no_nan(divergence - radius, variance)
    step = ops.clip(step, -width / 2, width / 2)
    powers = ops.squeeze(ops.exp(centred * ops.exp(-step)), axis=2)
    weights = powers / _total(powers)
    # NaN and infinities are seen, not weighted away.
    seen = ops.where(ops.isfinite(_total(losses)), 0.0, math.nan)
    weights = weights + seen
    return weights if real is None else ops.where(real, weights, 0.0)


def _total(values):
    return ops.sum(values, axis=1, keepdims=True)
