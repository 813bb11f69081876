"""The objectives again, in NumPy float64, one group at a time.

Written from the formulas, sharing no code and no rearrangement with
`keras_mmel.objectives`: where that one shifts by the maximum, this one shifts
by the mean wherever the two could lose digits.
"""

import math

import numpy as np
from numpy.testing import assert_allclose

# Float32 values, so that oracle and code divide by the same number.
LAMBDAS = (0.0, 1e-6, 1e-4, 1e-3, 0.1, 1.0, 10.0, 1e3, 1e6, 1e8, math.inf)
LAMBDAS = tuple(float(np.float32(x)) for x in LAMBDAS)

# 1e-5 is what the project promises. One float32 rounding is 6e-8. The value
# takes a handful of them, and k = 20 views can cancel 20-fold: 5e-6. A weight
# exp(-a) carries the rounding of a, so its relative error is a * 1.2e-7: below
# 1e-5 up to a = 80, and beyond that the weight is 1e-35, for which (and for
# weights flushed to 0) the absolute 1e-7 stands.
VALUE = {"rtol": 1e-5, "atol": 0}
WEIGHT = {"rtol": 1e-5, "atol": 1e-7}
# Two float32 results of one formula: a few roundings apart.
SAME = {"rtol": 1e-6, "atol": 1e-7}


def assert_matches(results, losses, lambda_p, mask=None):
    """Compares (value, gradient, weights) with what they should be."""
    value, gradient, weights = (np.asarray(x) for x in results)
    expected = maximal_expected_loss(losses, lambda_p, mask)
    case = f"{lambda_p=} {losses.shape=}"
    assert_allclose(value, expected, **VALUE, err_msg=case)
    expected = view_weights(losses, lambda_p, mask)
    assert_allclose(weights, expected, **WEIGHT, err_msg=case)
    assert_allclose(gradient, expected, **WEIGHT, err_msg=case)
    if mask is not None:
        assert not gradient[~mask].any()
        assert not weights[~mask].any()


def view_weights(losses, lambda_p, mask=None):
    """Equation 6; also the gradient of `maximal_expected_loss`."""
    losses, mask = _float64(losses, mask)
    weights = np.zeros_like(losses)
    for group, real, out in zip(losses, mask, weights, strict=True):
        out[real] = _weights(group[real], lambda_p)
    return weights


def maximal_expected_loss(losses, lambda_p, mask=None):
    """Equation 7 at its maximum, 0 for a group without real views."""
    losses, mask = _float64(losses, mask)
    return np.array(
        [
            _value(group[real], lambda_p)
            for group, real in zip(losses, mask, strict=True)
        ]
    )


def expected_loss(group, lambda_p, distribution):
    """`sum P l - lambda KL(P || uniform)`: what equation 7 maximises."""
    group = np.asarray(group, np.float64)
    inside = distribution > 0
    ratios = distribution[inside] * len(group)
    divergence = np.sum(distribution[inside] * np.log(ratios))
    return np.sum(distribution * group) - lambda_p * divergence


def loss_groups(num_views, seed):
    """Groups from scale 0 to 1e4: spread, near ties, ties, one dominant.

    Float32, so that an oracle in float64 sees the same numbers as the code.
    """
    rng = np.random.default_rng(seed)
    groups = []
    for scale in (0.0, 1e-6, 1e-3, 1.0, 16.0, 1e3, 1e4):
        noise = rng.uniform(0, 1, num_views)
        dominant = np.where(np.arange(num_views) == num_views // 2, 1, 1e-3)
        groups += [
            scale * noise,
            scale * (1 - 1e-6 * noise),
            scale * np.round(noise),
            scale * np.full(num_views, noise[0]),
            scale * dominant,
        ]
    return np.stack(groups).astype(np.float32)


def masked_loss_groups(num_views, seed):
    """`loss_groups` with rubbish where the returned mask is False."""
    rng = np.random.default_rng(seed)
    losses = loss_groups(num_views, seed)
    mask = rng.uniform(0, 1, losses.shape) < 0.6
    mask[::6] = False
    mask[1::6] = True
    rubbish = rng.choice([np.nan, np.inf, -np.inf, 1e30, 0], losses.shape)
    return np.where(mask, losses, rubbish).astype(np.float32), mask


def _float64(losses, mask):
    losses = np.asarray(losses, np.float64)
    if mask is None:
        return losses, np.ones(losses.shape, bool)
    return losses, np.asarray(mask, bool)


def _weights(group, lambda_p):
    if not np.all(np.isfinite(group)):
        return np.nan
    if group.size == 0 or math.isinf(lambda_p):
        return 1 / max(group.size, 1)
    largest = group == group.max()
    if lambda_p == 0:
        return largest / largest.sum()
    powers = np.exp((group - group.max()) / lambda_p)
    return powers / powers.sum()


def _value(group, lambda_p):
    if group.size == 0:
        return 0.0
    if not np.all(np.isfinite(group)):
        return np.nan
    if lambda_p == 0:
        return group.max()
    mean = group.mean()
    if math.isinf(lambda_p):
        return mean
    if np.ptp(group) < lambda_p:
        # The deviations sum to 0, so what is left is their small square and
        # nothing the size of lambda is ever added or taken away.
        centred = np.expm1((group - mean) / lambda_p)
        return mean + lambda_p * np.log1p(centred.mean())
    powers = np.exp((group - group.max()) / lambda_p)
    return group.max() + lambda_p * np.log(powers.mean())
