"""Differences between methods whose runs share their seeds."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from keras_mmel import extras


class Difference(NamedTuple):
    """A mean difference of paired runs.

    Attributes:
        mean: Mean over the seeds of method minus baseline.
        low: Lower end of the 95 % confidence interval.
        high: Upper end.
        p: Two-sided p of the paired t-test; NaN for fewer than two seeds, or
            where all differences are alike.
        seeds: How many runs each has.
    """

    mean: float
    low: float
    high: float
    p: float
    seeds: int


def paired_difference(
    values: Sequence[float], baseline: Sequence[float]
) -> Difference:
    r"""Computes the mean of `values - baseline` with a paired t-test.

    Runs of one seed share their initial weights, views and order, so that
    much of what a seed does to a score cancels in the difference; a test of
    unpaired samples would count it as noise.

    Args:
        values: Scores of the method, one for each seed.
        baseline: Scores of the baseline, in the same order of seeds.

    Returns:
        A `Difference`.

    Raises:
        ImportError: If scipy is not installed.
        ValueError: If the numbers of seeds differ.

    Example:

    ```python
    paired_difference([2.0, 3.0, 5.0], [1.0, 3.0, 3.0]).mean  # 1.0
    ```
    """
    pairs = zip(values, baseline, strict=True)
    differences = np.array([value - other for value, other in pairs])
    mean = float(differences.mean())
    # The t of differences that are alike up to rounding would be noise.
    if np.ptp(differences) <= 1e-12 * max(1.0, abs(mean)):
        end = mean if len(differences) > 1 else math.nan
        return Difference(mean, end, end, math.nan, len(differences))
    stats = extras.need("scipy.stats", "examples")
    test = stats.ttest_1samp(differences, 0.0)
    low, high = map(float, test.confidence_interval(0.95))
    p, seeds = float(test.pvalue), len(differences)
    return Difference(mean, low, high, p, seeds)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusts the p of several tests so that one error in all is as rare.

    The i-th smallest of n is multiplied by n - i (i from 0), and none becomes
    smaller than one before it (Holm's step-down method). NaN stays NaN and
    does not count.

    Args:
        p_values: The p of each test.

    Returns:
        The adjusted p, in the same order.

    Example:

    ```python
    holm([0.01, 0.04, 0.03])  # [0.03, 0.06, 0.06]
    ```

    Reference:
        Holm, A simple sequentially rejective multiple test procedure, 1979.
    """
    p = np.asarray(p_values, float)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    factors = len(order) - np.arange(len(order))
    adjusted = p.copy()
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1)
    return adjusted.tolist()
