"""Values of the loss and of every metric for each view, and their scores."""

import contextlib
import itertools
import operator
from collections.abc import Callable
from collections.abc import Iterable
from typing import Any
from typing import NamedTuple

import keras
import numpy as np
from keras import ops

from keras_mmel import contract
from keras_mmel.arrays import to_numpy
from keras_mmel.losses import checks
from keras_mmel.losses import compiled
from keras_mmel.losses import of_groups
from keras_mmel.losses import soft_targets
from keras_mmel.objectives import Uniform
from keras_mmel.scores import summary


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
    `evaluate`; losses are averaged, whatever their `reduction`. On replicas,
    the first computes, of each worker that asks.

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
    batches = x
    if isinstance(x, dict) and y is not None:
        arrays = (x, y) if sample_weight is None else (x, y, sample_weight)
        batches = _slices(arrays, batch_size)
    elif isinstance(x, dict) or y is not None or sample_weight is not None:
        raise ValueError(
            "`y` and `sample_weight` go with arrays of groups, "
            'x={"views": x}, which need `y`; batches bring their own. '
            f"Received: x of type {type(x).__name__}, y={type(y).__name__}"
        )
    elif isinstance(x, keras.utils.PyDataset):
        batches = (x[i] for i in range(len(x)))
    return ViewScorer(model)(batches, steps)


_MEAN_UPDATE = keras.metrics.MeanMetricWrapper.update_state


class _Metric(NamedTuple):
    """A compiled metric that is a mean over examples."""

    output: int  # place of its output among all
    metric: Any
    up: bool | None  # whether more is better, where Keras knows
    weighted: bool


