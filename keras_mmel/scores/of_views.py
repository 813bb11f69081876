"""Values of the loss and of every metric for each view, and their scores."""

import contextlib
import operator
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_mmel import groups
from keras_mmel.losses import checks
from keras_mmel.losses import compiled
from keras_mmel.losses import of_groups
from keras_mmel.losses import soft_targets
from keras_mmel.objectives import Uniform
from keras_mmel.scores import summary

# Keras's metrics that are means of a function of one example.
_MeanMetric = keras.metrics.MeanMetricWrapper


def evaluate_views(
    model: keras.Model,
    x: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    batch_size: int = 32,
    steps: int | None = None,
) -> dict[str, float]:
    r"""Scores a compiled model on groups of views.

    A model is asked about every view $z_j$ of an example, against the label of
    the example. For the compiled loss, and for every compiled metric that is
    a mean over examples, the result has three entries:

    - `original_NAME`: the mean over examples of view 0, as `evaluate` gives it;
    - `mean_NAME`: the mean over examples of the mean over their views;
    - `worst_NAME`: the mean over examples of their worst view,
      $\max_j l(f(z_j), y)$ for a loss. For an accuracy, the share of the
      examples that are right under all views. A metric of which Keras does not
      know whether more is better has no such entry.

    Classifiers (an output trained with a crossentropy) also have the negative
    log-likelihood, `original_nll`, `mean_nll`, `worst_nll`, in nats and without
    label smoothing, and the expected calibration error of the top class,
    `original_ece`, and `mean_ece` over all views. With several outputs the
    names of metrics begin with that of their output, as in Keras.

    Padding views (`"mask"`) do not count; a teacher's predictions are not
    looked at. `sample_weight` weighs the loss and `weighted_metrics`, as in
    `evaluate`. Under a strategy one replica computes.

    Args:
        model: A compiled `keras.Model` or `MMELModel`.
        x: Batches of groups, such as `keras_mmel.data.grid_views` makes, or
            `{"views": x}` with arrays `(examples, num_views, ...)`.
        y: Labels, where `x` holds arrays.
        sample_weight: Weights `(examples,)`, where `x` holds arrays.
        batch_size: Groups in a batch, where `x` holds arrays.
        steps: Batches to take; all where it is None.

    Returns:
        Names and values of the scores.

    Raises:
        ValueError: If the model is not compiled, `x` holds no groups, or no
            batch at all.

    Example:

    ```python
    scores = keras_mmel.evaluate_views(model, groups)
    scores["worst_accuracy"]  # right under every view
    ```
    """
    values = ViewValues(model)
    batches = _batches(x, y, sample_weight, batch_size)
    return values.scores(values.collect(batches, steps))


