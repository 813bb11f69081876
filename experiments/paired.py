"""Methods compared seed by seed, as the cells of a table."""

import math
from collections.abc import Iterable
from collections.abc import Mapping

from keras_mmel.comparison import paired


def difference(
    scores: Mapping[int, float], reference: Mapping[int, float]
) -> paired.Difference | None:
    """Compare the scores of the seeds that both have; None for no seed.

    Args:
        scores: Scores by seed.
        reference: Those of what they are compared with.
    """
    seeds = sorted(scores.keys() & reference.keys())
    if not seeds:
        return None
    return paired.paired_difference(
        [scores[seed] for seed in seeds], [reference[seed] for seed in seeds]
    )


def columns(
    tests: Iterable[paired.Difference | None],
    digits: int = 2,
    adjusted_alone: bool = False,
) -> list[tuple[str, str]]:
    """Two cells for each test of a table: the difference, and p.

    Args:
        tests: Results of `difference`, all that are asked together.
        digits: Decimals of the difference.
        adjusted_alone: Whether what Holm makes of p takes its place.

    Returns:
        Texts. Behind p stands in brackets what Holm makes of it, where there
        are several.
    """
    tests = list(tests)
    values = [math.nan if test is None else test.p for test in tests]
    several = sum(not math.isnan(p) for p in values) > 1
    found = []
    for test, p, adjusted in zip(
        tests, values, paired.holm(values), strict=True
    ):
        mean = "" if test is None else f"{test.mean:+.{digits}f}"
        shown = adjusted if adjusted_alone else p
        text = "" if math.isnan(p) else _probability(shown)
        if text and several and not adjusted_alone:
            text += f" ({_probability(adjusted)})"
        found.append((mean, text))
    return found


def _probability(value):
    return f"{value:.3f}" if value >= 0.0005 else "< 0.001"
