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
from keras_mmel.losses.compiled import LossFunctionWrapper
from keras_mmel.losses.compiled import Output
from keras_mmel.losses.compiled import pair_outputs
from keras_mmel.losses.compiled import reduction_of
from keras_mmel.losses.compiled import resolve

__all__ = [
    "LossFunctionWrapper",
    "Output",
    "Rows",
    "logged",
    "loss_per_row",
    "pair_outputs",
    "reduce_groups",
    "reduction_of",
    "resolve",
    "rows",
]


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


def loss_per_row(
    loss: keras.Loss, label: Any, prediction: Any, num_views: Any = 1
) -> Any:
    """One loss for each row of a flat batch: the `losses` of `rows`."""
    return rows(loss, label, prediction, num_views).losses


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
        loss: A `keras.Loss` from `resolve`.
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


def reduce_groups(
    values: Any,
    sample_weight: Any,
    reduction: str | None,
    elements: Any = 1,
    kept: Any = None,
) -> tuple[Any, Any]:
    """Numerator and denominator of the loss of a batch.

    Kept apart so that replicas with batches of different sizes can divide by
    the size of the whole batch.

    Args:
        values: Loss of each group, shape `(batch,)`.
        sample_weight: None or shape `(batch,)`.
        reduction: From `reduction_of`.
        elements: `Rows.elements`.
        kept: None or `Rows.kept` of the originals, shape `(batch,)`.

    Returns:
        A scalar and the number to divide it by, or None. For a loss without
        reduction, what Keras would train on: a tensor whose sum has the
        gradient and whose mean is logged.
    """
    weighted = values if sample_weight is None else values * sample_weight
    if reduction is None:
        if isinstance(elements, int) and elements == 1:
            return weighted, None
        share = ops.ones((1, elements), values.dtype) / elements
        return weighted[:, None] * share, None
    total = ops.sum(weighted)
    if reduction == "sum":
        return total, None
    if reduction == "mean_with_sample_weight" and sample_weight is not None:
        size = 1 / elements if kept is None else kept
        return total, ops.sum(sample_weight * size)
    size = ops.shape(values)[0]
    if isinstance(size, int):
        return total, float(size)
    return total, ops.cast(size, "float32")


def logged(loss: Any) -> Any:
    """The number to log for a loss: itself, or its mean if not reduced."""
    return ops.mean(loss) if len(loss.shape) else loss


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