class ViewValues:
    """Values for every view, of the loss and the metrics of one model.

    Traced once, so that the scores of several data sets or epochs cost one
    trace.

    Args:
        model: A compiled model.
    """

    def __init__(self, model: keras.Model):
        if not getattr(model, "compiled", False) or not model._compile_loss:
            raise ValueError(
                "`evaluate_views` needs a compiled loss. Call `compile()` "
                f"before. Received: model={model!r}"
            )
        self._model = model
        self._up: dict[str, bool | None] = {}
        self._weighted = {"loss"}
        self._metrics: list[tuple[str, int, Any]] | None = None
        self._step: Callable = self._values
        if keras.backend.backend() == "tensorflow" and not model.run_eagerly:
            import tensorflow as tf

            self._step = tf.function(self._values, reduce_retracing=True)

    def collect(
        self, batches: Iterable, steps: int | None = None
    ) -> dict[str, np.ndarray]:
        """Computes the values of all views.

        Args:
            batches: Batches of groups.
            steps: Batches to take; all where it is None.

        Returns:
            For each name an array `(examples, num_views)`, and `"mask"`;
            `"weight"` and `"regularization"` are `(examples,)`.
        """
        found: dict[str, list] = {}
        for number, batch in enumerate(batches):
            if number == steps:
                break
            x, y, weight = keras.utils.unpack_x_y_sample_weight(batch)
            groups.check_groups(x)
            y = groups.split_labels(y).label
            checks.check_labels(y, groups.sizes_of(x))
            x, y = keras.tree.map_structure(ops.convert_to_tensor, (x, y))
            self._find_metrics(x, y)
            with _no_gradient():
                values = self._step(x, y)
            values = {k: checks.to_numpy(v) for k, v in values.items()}
            shape = values["loss"].shape
            mask = x.get("mask")
            values["mask"] = (
                np.ones(shape, bool)
                if mask is None
                else checks.to_numpy(mask).astype(bool)
            )
            values["weight"] = np.ones(len(values["loss"]))
            if weight is not None:
                values["weight"] = checks.to_numpy(checks.per_example(weight))
            for name, value in values.items():
                found.setdefault(name, []).append(value)
        if not found:
            raise ValueError(
                "There was no batch to evaluate: `x` is empty. "
                f"Received: x of type {type(batches).__name__}"
            )
        together = {name: np.concatenate(v) for name, v in found.items()}
        return {
            name: v if v.dtype == bool else v.astype("float64")
            for name, v in together.items()
        }

    def scores(self, values: dict[str, np.ndarray]) -> dict[str, float]:
        """Computes the scores of what `collect` found."""
        values = dict(values)
        mask, weight = values.pop("mask"), values.pop("weight")
        extra = values.pop("regularization").mean()
        same = np.ones_like(weight)
        found = {}
        for name, value in values.items():
            if name.endswith(("confidence", "right")):
                continue
            counted = same
            if name == "loss":
                counted = weight
            elif name in self._weighted:
                counted = weight / weight.mean()
            parts = (value, mask, counted)
            found[f"original_{name}"] = summary.original(*parts)
            found[f"mean_{name}"] = summary.mean(*parts)
            up = self._up.get(name, False)
            if up is not None:
                found[f"worst_{name}"] = summary.worst(*parts, up)
        for name in ("original_loss", "mean_loss", "worst_loss"):
            # Keras adds what layers add to the loss, and weighs it not.
            found[name] += float(extra)
        for name, confidence in values.items():
            if name.endswith("confidence"):
                name = name.removesuffix("confidence")
                right = values[f"{name}right"]
                ece = summary.calibration_error
                found[f"original_{name}ece"] = ece(
                    confidence[:, 0], right[:, 0]
                )
                found[f"mean_{name}ece"] = ece(confidence[mask], right[mask])
        return found

    def _find_metrics(self, x, y):
        """Names and functions of the metrics, resolved as Keras does it."""
        if self._metrics is not None:
            return
        self._metrics = []
        metrics = self._model._compile_metrics
        if metrics is None:
            return
        if not metrics.built:
            rows = self._model(groups.flatten_views(x), training=False)
            metrics.build(y, groups.sizes_of(x).originals(rows))
        for weighted, per_output in (
            (False, metrics._flat_metrics),
            (True, metrics._flat_weighted_metrics),
        ):
            for place, of_output in enumerate(per_output):
                for metric in of_output.metrics if of_output else ():
                    if not isinstance(metric, _MeanMetric):
                        continue
                    name = metric.name
                    if of_output.output_name:
                        name = f"{of_output.output_name}_{name}"
                    if weighted and name in self._up:
                        name = f"weighted_{name}"
                    if weighted:
                        self._weighted.add(name)
                    direction = getattr(metric, "_direction", None)
                    self._up[name] = direction and direction == "up"
                    self._metrics.append((name, place, metric))

    def _values(self, x, y):
        """One value for each view, `(batch, num_views)`, by name."""
        model = self._model
        sizes = groups.sizes_of(x)
        prediction = model(groups.flatten_views(x), training=False)
        found = of_groups.group_losses(
            Uniform(),
            sizes,
            y,
            prediction,
            loss=model._compile_loss._user_loss,
            loss_weights=model._compile_loss._user_loss_weights,
            output_names=getattr(model, "output_names", None),
        )
        extra = sum(ops.cast(v, "float32") for v in model.losses)
        values = {
            "loss": found.losses,
            "regularization": extra + ops.zeros_like(found.losses[:, 0]),
        }
        metrics = model._compile_metrics
        labels = predictions = ()
        if self._metrics:
            labels = metrics._flatten_y(y)
            predictions = metrics._flatten_y(prediction)
        for name, place, metric in self._metrics or ():
            label = sizes.repeat(labels[place])
            value = metric._fn(label, predictions[place], **metric._fn_kwargs)
            value = ops.cast(value, "float32")
            axes = tuple(range(1, len(value.shape)))
            value = ops.mean(value, axis=axes) if axes else value
            values[name] = sizes.group(value)
        outputs = compiled.pair_outputs(
            model._compile_loss._user_loss,
            None,
            y,
            prediction,
            getattr(model, "output_names", None),
        )
        for output in outputs:
            prefix = f"{output.name}_" if len(outputs) > 1 else ""
            for name, value in _of_classifier(output, sizes).items():
                values[prefix + name] = sizes.group(value)
        return values


