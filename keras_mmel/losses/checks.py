"""What a batch has to fulfil, checked before it becomes a wrong loss."""

import warnings
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_mmel import arrays
from keras_mmel import contract
from keras_mmel.losses import compiled
from keras_mmel.losses import soft_targets
from keras_mmel.objectives import Objective

_LOSSES = keras.losses
# What the labels of a loss look like, where it has no soft twin that tells.
_SPARSE = (
    _LOSSES.sparse_categorical_crossentropy,
    _LOSSES.categorical_generalized_cross_entropy,
)
_LIKE_PREDICTIONS = (
    _LOSSES.hinge,
    _LOSSES.squared_hinge,
    _LOSSES.categorical_hinge,
)


def value_and_weights(
    objective: Objective, losses: Any, mask: Any, lambda_p: Any
) -> tuple[Any, Any]:
    """What an objective makes of view losses, of the shapes that it must have.

    Args:
        objective: The objective, maybe one of the user's own.
        losses: View losses `(batch, num_views)`.
        mask: As `Objective.value_and_weights` takes it.
        lambda_p: Likewise.

    Returns:
        The loss of each group `(batch,)`, and the weights of its views.

    Raises:
        TypeError: If it gives something else, which a weight or a mask would
            broadcast.
    """
    result = objective.value_and_weights(losses, mask, lambda_p)
    parts = result if isinstance(result, (tuple, list)) else (result,)
    if [len(getattr(part, "shape", ())) for part in parts] != [1, 2]:
        raise TypeError(
            "`value_and_weights` must return a pair, the loss of each group "
            "(batch,) and the weights of the views (batch, num_views). "
            f"Received: {result} of {objective!r}"
        )
    value, weights = parts
    return value, weights


def check_labels(labels: contract.Labels, sizes: contract.Sizes) -> None:
    """Raises ValueError for missing labels, text, or other sizes.

    Args:
        labels: Of the batch.
        sizes: Of the batch.

    Raises:
        ValueError: If there are no labels, they are text, their rank is not
            known or they are not one for each example, or for each view.
    """
    label = labels.label
    if label is None:
        raise ValueError(
            "Training needs labels: give `fit` pairs (x, y). Received: y=None"
        )
    check_numbers(label)
    static = [size if isinstance(size, int) else None for size in sizes[:2]]
    for leaf in keras.tree.flatten(label):
        if contract.rank(leaf) is None:
            # Keras relaxes the rank where one call of `fit` has another.
            raise ValueError(
                "Labels must have one shape (batch, ...) in all calls of "
                "`fit`. Received: labels of unknown rank"
            )
        if not arrays.shapes_agree(leaf.shape[:1], static[:1]):
            raise ValueError(
                f"Labels shared by the views must be (batch={static[0]}, ...). "
                f"Received: y.shape={tuple(leaf.shape)}"
            )
    for leaf in keras.tree.flatten(labels.of_views):
        if leaf is not None and not arrays.shapes_agree(leaf.shape[:2], static):
            raise ValueError(
                'Labels that move with the views, {"views": y}, must have '
                f"shape (batch, num_views, ...), batch and views {static}. "
                f"Received: y.shape={tuple(leaf.shape)}"
            )


def check_numbers(label: Any) -> None:
    """Raises ValueError where labels are text, in NumPy or TensorFlow."""
    for leaf in keras.tree.flatten(label):
        dtype = getattr(leaf, "dtype", None)
        name = getattr(dtype, "name", str(dtype))
        if name in ("string", "object") or name.startswith(("str", "bytes")):
            raise ValueError(
                "Labels must be numbers; encode text with "
                f"`keras.layers.StringLookup`. Received: labels of dtype {name}"
            )


def check_label_shape(
    output: compiled.Output, num_views: Any, of_views: Any = None
) -> None:
    """Raises ValueError where labels of a known loss would broadcast.

    Of another loss, warns of labels that look like those of views.

    Args:
        output: From `compiled.pair_outputs`.
        num_views: Size of the groups, for the message.
        of_views: None where labels are shared by the views, for the message.

    Raises:
        ValueError: If the labels have another shape than the loss takes. What a
            loss of the user's own takes is not known.
    """
    fn = getattr(output.loss, "fn", None)
    is_known = fn in (*_SPARSE, *_LIKE_PREDICTIONS)
    label = tuple(output.label.shape[1:])
    prediction = tuple(output.prediction.shape[1:])
    if not is_known and soft_targets.soft_twin(output.loss) is None:
        if label[:1] == (num_views,) != prediction[:1] and of_views is None:
            warnings.warn(
                f"Labels of {output.name} have an axis as long as the groups, "
                f"which predictions have not, and go to {output.loss.name!r} "
                'as they are. A label for each view goes into {"views": y}. '
                f"Received: y.shape={_shape(('batch', *label))}",
                stacklevel=2,
            )
        return
    expected = prediction
    if fn in _SPARSE:
        shape = list(output.prediction.shape)
        # The class of a label has no axis.
        del shape[output.loss._fn_kwargs.get("axis", -1)]
        expected = tuple(shape[1:])
    if not _same(label, expected):
        leading, each = ["batch"], f"example, shared by its {num_views} views"
        if of_views is not None:
            leading, each = ["batch", "num_views"], "view"
        raise ValueError(
            f"Labels of {output.name} must have shape "
            f"{_shape((*leading, *expected))} for the loss "
            f"{output.loss.name!r} and predictions of shape "
            f"{_shape(('batch', *prediction))}: one label for each {each}. "
            'Labels that move with the views go into {"views": y}. '
            f"Received: y.shape={_shape((*leading, *label))}"
        )


