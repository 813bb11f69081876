"""From values of every view to scores: plain NumPy, no model.

All functions take float64 arrays of the whole data: `values` and `mask`
`(examples, num_views)`, `weight` `(examples,)`.
"""

import re

import numpy as np

# Names that `evaluate_views` makes of which it is known what is better; those
# of other metrics are the user's.
_SCORE = re.compile(
    "(.*_)?(original|mean|worst)_(.*_)?(?P<kind>loss|nll|ece|accuracy)"
)


def original(values: np.ndarray, mask: np.ndarray, weight: np.ndarray) -> float:
    """Computes the mean over examples of view 0."""
    return _mean(values[:, 0], weight)


def mean(values: np.ndarray, mask: np.ndarray, weight: np.ndarray) -> float:
    """Computes the mean over examples of the mean over their real views."""
    total = np.where(mask, values, 0.0).sum(axis=1)
    return _mean(total / mask.sum(axis=1), weight)


def worst(
    values: np.ndarray,
    mask: np.ndarray,
    weight: np.ndarray,
    higher_is_better: bool,
) -> float:
    """Computes the mean over examples of their worst real view.

    For a loss that is the largest one; for an accuracy it is the share of the
    examples that are right under all of their views.

    Example:

    ```python
    right = np.array([[1.0, 1.0], [1.0, 0.0]])
    worst(right, right >= 0, np.ones(2), higher_is_better=True)  # 0.5
    ```
    """
    pick, never = (np.min, np.inf) if higher_is_better else (np.max, -np.inf)
    return _mean(pick(np.where(mask, values, never), axis=1), weight)


def calibration_error(
    confidence: np.ndarray, right: np.ndarray, bins: int = 15
) -> float:
    r"""Computes the expected calibration error of the top class (ECE).

    $\sum_b \frac{n_b}{n} |acc_b - conf_b|$ over equally wide bins of the
    confidence, each open at its lower end.

    Example:

    ```python
    calibration_error(np.array([0.9, 0.9]), np.array([1.0, 0.0]))  # 0.4
    ```

    Reference:
        Guo et al., On calibration of modern neural networks, ICML 2017.
    """
    place = np.ceil(confidence.ravel() * bins).astype(int).clip(1, bins)
    gaps = np.bincount(place, weights=(right - confidence).ravel())
    return float(np.abs(gaps).sum() / confidence.size)


def direction(name: str) -> str | None:
    """Which way a score gets better, read from its name.

    Args:
        name: Such as `"val_worst_accuracy"`; what stands before, as a prefix
            of the log or the name of an output, does not matter.

    Returns:
        `"max"` for accuracies, `"min"` for losses, NLL and calibration errors,
        None for what is no score of views.
    """
    score = _SCORE.fullmatch(name)
    if score is None:
        return None
    return "max" if score["kind"] == "accuracy" else "min"


def _mean(values, weight):
    return float((values * weight).sum() / len(values))