def _of_classifier(
    output: compiled.Output, sizes: groups.Sizes
) -> dict[str, Any]:
    """NLL, confidence and rightness of the rows, where it is a classifier."""
    twin = soft_targets.soft_twin(output.loss)
    rows = output.prediction
    if twin is None or len(rows.shape) > 2:
        return {}
    label = sizes.repeat(output.label)
    probabilities = twin.target(rows)
    if twin.kind == "binary":
        if len(rows.shape) == 2 and rows.shape[1] != 1:
            return {}
        flat = ops.reshape(probabilities, (-1,))
        truth = ops.cast(ops.reshape(label, (-1,)), "float32")
        nll = keras.losses.binary_crossentropy(
            ops.reshape(truth, ops.shape(rows)), rows, twin.from_logits
        )
        found, there = flat > 0.5, truth > 0.5
        confidence = ops.maximum(flat, 1 - flat)
    elif twin.kind == "categorical":
        if len(label.shape) == 2 and label.shape[1] == rows.shape[1]:
            label = ops.argmax(label, axis=-1)
        there = ops.cast(ops.reshape(label, (-1,)), "int32")
        nll = keras.losses.sparse_categorical_crossentropy(
            there, rows, twin.from_logits
        )
        found = ops.cast(ops.argmax(probabilities, axis=-1), "int32")
        confidence = ops.max(probabilities, axis=-1)
    else:
        return {}
    right = ops.cast(ops.equal(found, there), "float32")
    return {
        "nll": ops.cast(nll, "float32"),
        "confidence": confidence,
        "right": right,
    }


def _batches(x, y, sample_weight, batch_size) -> Iterator:
    """Batches of what `evaluate_views` was given."""
    if not isinstance(x, dict):
        if y is not None or sample_weight is not None:
            raise ValueError(
                "`y` and `sample_weight` go with arrays in `x`; batches bring "
                f"their own. Received: x of type {type(x).__name__}"
            )
        if isinstance(x, keras.utils.PyDataset):
            return (x[i] for i in range(len(x)))
        return iter(x)
    groups.check_groups(x)
    arrays = (x, y) if sample_weight is None else (x, y, sample_weight)
    return _slices(arrays, batch_size)


def _slices(arrays, size):
    for start in range(0, len(keras.tree.flatten(arrays)[0]), size):
        part = slice(start, start + size)
        yield keras.tree.map_structure(operator.itemgetter(part), arrays)


def _no_gradient():
    if keras.backend.backend() == "torch":
        import torch

        return torch.no_grad()
    return contextlib.nullcontext()
