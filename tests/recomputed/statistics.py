"""Paired t-tests and Holm's method, from their definitions."""

import functools
import math

import numpy as np


def mean(values):
    """Arithmetic mean."""
    return float(np.mean(np.asarray(values, np.float64)))


def deviation(values):
    """Standard deviation of a sample (n - 1); none of a single value."""
    values = np.asarray(values, np.float64)
    if len(values) < 2:
        return math.nan
    return math.sqrt(((values - values.mean()) ** 2).sum() / (len(values) - 1))


def summary(values):
    """Mean and deviation."""
    values = list(values)
    return mean(values), deviation(values)


def incomplete_beta(x, a, b):
    """Regularized incomplete beta function, by its continued fraction.

    The even and odd partial numerators of Abramowitz and Stegun 26.5.8, summed
    from the far end: 400 of them are plenty for the degrees of freedom here.
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(1 - x, b, a)
    tail = 1.0
    for m in range(200, 0, -1):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        tail = 1 + even / (1 + odd / tail)
    first = -(a + b) * x / (a + 1)
    log_front = (
        a * math.log(x)
        + b * math.log1p(-x)
        + math.lgamma(a + b)
        - math.lgamma(a)
        - math.lgamma(b)
    )
    return math.exp(log_front) / a / (1 + first / tail)


def two_sided(t, freedom):
    """How often Student's t with that freedom is as far from 0 as `t`."""
    return incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5)


@functools.cache
def t_quantile(freedom, outside=0.05):
    """The t that has `outside` beyond it, both sides together."""
    low, high = 0.0, 1e4
    for _ in range(100):
        middle = (low + high) / 2
        if two_sided(middle, freedom) > outside:
            low = middle
        else:
            high = middle
    return high


def paired_p(differences):
    """p of the paired t-test; NaN of one alone, or where all are alike."""
    # Alike up to rounding: scores are of the order of 1, or of 100.
    if len(differences) < 2 or np.ptp(differences) < 1e-10:
        return math.nan
    error = deviation(differences) / math.sqrt(len(differences))
    return two_sided(mean(differences) / error, len(differences) - 1)


def interval(differences):
    """Ends of the 95 % interval of the mean difference; NaN of one alone."""
    if len(differences) < 2:
        return math.nan, math.nan
    half = (
        t_quantile(len(differences) - 1)
        * deviation(differences)
        / math.sqrt(len(differences))
    )
    return mean(differences) - half, mean(differences) + half


def holm(p_values):
    """Adjusted p of each key, by Holm's method over all that have one.

    Args:
        p_values: From any key to p; those that are NaN were no test.
    """
    tests = {key: p for key, p in p_values.items() if not math.isnan(p)}
    adjusted, highest = {}, 0.0
    for rank, key in enumerate(sorted(tests, key=tests.__getitem__)):
        highest = max(highest, min(1.0, tests[key] * (len(tests) - rank)))
        adjusted[key] = highest
    return dict.fromkeys(p_values, math.nan) | adjusted
