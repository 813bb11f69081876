"""From values of every view to scores: plain NumPy, no model.

All functions take float64 arrays of the whole data: `values` and `mask`
`(examples, num_views)`, `weight` `(examples,)`.
"""

import numpy as np


def original(values: np.ndarray, weight: np.ndarray) -> float:
    """Computes the mean over examples of view 0.

    Args:
        values: One value for each view.
        weight: One weight for each example.

    Returns:
        The mean.
    """
    return _mean(values[:, 0], weight)


def mean(values: np.ndarray, mask: np.ndarray, weight: np.ndarray) -> float:
    """Computes the mean over examples of the mean over their real views.

    Args:
        values: One value for each view.
        mask: Which views are real.
        weight: One weight for each example.

    Returns:
        The mean.
    """
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

    Args:
        values: One value for each view.
        mask: Which views are real.
        weight: One weight for each example.
        higher_is_better: Whether the smallest value is the worst.

    Returns:
        The mean.

    Example:

    ```python
    right = np.array([[1.0, 1.0], [1.0, 0.0]])
    worst(right, right >= 0, np.ones(2), higher_is_better=True)  # 0.5
    ```
    """
    if higher_is_better:
        worst_values = np.where(mask, values, np.inf).min(axis=1)
    else:
        worst_values = np.where(mask, values, -np.inf).max(axis=1)
    return _mean(worst_values, weight)


def calibration_error(
    confidence: np.ndarray, right: np.ndarray, bins: int = 15
) -> float:
    r"""Computes the expected calibration error of the top class (ECE).

    $\sum_b \frac{n_b}{n} |acc_b - conf_b|$ over equally wide bins of the
    confidence, each open at its lower end.

    Args:
        confidence: Probability of the predicted class, any shape.
        right: Whether that class is the label, of the same shape.
        bins: Number of bins.

    Returns:
        From 0 to 1.

    Example:

    ```python
    calibration_error(np.array([0.9, 0.9]), np.array([1.0, 0.0]))  # 0.4
    ```

    Reference:
        Guo et al., On calibration of modern neural networks, ICML 2017.
    """
    bin_of = np.ceil(confidence.ravel() * bins).astype(int).clip(1, bins)
    gaps = np.bincount(bin_of, weights=(right - confidence).ravel())
    return float(np.abs(gaps).sum() / confidence.size)


def _mean(values, weight):
    return float((values * weight).sum() / len(values))
