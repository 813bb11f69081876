"""From the values of all views to named scores."""

from collections.abc import Mapping

import numpy as np

from keras_mmel.scores import summary
from keras_mmel.scores.view_metrics import ViewMetric
from keras_mmel.scores.view_values import Values


def named_scores(
    values: Values, metrics: Mapping[str, ViewMetric]
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
    mask, weight = values.mask.astype(bool), values.weight[:, 0]
    if not mask[:, 0].all():
        raise ValueError(
            'The original, view 0, must be a real view: "mask" must be '
            f"True there. Received: False in {(~mask[:, 0]).sum()} groups"
        )
    equal = np.ones_like(weight)
    scores = _of_views("loss", values.loss, mask, weight, False)
    # As Keras does: what layers add is not weighted by examples.
    of_layers = float(values.layers.mean())
    scores = {name: score + of_layers for name, score in scores.items()}
    for name, metric in metrics.items():
        # A metric of that name would hide the compiled loss.
        if name not in values.metrics or name == "loss":
            continue
        counted = weight / weight.mean() if metric.weighted else equal
        scores |= _of_views(
            name, values.metrics[name], mask, counted, metric.higher_is_better
        )
    for prefix, classifier in values.classifiers.items():
        # A metric that the user calls "nll" is the user's.
        if f"{prefix}nll" not in values.metrics:
            scores |= _of_views(
                f"{prefix}nll", classifier.nll, mask, equal, False
            )
        for kind, views in (("original", np.s_[:, 0]), ("mean", mask)):
            scores[f"{kind}_{prefix}ece"] = summary.calibration_error(
                classifier.confidence[views], classifier.right[views]
            )
    return scores


def _of_views(name, values, mask, weight, higher_is_better):
    """Original, mean and, where it is known what is bad, worst view."""
    scores = {
        f"original_{name}": summary.original(values, weight),
        f"mean_{name}": summary.mean(values, mask, weight),
    }
    if higher_is_better is not None:
        scores[f"worst_{name}"] = summary.worst(
            values, mask, weight, higher_is_better
        )
    return scores
