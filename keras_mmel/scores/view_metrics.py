"""Which compiled metrics have one value for each view."""

from typing import Any
from typing import NamedTuple

import keras

from keras_mmel import contract

_MEAN_UPDATE = keras.metrics.MeanMetricWrapper.update_state


class ViewMetric(NamedTuple):
    """A compiled metric that is a mean over examples.

    Attributes:
        output: Place of its output among all.
        metric: Keras's metric, with the function.
        higher_is_better: None where Keras does not know.
        weighted: Whether it is one of `weighted_metrics`.
    """

    output: int
    metric: Any
    higher_is_better: bool | None
    weighted: bool


def find_metrics(
    model: keras.Model, x: Any, label: Any
) -> dict[str, ViewMetric]:
    """Finds the metrics of a model that are means over examples.

    Keras resolves names such as `"accuracy"` by a label and a prediction, so
    that a model whose metrics are not built is called once.

    Args:
        model: A compiled model.
        x: A batch of groups, as tensors.
        label: The labels of the batch.

    Returns:
        Names, as Keras logs them, and metrics.
    """
    compiled = model._compile_metrics
    if compiled is None:
        return {}
    if not compiled.built:
        rows = model(contract.flatten_views(x), training=False)
        compiled.build(label, contract.sizes_of(x).originals(rows))
    by_name: dict[str, ViewMetric] = {}
    for weighted, of_outputs in (
        (False, compiled._flat_metrics),
        (True, compiled._flat_weighted_metrics),
    ):
        for output, of_output in enumerate(of_outputs):
            for metric in _means(of_output):
                output_name = of_output.output_name
                prefix = f"{output_name}_" if output_name else ""
                name = prefix + metric.name
                if name in by_name:
                    name = f"{prefix}weighted_{metric.name}"
                # "up" or "down", which Keras's own metrics know.
                direction = getattr(metric, "_direction", None)
                better = None if direction is None else direction == "up"
                by_name[name] = ViewMetric(output, metric, better, weighted)
    return by_name


def _means(of_output):
    """The metrics of one output that are means over examples."""
    # A metric that changes how it is updated is no such mean.
    return [
        metric
        for metric in (of_output.metrics if of_output else ())
        if getattr(type(metric), "update_state", None) is _MEAN_UPDATE
    ]
