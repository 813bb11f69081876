"""From the values of all views to scores: plain NumPy, no model."""

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from keras_mmel.scores import view_values

# Names that `evaluate_views` makes of which it is known what is better; those
# of other metrics are the user's.
_SCORE = re.compile(
    "(.*_)?(original|mean|worst)_(.*_)?(?P<kind>loss|nll|ece|accuracy)"
)


class Scored(NamedTuple):
    """One score of each view of all data.

    Attributes:
        name: As `evaluate` calls it.
        value: Float64 `(examples, num_views)`.
        counts: What each view counts, of the same shape: 0 for padding.
        higher_is_better: None where nobody knows.
    """

    name: str
    value: np.ndarray
    counts: np.ndarray
    higher_is_better: bool | None


def scored(
    values: view_values.Values, metrics: Mapping[str, view_values.ViewMetric]
) -> list[Scored]:
    """Lists the scores of each view: loss, metrics, then NLL.

    Args:
        values: Float64 arrays of all data.
        metrics: What the metrics of `values` are, by the same names.

    Returns:
        The scores that are means over examples.

    Raises:
        ValueError: If the original of a group is padding.
    """
    mask = values.mask.astype(bool)
    if not mask[:, 0].all():
        raise ValueError(
            'The original, view 0, must be a real view: "mask" must be '
            f"True there. Received: False in {(~mask[:, 0]).sum()} groups"
        )
    # As in Keras, what layers add is not weighted by examples.
    loss = values.loss * values.weight + values.layers.mean()
    all_scored = [Scored("loss", loss, mask, False)]
    for name, metric in metrics.items():
        # A metric of that name would hide the compiled loss.
        if name in values.metrics and name != "loss":
            value, count = values.metrics[name]
            better = metric.higher_is_better
            all_scored.append(Scored(name, value, count * mask, better))
    for prefix, classifier in values.classifiers.items():
        nll = f"{prefix}nll"
        # A metric that the user calls "nll" is the user's.
        if nll not in values.metrics:
            all_scored.append(Scored(nll, classifier.nll, mask, False))
    return all_scored


def named_scores(
    values: view_values.Values, metrics: Mapping[str, view_values.ViewMetric]
) -> dict[str, float]:
    """Computes the scores of `evaluate_views`.

    Args:
        values: Float64 arrays of all data.
        metrics: What the metrics of `values` are, by the same names.

    Returns:
        Names and values of the scores.

    Raises:
        ValueError: If the original of a group is padding.
    """
    scores, mask = {}, values.mask.astype(bool)
    for name, value, count, better in scored(values, metrics):
        of_originals = count[:, 0] / (count[:, 0].mean() or 1.0)
        # A view of which a mask leaves nothing says nothing.
        counted = mask & ((count != 0) | (count[:, :1] == 0))
        scores |= of_views(name, value, counted, of_originals, better)
    for prefix, classifier in values.classifiers.items():
        for kind, views in (("original", np.s_[:, 0]), ("mean", mask)):
            scores[f"{kind}_{prefix}ece"] = calibration_error(
                classifier.confidence[views], classifier.right[views]
            )
    return scores


def of_views(
    name: str,
    values: np.ndarray,
    mask: np.ndarray,
    weight: np.ndarray,
    higher_is_better: bool | None,
) -> dict[str, float]:
    r"""Computes the means over examples of their original, mean, worst view.

    $\frac{1}{n} \sum_i w_i v_i$ with the value $v_i$ of view 0, the mean over
    the real views of example i, or that of its worst real view. For a loss,
    this is the largest one; for an accuracy, its mean is the share of the
    examples that are right under all of their views.

    Args:
        name: Name of the loss or metric.
        values: One value for each view, float64 `(examples, num_views)`.
        mask: Which views are real, of the same shape.
        weight: One weight for each example, `(examples,)`.
        higher_is_better: Whether the smallest value is the worst; None where
            nobody knows, and no view is the worst.

    Returns:
        The means, as `original_NAME`, `mean_NAME` and `worst_NAME`.

    Example:

    ```python
    right = np.array([[1.0, 1.0], [1.0, 0.0]])
    of_views("acc", right, right >= 0, np.ones(2), higher_is_better=True)
    # {'original_acc': 1.0, 'mean_acc': 0.75, 'worst_acc': 0.5}
    ```
    """
    of_examples = {
        "original": values[:, 0],
        "mean": np.where(mask, values, 0.0).sum(axis=1) / mask.sum(axis=1),
    }
    # Padding takes a value that is never the worst.
    if higher_is_better:
        of_examples["worst"] = np.where(mask, values, np.inf).min(axis=1)
    elif higher_is_better is not None:
        of_examples["worst"] = np.where(mask, values, -np.inf).max(axis=1)
    return {
        f"{kind}_{name}": float((value * weight).sum() / len(value))
        for kind, value in of_examples.items()
    }


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
    # NaN is of any bin: it makes NaN of its gap, and so of the error.
    upper_end = np.nan_to_num(np.ceil(confidence.ravel() * bins))
    bin_of = upper_end.clip(1, bins).astype(int)
    gaps = np.bincount(bin_of, weights=(right - confidence).ravel())
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
