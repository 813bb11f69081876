"""What a model says about every view of a batch: losses, metrics, classes."""

import warnings
from collections.abc import Mapping
from typing import Any
from typing import NamedTuple

import keras
import numpy as np
from keras import ops
from keras.src.metrics.reduction_metrics import reduce_to_samplewise_values

from keras_mmel import arrays
from keras_mmel import contract
from keras_mmel.losses import checks
from keras_mmel.losses import compiled
from keras_mmel.losses import of_groups
from keras_mmel.losses import soft_targets
from keras_mmel.objectives import Uniform

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


class Counted(NamedTuple):
    """A metric of each view, as the mean over all examples takes it.

    Attributes:
        value: Its mean over what a Keras mask leaves of the view.
        count: What the example counts by this view: 1, less what the mask
            takes, times the sample weight for one of `weighted_metrics`.
    """

    value: Any
    count: Any


class Classifier(NamedTuple):
    """One output that was trained with a crossentropy, per view.

    Attributes:
        nll: Negative log-likelihood in nats, without label smoothing.
        confidence: Probability of the predicted class.
        predicted: That class.
        label: The class of the label.
    """

    nll: Any
    confidence: Any
    predicted: Any
    label: Any

    @property
    def right(self) -> Any:
        """Whether the predicted class is the label; of NaN nothing is."""
        return (self.predicted == self.label) & np.isfinite(self.confidence)


class Values(NamedTuple):
    """Values of each view: tensors of a batch, or arrays of all data.

    A nest of tensors, as a `tf.function` may return it. All have the shape
    `(examples, num_views)` where nothing else is said.

    Attributes:
        loss: The compiled loss.
        layers: What layers add to the loss of a batch, `(examples, 1)`.
        metrics: Each metric by its name.
        classifiers: Each output that is a classifier, by what is before the
            names of its scores.
        of_means: What the mean predictions over the views are, by the same
            names: each `(examples, choices of views)`.
        mask: False for padding.
        weight: The sample weight, `(examples, 1)`.
    """

    loss: Any
    layers: Any
    metrics: dict[str, Counted]
    classifiers: dict[str, Classifier]
    of_means: dict[str, Classifier]
    mask: Any
    weight: Any


def find_metrics(model: keras.Model, x: Any, y: Any) -> dict[str, ViewMetric]:
    """Finds the metrics of a model that are means over examples.

    Keras resolves names such as `"accuracy"` by a label and a prediction, so
    that a model whose metrics are not built is called once.

    Args:
        model: A compiled model.
        x: A batch of groups, as tensors.
        y: The labels of the batch, of examples or of views.

    Returns:
        Names, as Keras logs them, and metrics.
    """
    compiled_metrics = model._compile_metrics
    if compiled_metrics is None:
        return {}
    if not compiled_metrics.built:
        rows = model(contract.flatten_views(x), training=False)
        label = contract.split_labels(y).label
        compiled_metrics.build(label, contract.sizes_of(x).originals(rows))
    by_name: dict[str, ViewMetric] = {}
    for weighted, of_outputs in (
        (False, compiled_metrics._flat_metrics),
        (True, compiled_metrics._flat_weighted_metrics),
    ):
        for output, of_output in enumerate(of_outputs):
            for metric in of_output.metrics if of_output else ():
                # One that changes how it is updated is no mean over examples.
                if type(metric).update_state is not _MEAN_UPDATE:
                    continue
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


def view_values(
    model: keras.Model,
    metrics: Mapping[str, ViewMetric],
    x: Any,
    y: Any,
    sample_weight: Any = None,
    choices: Any = None,
) -> Values:
    """Computes the values of every view of a batch, in inference mode.

    Args:
        model: A compiled model.
        metrics: Its metrics, from `find_metrics`.
        x: A batch of groups, as tensors.
        y: The labels of the batch, of examples or of views.
        sample_weight: None, `(batch,)`, or a nest of them by output.
        choices: Float32 `(choices, num_views)`, 1 for the views whose mean
            prediction is asked for, the original among them; or None.

    Returns:
        `Values`.
    """
    sizes = contract.sizes_of(x)
    loss = model._compile_loss._user_loss
    names = getattr(model, "output_names", None)
    prediction = model(contract.flatten_views(x), training=False)
    batch = of_groups.group_losses(
        Uniform(),
        sizes,
        y,
        prediction,
        sample_weight,
        loss=loss,
        loss_weights=model._compile_loss._user_loss_weights,
        output_names=names,
    )
    losses, weight = batch.losses, batch.sample_weight
    weight = ops.ones_like(losses[:, :1]) if weight is None else weight[:, None]
    # What metrics and classifiers compare each row of the prediction with.
    label_rows = contract.split_labels(y).rows(sizes)
    outputs = compiled.pair_outputs(loss, None, label_rows, prediction, names)
    classifiers, of_means = {}, {}
    for output in outputs:
        classified = _classified(output)
        if classified is None:
            continue
        prefix = f"{output.name}_" if len(outputs) > 1 else ""
        nll, probabilities, label = classified
        of_rows = _classifier(nll, probabilities, label)
        classifiers[prefix] = _grouped(of_rows, sizes)
        # A mean of predictions for different labels says nothing.
        if choices is not None and contract.split_labels(y).of_views is None:
            of_means[prefix] = _of_means(probabilities, label, choices, sizes)
    # Keras computes them anew where it is asked again.
    layer_losses = model.losses
    _warn_of_activities(model, layer_losses)
    of_layers = sum(ops.cast(value, "float32") for value in layer_losses)
    return Values(
        loss=losses,
        layers=of_layers + ops.zeros_like(losses[:, :1]),
        metrics=_metric_values(
            model, metrics, label_rows, prediction, sample_weight, sizes
        ),
        classifiers=classifiers,
        of_means=of_means,
        mask=ops.ones_like(losses) if sizes.mask is None else sizes.mask,
        weight=weight,
    )