class ViewScorer:
    """Scores one model on groups, traced once for several data sets."""

    def __init__(self, model: keras.Model):
        if not getattr(model, "compiled", False) or not model._compile_loss:
            raise ValueError(
                "`evaluate_views` needs a compiled loss. Call `compile()` "
                f"before. Received: model={model!r}"
            )
        self._model = model
        self._metrics: dict[str, _Metric] | None = None
        self._step: Callable = self._values
        if keras.backend.backend() == "tensorflow" and not model.run_eagerly:
            import tensorflow as tf

            self._step = tf.function(self._values, reduce_retracing=True)

    def __call__(
        self, batches: Iterable, steps: int | None = None
    ) -> dict[str, float]:
        """Computes the scores, as `evaluate_views` does."""
        # Groups with new views in every pass: always those of the first.
        counter = getattr(batches, "epoch_counter", None)
        before = counter and counter.epoch
        if counter:
            counter.set_epoch(counter.initial_epoch)
        try:
            return self._scores(self._all_values(batches, steps))
        finally:
            if counter:
                counter.set_epoch(before)

    def _all_values(self, batches, steps):
        found: dict[str, list] = {}
        for batch in itertools.islice(batches, steps):
            x, y, weight = keras.utils.unpack_x_y_sample_weight(batch)
            contract.check_groups(x)
            y = contract.split_labels(y).label
            checks.check_labels(y, contract.sizes_of(x))
            x, y = keras.tree.map_structure(ops.convert_to_tensor, (x, y))
            if self._metrics is None:
                self._metrics = self._find_metrics(x, y)
            with _no_gradient():
                values = self._step(x, y)
            values["mask:"] = x.get("mask", ops.ones_like(values["loss:loss"]))
            values["weight:"] = ops.ones_like(values["loss:loss"][:, :1])
            if weight is not None:
                values["weight:"] = checks.per_example(weight)[:, None]
            for key, value in values.items():
                value = to_numpy(value).astype("float64")
                found.setdefault(key, []).append(value)
        if not found:
            raise ValueError(
                "There was no batch to evaluate: `x` is empty. "
                f"Received: x of type {type(batches).__name__}"
            )
        return {key: _joined(parts) for key, parts in found.items()}

    def _scores(self, values):
        """Scores of `(examples, num_views)` values of all batches."""
        mask, weight = values["mask:"].astype(bool), values["weight:"][:, 0]
        if not mask[:, 0].all():
            raise ValueError(
                'The original, view 0, must be a real view: "mask" must be '
                f"True there. Received: False in {(~mask[:, 0]).sum()} groups"
            )
        found = {}
        for key, value in values.items():
            kind, _, name = key.partition(":")
            if kind == "confidence":
                right = values[f"right:{name}"]
                for part, kept in (("original", np.s_[:, 0]), ("mean", mask)):
                    found[f"{part}_{name}"] = summary.calibration_error(
                        value[kept], right[kept]
                    )
            # A metric that the user calls "nll" is the user's.
            if kind not in ("loss", "metric", "nll") or "mean_" + name in found:
                continue
            metric = self._metrics[name] if kind == "metric" else None
            # As Keras weighs them; it adds what layers add to the loss after.
            counted = weight if kind == "loss" else np.ones_like(weight)
            if metric is not None and metric.weighted:
                counted = weight / weight.mean()
            plus = float(values["layers:"].mean()) if kind == "loss" else 0.0
            parts = (value, mask, counted)
            found[f"original_{name}"] = summary.original(*parts) + plus
            found[f"mean_{name}"] = summary.mean(*parts) + plus
            up = metric.up if metric is not None else False
            if up is not None:
                found[f"worst_{name}"] = summary.worst(*parts, up) + plus
        return found

    def _find_metrics(self, x, y):
        """The metrics by their names, resolved as Keras does it."""
        found = {}
        metrics = self._model._compile_metrics
        if metrics is None:
            return found
        if not metrics.built:
            rows = self._model(contract.flatten_views(x), training=False)
            metrics.build(y, contract.sizes_of(x).originals(rows))
        of_outputs = (metrics._flat_metrics, metrics._flat_weighted_metrics)
        for weighted, lists in enumerate(of_outputs):
            for output, of_output in enumerate(lists):
                for metric in of_output.metrics if of_output else ():
                    # One that changes how it is updated is no such mean.
                    update = getattr(type(metric), "update_state", None)
                    if update is not _MEAN_UPDATE:
                        continue
                    prefix = of_output.output_name
                    prefix = f"{prefix}_" if prefix else ""
                    name = prefix + metric.name
                    if name in found:
                        name = f"{prefix}weighted_{metric.name}"
                    direction = getattr(metric, "_direction", None)
                    up = direction and direction == "up"
                    found[name] = _Metric(output, metric, up, bool(weighted))
        return found

    def _values(self, x, y):
        """One value for each view, `(batch, num_views)`, by name."""
        model = self._model
        sizes = contract.sizes_of(x)
        loss = model._compile_loss._user_loss
        names = getattr(model, "output_names", None)
        prediction = model(contract.flatten_views(x), training=False)
        losses = of_groups.group_losses(
            Uniform(),
            sizes,
            y,
            prediction,
            loss=loss,
            loss_weights=model._compile_loss._user_loss_weights,
            output_names=names,
        ).losses
        extra = sum(ops.cast(v, "float32") for v in model.losses)
        # By kind and name, since metrics may be called anything.
        values = {
            "loss:loss": losses,
            "layers:": extra + ops.zeros_like(losses[:, :1]),
        }
        for name, (output, metric, *_) in self._metrics.items():
            label, rows = (
                model._compile_metrics._flatten_y(part)[output]
                for part in (y, prediction)
            )
            value = metric._fn(sizes.repeat(label), rows, **metric._fn_kwargs)
            value = ops.cast(value, "float32")
            if not len(value.shape):  # of the batch, not of examples
                continue
            axes = tuple(range(1, len(value.shape)))
            values[f"metric:{name}"] = sizes.group(
                ops.mean(value, axis=axes) if axes else value
            )
        outputs = compiled.pair_outputs(loss, None, y, prediction, names)
        for one in outputs:
            prefix = f"{one.name}_" if len(outputs) > 1 else ""
            for kind, (name, value) in _of_classifier(one, sizes).items():
                values[f"{kind}:{prefix}{name}"] = sizes.group(value)
        return values


def _of_classifier(
    output: compiled.Output, sizes: contract.Sizes
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
        "nll": ("nll", ops.cast(nll, "float32")),
        "confidence": ("ece", confidence),
        "right": ("ece", right),
    }


def _joined(parts):
    """All batches; groups with fewer views than others are padded."""
    most = max(part.shape[1] for part in parts)
    room = [((0, 0), (0, most - part.shape[1])) for part in parts]
    return np.concatenate(list(map(np.pad, parts, room)))


def _slices(arrays, size):
    for start in range(0, len(keras.tree.flatten(arrays)[0]), size):
        part = slice(start, start + size)
        yield keras.tree.map_structure(operator.itemgetter(part), arrays)


def _no_gradient():
    if keras.backend.backend() == "torch":
        import torch

        return torch.no_grad()
    return contextlib.nullcontext()
