"""Methods compared seed by seed.

A seed decides initial weights, order and views, the same for every method. So
runs of one seed belong together, and their difference varies less than they do.
"""

import statistics
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence

import scipy.stats


def difference(
    scores: Mapping[int, float], reference: Mapping[int, float]
) -> tuple[float | None, float | None]:
    """Mean of the differences, and its two-sided p by a paired t-test.

    Args:
        scores: Scores by seed.
        reference: Those of what they are compared with.

    Returns:
        The mean over the seeds that both have, None where there is none; and
        p, None for fewer than two seeds or where nothing varies.

    Example:

    >>> difference({0: 0.5, 1: 0.75, 2: 1.0}, {0: 0.25, 1: 0.25, 2: 0.25})
    (0.5, 0.0742)
    """
    seeds = sorted(scores.keys() & reference.keys())
    if not seeds:
        return None, None
    pairs = [scores[seed] - reference[seed] for seed in seeds]
    mean = statistics.mean(pairs)
    if len(pairs) < 2 or max(pairs) == min(pairs):
        return mean, None
    return mean, float(scipy.stats.ttest_1samp(pairs, 0.0).pvalue)


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Adjust the p of several tests, so that all of them hold together.

    Args:
        values: One p for each test; None stays None and counts for none.

    Returns:
        The adjusted p, each at least as large as what was given.

    Example:

    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]

    Reference:
        Holm, A simple sequentially rejective multiple test procedure, 1979.
    """
    order = sorted((p, i) for i, p in enumerate(values) if p is not None)
    found, least = [None] * len(values), 0.0
    for rank, (p, i) in enumerate(order):
        least = max(least, min(1.0, (len(order) - rank) * p))
        found[i] = least
    return found


def columns(
    tests: Iterable[tuple[float | None, float | None]], digits: int = 2
) -> list[tuple[str, str]]:
    """Two cells for each test of a table: the difference, and p.

    Args:
        tests: Results of `difference`, all that are asked together.
        digits: Decimals of the difference.

    Returns:
        Texts. Behind p stands in brackets what Holm makes of it, where there
        are several.
    """
    tests = list(tests)
    adjusted = holm([p for _, p in tests])
    several = sum(p is not None for p in adjusted) > 1
    found = []
    for (mean, p), other in zip(tests, adjusted, strict=True):
        texts = ["" if mean is None else f"{mean:+.{digits}f}", ""]
        if p is not None:
            texts[1] = _probability(p)
            texts[1] += f" ({_probability(other)})" if several else ""
        found.append(tuple(texts))
    return found


def _probability(value):
    return f"{value:.3f}" if value >= 0.0005 else "< 0.001"