def _warn_of_activities(model, layer_losses):
    """Warns of what layers add that is no regularizer of a weight."""
    weights = model.trainable_variables
    regularized = sum(weight.regularizer is not None for weight in weights)
    if len(layer_losses) > regularized:
        warnings.warn(
            "Layers add a loss of their activities (`add_loss`, "
            "`activity_regularizer`). It is here that of all views together, "
            "in `evaluate` that of the originals: compare metrics or the NLL.",
            stacklevel=2,
        )


def _metric_values(model, metrics, label_rows, prediction, weight, sizes):
    if not metrics:
        return {}
    by_name, flatten = {}, model._compile_metrics._flatten_y
    predictions = flatten(prediction)
    weights = [] if weight is None else flatten(weight)
    # As Keras: a single one is for all outputs.
    weights = weights if len(weights) > 1 else weights * len(predictions)
    for name, (output, metric, _, is_weighted) in metrics.items():
        label = flatten(label_rows)[output]
        predicted = predictions[output]
        value = metric._fn(label, predicted, **metric._fn_kwargs)
        if not len(value.shape):  # of the batch, not of examples
            continue
        mask = arrays.keras_mask(predicted)
        if mask is None and is_weighted and weights:
            # As in Keras, which looks at the mask of values if it weighs them.
            mask = ops.ones((ops.shape(value)[0], 1))
        counted = keras.tree.map_structure(sizes.group, _counted(value, mask))
        if is_weighted and weights and weights[output] is not None:
            of_examples = checks.per_example(weights[output])[:, None]
            counted = counted._replace(count=counted.count * of_examples)
        by_name[name] = counted
    return by_name


def _counted(value, mask):
    """The `Counted` of rows, as Keras's mean takes values and their mask."""
    mean, count = reduce_to_samplewise_values(value, mask, ops.mean, "float32")
    if count is None:
        return Counted(mean, ops.ones_like(mean))
    return Counted(ops.divide_no_nan(mean, count), count)


def _classified(output):
    """NLL, probabilities and label of each row, or None for no classifier."""
    twin = soft_targets.soft_twin(output.loss)
    shape = output.prediction.shape
    if twin is None or len(shape) > 2:
        return None
    if twin.kind == "categorical":
        return _categorical(output, twin)
    if twin.kind == "binary" and (len(shape) == 1 or shape[1] == 1):
        return _binary(output, twin)
    return None


def _categorical(output, twin):
    label, prediction = output.label, output.prediction
    if len(label.shape) == 2 and label.shape[1] == prediction.shape[1]:
        label = ops.argmax(label, axis=-1)
    label = ops.cast(ops.reshape(label, (-1,)), "int32")
    nll = keras.losses.sparse_categorical_crossentropy(
        label, prediction, twin.from_logits
    )
    return nll, twin.target(prediction), label


def _binary(output, twin):
    prediction = output.prediction
    label = ops.cast(ops.reshape(output.label, (-1,)), "float32")
    # The prediction as it is: a reshape would lose the logits behind a sigmoid.
    alike = ops.reshape(label, ops.shape(prediction))
    nll = keras.losses.binary_crossentropy(alike, prediction, twin.from_logits)
    probability = ops.reshape(twin.target(prediction), (-1,))
    both = ops.stack([1 - probability, probability], axis=1)
    return nll, both, ops.cast(label > 0.5, "int32")


def _classifier(nll, probabilities, label):
    confidence = ops.max(probabilities, axis=-1)
    predicted = ops.cast(ops.argmax(probabilities, axis=-1), "int32")
    return Classifier(nll, confidence, predicted, label)


def _of_means(probabilities, label, choices, sizes):
    """The `Classifier` of mean predictions, a column for each choice."""
    shape = (sizes.batch, sizes.views, probabilities.shape[-1])
    probabilities = ops.reshape(ops.cast(probabilities, "float32"), shape)
    chosen = ops.broadcast_to(choices, (sizes.batch, *ops.shape(choices)))
    if sizes.mask is not None:
        chosen *= ops.cast(sizes.mask, "float32")[:, None]
    means = ops.matmul(chosen, probabilities) / ops.sum(chosen, -1)[..., None]
    # The labels of the originals, for each choice.
    sizes = sizes._replace(views=ops.shape(choices)[0])
    label = sizes.repeat(ops.reshape(label, shape[:2])[:, 0])
    means = ops.reshape(means, (-1, shape[-1]))
    nll = keras.losses.sparse_categorical_crossentropy(label, means)
    return _grouped(_classifier(nll, means, label), sizes)


def _grouped(rows, sizes):
    return keras.tree.map_structure(
        lambda leaf: sizes.group(ops.cast(leaf, "float32")), rows
    )
