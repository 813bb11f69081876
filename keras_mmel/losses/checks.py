"""What a batch has to fulfil, checked before it becomes a wrong loss."""

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_mmel.arrays import shapes_agree
from keras_mmel.arrays import to_numpy
from keras_mmel.contract import Labels
from keras_mmel.contract import Sizes
from keras_mmel.contract import rank
from keras_mmel.losses import compiled
from keras_mmel.losses import soft_targets

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


def check_labels(labels: Labels, sizes: Sizes) -> None:
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
    for leaf in keras.tree.flatten(label):
        if rank(leaf) is None:
            # Keras relaxes the rank where one call of `fit` has another.
            raise ValueError(
                "Labels must have one shape (batch, ...) in all calls of "
                "`fit`: one label for each example, shared by its views. "
                "Received: labels of unknown rank"
            )
        rows = leaf.shape[0] if len(leaf.shape) else 0
        are_static = isinstance(sizes.batch, int) and rows is not None
        if are_static and rows != sizes.batch:
            raise ValueError(
                "Labels are shared by the views of an example: y must have "
                f"shape (batch, ...) with batch={sizes.batch}. "
                f"Received: y.shape={tuple(leaf.shape)}"
            )
    static = [size if isinstance(size, int) else None for size in sizes[:2]]
    for leaf in keras.tree.flatten(labels.of_views):
        if leaf is not None and not shapes_agree(leaf.shape[:2], static):
            raise ValueError(
                'Labels that move with the views, {"views": y}, must have '
                f"shape (batch, num_views, ...), here {(*static, ...)}. "
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
                "`keras.layers.StringLookup`. "
                f"Received: labels of dtype {name}"
            )


def check_label_shape(
    output: compiled.Output, num_views: Any, of_views: Any = None
) -> None:
    """Raises ValueError where labels of a known loss would broadcast.

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
    if not is_known and soft_targets.soft_twin(output.loss) is None:
        return
    label = tuple(output.label.shape[1:])
    prediction = tuple(output.prediction.shape[1:])
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
    """Sample weights as one float32 number for each example.

    Args:
        sample_weight: Shape `(batch,)` or `(batch, 1)`; or a nest of copies of
            it, which Keras makes for a nest of labels.

    Returns:
        Float32 `(batch,)`.

    Raises:
        ValueError: If the shape is another one, or weights differ by output.
    """
    if keras.tree.is_nested(sample_weight):
        sample_weight, *copies = keras.tree.flatten(sample_weight)
        for copy in copies:
            _check_equal(sample_weight, copy)
    sample_weight = ops.cast(sample_weight, "float32")
    shape = tuple(sample_weight.shape)
    if len(shape) == 2 and shape[1] == 1:
        sample_weight = ops.squeeze(sample_weight, axis=1)
    elif len(shape) != 1:
        raise ValueError(
            "`sample_weight` must have shape (batch,), one weight per example; "
            "views are weighted by their losses. "
            f"Received: sample_weight.shape={shape}"
        )
    return sample_weight


def check_finite(losses: Any, mask: Any = None) -> None:
    """Raises ValueError that names the first view whose loss is not finite.

    Args:
        losses: View losses `(batch, num_views)`. Those that have no values yet
            pass: Keras also traces a step that is to run eagerly.
        mask: None or bool `(batch, num_views)`, `False` for padding.
    """
    if not hasattr(losses, "numpy"):
        return
    values = to_numpy(losses)
    not_finite = ~np.isfinite(values)
    if mask is not None:
        not_finite &= to_numpy(mask).astype(bool)
    if not_finite.any():
        example, view = np.argwhere(not_finite)[0]
        raise ValueError(
            f"The loss of view {view} of example {example} of the batch is "
            "not finite; it would make the loss of the whole step NaN. "
            f"Received: view losses {values[example].tolist()}"
        )


def _check_equal(first, second):
    """Fails, at the latest when the step runs, unless the tensors are equal."""
    message = (
        "`sample_weight` must be the same for all outputs: one weight per "
        "example, of shape (batch,)."
    )
    if tuple(first.shape[1:]) != tuple(second.shape[1:]):
        raise ValueError(
            f"{message} Received: shapes {tuple(first.shape)} and "
            f"{tuple(second.shape)}"
        )
    if keras.backend.backend() == "tensorflow" and not isinstance(
        first, keras.KerasTensor
    ):
        import tensorflow as tf

        tf.debugging.assert_equal(first, second, message=message)


def _same(label, expected):
    """Equal up to a last axis of length 1."""
    options = [expected, (*expected, 1)]
    if expected and expected[-1] == 1:
        options.append(expected[:-1])
    return any(shapes_agree(label, option) for option in options)


def _shape(parts):
    return f"({', '.join(map(str, parts))})"
