"""One loss per view, from a loss that was made for a batch.

Each compiled loss's `call` gives unreduced values, and what
`keras.Loss.__call__` would do around it (dtype, mask, weighting) is done here
without the mean over the batch.
"""

import math
from typing import Any
from typing import NamedTuple

import keras
from keras import ops

from keras_mmel.losses.compiled import MEANS


class Rows(NamedTuple):
    """The losses of a flat batch under one compiled loss.

    Attributes:
        losses: Float32 `(rows,)`.
        elements: Values that the loss gave for each row: 1, or the number of
            pixels or tokens.
        kept: None, or float32 `(rows,)`: how much of each row a Keras mask
            keeps, 1 being the mean over the batch.
    """

    losses: Any
    elements: Any
    kept: Any


def rows(
    loss: keras.Loss, label: Any, prediction: Any, num_views: Any = 1
) -> Rows:
    """One loss for each row of a flat batch.

    The mean over the rows of one view equals what `loss(label, prediction)`
    gives for them (the sum, where the loss does not average). Values with more
    axes (a loss per pixel or per token) are averaged over them; a Keras mask
    on the predictions, or one that the loss sets (`ignore_class`), is honoured
    as Keras does, for each view of the group as for a batch of its own.

    Args:
        loss: A `keras.Loss` from `compiled.resolve`.
        label: Shape `(rows, ...)`.
        prediction: Shape `(rows, ...)`.
        num_views: Size of the groups, for masks.

    Returns:
        `Rows`.

    Raises:
        ValueError: If the loss gives a scalar for the whole batch.
    """
    mask = getattr(prediction, "_keras_mask", None)
    label, prediction = keras.tree.map_structure(
        lambda value: ops.convert_to_tensor(value, dtype=loss.dtype),
        (label, prediction),
    )
    values = ops.convert_to_tensor(loss.call(label, prediction))
    own_mask = getattr(values, "_keras_mask", None)
    values = ops.cast(values, "float32")
    _check_rows(loss, values, prediction)
    masks = [ops.cast(m, "bool") for m in (mask, own_mask) if m is not None]
    averages = loss.reduction in (*MEANS, "mean_with_sample_weight")
    kept = None
    if masks:
        mask = masks[0] if len(masks) == 1 else masks[0] & masks[1]
        if len(mask.shape) == len(values.shape) + 1 and mask.shape[-1] == 1:
            mask = ops.squeeze(mask, -1)
        values = ops.where(mask, values, 0.0)
        if averages:
            kept = _kept(ops.cast(mask, values.dtype), num_views)
    axes = tuple(range(1, len(values.shape)))
    elements = 1
    if axes:
        elements = math.prod(ops.shape(values)[1:])
        reduce = ops.mean if averages else ops.sum
        values = reduce(values, axis=axes)
    if kept is None:
        return Rows(values, elements, None)
    # As in Keras: the mean over the batch is over what is not masked.
    share, average = kept
    return Rows(
        ops.divide_no_nan(values, average),
        elements,
        ops.divide_no_nan(share, average),
    )


def _check_rows(loss, values, prediction):
    rows = prediction.shape[0]
    given = values.shape[0] if len(values.shape) else None
    if len(values.shape) == 0 or (given is not None and given != rows):
        raise ValueError(
            f"The loss {loss.name!r} gives a result of shape "
            f"{tuple(values.shape)} for {rows or 'a batch of'} predictions. "
            "MMEL weights the views by their losses and needs one loss per "
            "view: return a value per example, without the mean over the "
            f"batch. Received: loss={loss!r}"
        )


def _kept(mask, num_views):
    """Share of each row that `mask` keeps, and its mean over each view."""
    axes = tuple(range(1, len(mask.shape)))
    share = ops.mean(mask, axis=axes) if axes else mask
    views = ops.mean(ops.reshape(share, (-1, num_views)), axis=0)
    batch = ops.shape(share)[0] // num_views
    return share, ops.tile(views, [batch])