def per_example(sample_weight: Any) -> Any:
    """Sample weights of one output as one float32 number for each example.

    Args:
        sample_weight: Shape `(batch,)`, or with axes of length 1 behind, which
            plain Keras needs to weigh what gives a loss per pixel.

    Returns:
        Float32 `(batch,)`.

    Raises:
        ValueError: If the shape is another one.
    """
    weight = ops.cast(sample_weight, "float32")
    shape = tuple(weight.shape)
    if not shape or any(size != 1 for size in shape[1:]):
        raise ValueError(
            "`sample_weight` must have shape (batch,), one weight per example "
            "of each output. Weights of pixels or tokens go into the labels, "
            "for a loss of your own that takes both. "
            f"Received: sample_weight.shape={shape}"
        )
    return ops.reshape(weight, (-1,))


def beside_masks(sample_weight: Any, prediction: Any) -> Any:
    """Sample weights of metrics, with the axes of the masks of predictions.

    Keras multiplies a weight of examples with a mask of tokens along its last
    axis.

    Args:
        sample_weight: None, for each example, or a nest by output.
        prediction: The output of the model, a nest.

    Returns:
        The weights, for each output where the model has several.
    """
    masks = [
        arrays.keras_mask(output) for output in keras.tree.flatten(prediction)
    ]
    if sample_weight is None or all(mask is None for mask in masks):
        return sample_weight

    def shaped(weight, output):
        mask = arrays.keras_mask(output)
        if mask is None or weight is None:
            return weight
        shape = (-1,) + (1,) * (len(mask.shape) - 1)
        return ops.reshape(per_example(weight), shape)

    if not keras.tree.is_nested(sample_weight):
        # Keras, too, takes a single one for all outputs.
        sample_weight = keras.tree.map_structure(
            lambda output: sample_weight, prediction
        )
    return keras.tree.map_structure(shaped, sample_weight, prediction)


def of_outputs(weights: list[Any], reduction: str | None) -> tuple[Any, Any]:
    """One weight for each example, and how much of it each output takes.

    The weight of an example is the largest of its outputs', by its size: what
    has a label for one output alone is a full example of that output.

    Args:
        weights: For each output what `per_example` takes, or None for ones.
        reduction: Of the compiled losses.

    Returns:
        Float32 `(batch,)` and `(batch, outputs)`. None for the weights where
        there are none, and for the shares where all outputs share one tensor.

    Raises:
        ValueError: When the step runs, if outputs differ and the losses are
            divided by the sum of the weights; see `fail_unless`.
    """
    first = next((w for w in weights if w is not None), None)
    if first is None:
        return None, None
    if all(weight is first for weight in weights):
        return per_example(first), None
    one = ops.ones_like(per_example(first))
    each = [one if w is None else per_example(w) for w in weights]
    by_output = ops.stack(each, axis=1)
    largest, smallest = ops.max(by_output, axis=1), ops.min(by_output, axis=1)
    weight = ops.where(largest + smallest >= 0, largest, smallest)
    is_zero = ops.equal(weight, 0)[:, None]
    divisor = ops.where(is_zero, 1.0, weight[:, None])
    shares = ops.where(is_zero, 1.0, by_output / divisor)
    if reduction == "mean_with_sample_weight":
        weight = arrays.fail_unless(
            ops.all(ops.equal(shares, 1)),
            weight,
            "`sample_weight` must be the same for all outputs where losses "
            'have the reduction "mean_with_sample_weight". Compile them with '
            '`reduction="sum_over_batch_size"`. Received: weights by output',
            by_output,
        )
    return weight, shares


def check_finite(losses: Any, mask: Any = None) -> None:
    """Raises ValueError that names the first view whose loss is not finite.

    Args:
        losses: View losses `(batch, num_views)`. Those that have no values yet
            pass: Keras also traces a step that is to run eagerly.
        mask: None or bool `(batch, num_views)`, `False` for padding.
    """
    if not hasattr(losses, "numpy"):
        return
    values = arrays.to_numpy(losses)
    not_finite = ~np.isfinite(values)
    if mask is not None:
        not_finite &= arrays.to_numpy(mask).astype(bool)
    if not_finite.any():
        example, view = np.argwhere(not_finite)[0]
        raise ValueError(
            f"The loss of view {view} of example {example} of the batch "
            f"must be finite. Received: view losses {values[example].tolist()}"
        )


def _same(label, expected):
    """Equal up to a last axis of length 1."""
    options = [expected, (*expected, 1)]
    if expected and expected[-1] == 1:
        options.append(expected[:-1])
    return any(arrays.shapes_agree(label, option) for option in options)


def _shape(parts):
    return f"({', '.join(map(str, parts))})"
