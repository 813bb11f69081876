"""One loss per view, from a loss that was made for a batch.

Each compiled loss's `call` gives unreduced values, and what
`keras.Loss.__call__` would do around it (dtype, mask, weighting) is done here
without the mean over the batch.
"""

import functools
import math
from typing import Any
from typing import NamedTuple

import keras
from keras import ops

from keras_mmel import arrays
from keras_mmel.losses.compiled import MEANS


class Rows(NamedTuple):
    """The losses of a flat batch under one compiled loss.

    Attributes:
        losses: Float32 `(rows,)`.
        elements: Values that the loss gave for each row: 1, or the number of
            pixels or tokens.
        unmasked_share: None where there is no Keras mask, or the loss does not
            average. Else float32 `(rows,)`: how much of each row the mask
            leaves, from 0 to 1.
        axes: Axes of those values, behind that of the rows.
    """

    losses: Any
    elements: Any
    unmasked_share: Any
    axes: int


def rows(loss: keras.Loss, label: Any, prediction: Any) -> Rows:
    """One loss for each row of a flat batch.

    The mean over rows equals what `loss(label, prediction)` gives for them (the
    sum, where the loss does not average). Values with more axes (a loss per
    pixel or per token) are averaged over them. Under a Keras mask on the
    predictions, or one that the loss sets (`ignore_class`), a row is averaged
    over what the mask leaves of it, and is 0 where that is nothing; Keras's
    mean is then the one over rows weighted by their shares.

    Args:
        loss: A `keras.Loss` from `compiled.resolve`.
        label: Shape `(rows, ...)`.
        prediction: Shape `(rows, ...)`.

    Returns:
        `Rows`.

    Raises:
        ValueError: If the loss gives a scalar for the whole batch.
    """
    # Before a conversion drops it.
    prediction_mask = arrays.keras_mask(prediction)
    label, prediction = keras.tree.map_structure(
        lambda value: ops.convert_to_tensor(value, dtype=loss.dtype),
        (label, prediction),
    )
    values = loss.call(label, prediction)
    loss_mask = arrays.keras_mask(values)
    values = ops.cast(ops.convert_to_tensor(values), "float32")
    count = prediction.shape[0]
    # A size that is not static is taken on trust. A layer may have lost that
    # of the prediction, as TextVectorization does.
    known = (None, count, keras.tree.flatten(label)[0].shape[0])
    # Labels (rows,) less predictions (rows, 1) are of all with all.
    is_single = tuple(prediction.shape[1:]) == (1,)
    is_mixed = is_single and tuple(values.shape[1:]) not in ((), (1,))
    if len(values.shape) == 0 or values.shape[0] not in known or is_mixed:
        raise ValueError(
            f"The loss {loss.name!r} gives a result of shape "
            f"{tuple(values.shape)} for predictions of shape "
            f"{tuple(prediction.shape)}. MMEL needs one loss per view: return "
            "a value per example, without the mean over the batch, of labels "
            f"in the shape of the predictions. Received: loss={loss!r}"
        )
    averages = loss.reduction in (*MEANS, "mean_with_sample_weight")
    masks = [
        ops.cast(mask, "bool")
        for mask in (prediction_mask, loss_mask)
        if mask is not None
    ]
    if masks:
        mask = functools.reduce(ops.logical_and, masks)
        if len(mask.shape) == len(values.shape) + 1 and mask.shape[-1] == 1:
            mask = ops.squeeze(mask, -1)
        values = ops.where(mask, values, 0.0)
    axes = tuple(range(1, len(values.shape)))
    elements = 1
    if axes:
        elements = math.prod(ops.shape(values)[1:])
        reduce = ops.mean if averages else ops.sum
        values = reduce(values, axis=axes)
    if not masks or not averages:
        return Rows(values, elements, None, len(axes))
    share = ops.cast(mask, values.dtype)
    if len(share.shape) > 1:
        share = ops.mean(share, axis=tuple(range(1, len(share.shape))))
    return Rows(ops.divide_no_nan(values, share), elements, share, len(axes))
