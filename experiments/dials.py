"""Methods with a dial, compared where their weights leave as many views."""

import math

import numpy as np

from experiments import markdown
from keras_mmel.comparison import Comparison
from keras_mmel.comparison.paired import Difference
from keras_mmel.comparison.paired import paired_difference

SCORES = {
    "original_accuracy": "clean",
    "mean_accuracy": "mean",
    "worst_accuracy": "worst",
    "mean_ece": "ECE of the views",
}


def at_equal_views(found: Comparison) -> str:
    """Every ball minus `hard` at the effective views that the ball has.

    Args:
        found: Runs of balls and of `hard` at several lambdas.

    Returns:
        Sentences; none where there are no balls or fewer than three lambdas.
    """
    balls = [name for name in found.methods if name.startswith("ball ")]
    hard = [name for name in found.methods if name.startswith("hard ")]
    if not balls or len(hard) < 3:
        return ""
    lines = []
    for ball in balls:
        parts, seeds = [], 0
        for score, name in SCORES.items():
            test = difference_at_equal_views(found, ball, score)
            if test is None:
                continue
            p = markdown.said_p(test.p)
            parts.append(f"{name} {100 * test.mean:+.2f} ({p})")
            seeds = test.seeds
        line = f"- `{ball}` ({seeds} of {len(found.values(ball, score))} seeds)"
        lines.append(f"{line}: {', '.join(parts)}" if parts else line)
    return (
        "\nMinus `hard` at equal effective views, interpolated for each seed, "
        "each p by itself; seeds where the ball has fewer than the smallest "
        "lambda_p do not count:\n\n" + "\n".join(lines) + "\n"
    )


def difference_at_equal_views(
    found: Comparison, method: str, score: str
) -> Difference | None:
    """A method minus `hard` at the method's own effective views.

    Linear in the logarithm of the effective views of the last epoch, over
    `uniform` and every `hard`.

    Args:
        found: The runs.
        method: Name of a method.
        score: Name of a score.

    Returns:
        The paired difference of the seeds whose effective views lie between
        those of `uniform` and of the smallest lambda; None where there are
        none.
    """
    curves = {}
    for run in found.runs:
        if run["method"] == "uniform" or run["method"].startswith("hard "):
            curves.setdefault(run["seed"], []).append(_point(run, score))
    values, others = [], []
    for run in found.runs:
        if run["method"] != method or len(curves.get(run["seed"], ())) < 2:
            continue
        views, value = _point(run, score)
        at, curve = np.array(sorted(curves[run["seed"]])).T
        if at[0] <= views <= at[-1]:
            values.append(value)
            others.append(np.interp(views, at, curve))
    return paired_difference(values, others) if values else None


def _point(run, score):
    return math.log(run["log"]["effective_views"]), run["scores"][score]
