"""Targets that are predictions: the soft objective and the teacher's rules.

A compiled loss compares predictions with labels. Its soft twin compares them
with a predicted distribution (or value): sparse categorical crossentropy
becomes categorical crossentropy, a squared error is its own twin.
"""

from typing import Any
from typing import NamedTuple

import keras
from keras import ops

from keras_mmel import arrays
from keras_mmel.contract import Sizes
from keras_mmel.losses import compiled

_LOSSES = keras.losses

# What the losses of Keras that take a predicted target are trained for. In a
# regression the prediction stands for a value as the label does.
_KINDS = {
    _LOSSES.sparse_categorical_crossentropy: "categorical",
    _LOSSES.categorical_crossentropy: "categorical",
    _LOSSES.categorical_focal_crossentropy: "categorical",
    _LOSSES.kl_divergence: "categorical",
    _LOSSES.binary_crossentropy: "binary",
    _LOSSES.binary_focal_crossentropy: "binary",
    _LOSSES.mean_squared_error: "regression",
    _LOSSES.mean_absolute_error: "regression",
    _LOSSES.mean_absolute_percentage_error: "regression",
    _LOSSES.mean_squared_logarithmic_error: "regression",
    _LOSSES.huber: "regression",
    _LOSSES.log_cosh: "regression",
    _LOSSES.poisson: "regression",
    _LOSSES.cosine_similarity: "regression",
}

# Two values of a regression that differ by more disagree: there the teacher
# replaces the prediction (section 4.2 of the paper).
REGRESSION_GAP = 0.5


class SoftTwin(NamedTuple):
    """The twin of a compiled loss for a predicted target.

    Attributes:
        loss: Takes the target where the compiled loss takes the label.
        kind: `"categorical"`, `"binary"`, `"regression"`, or None where the
            compiled loss does not tell.
        from_logits: Whether predictions become targets through a softmax (or
            sigmoid).
        axis: Axis of the classes.
    """

    loss: keras.Loss
    kind: str | None
    from_logits: bool = False
    axis: int = -1

    def target(self, prediction: Any) -> Any:
        """A prediction as float32 target: probabilities, or values."""
        prediction = ops.cast(prediction, "float32")
        if not self.from_logits:
            return prediction
        if self.kind == "binary":
            return ops.sigmoid(prediction)
        # TensorFlow's own softmax is oneDNN's on a CPU, which sets itself up
        # at every call: for a few rows that takes longer than the rest of the
        # objective.
        largest = ops.max(prediction, axis=self.axis, keepdims=True)
        raised = ops.exp(prediction - ops.stop_gradient(largest))
        return raised / ops.sum(raised, axis=self.axis, keepdims=True)


def soft_twin(loss: keras.Loss) -> SoftTwin | None:
    """The twin of `loss` with a soft target.

    Label smoothing is left out: it is for labels, and a predicted distribution
    is smooth already.

    Args:
        loss: A `keras.Loss` from `compiled.resolve`.

    Returns:
        A `SoftTwin`, or None where there is none: a custom loss, a loss for
        labels of +1 and -1, or one with `ignore_class`.
    """
    wrapper = compiled.LossFunctionWrapper
    if not isinstance(loss, wrapper) or type(loss).call is not wrapper.call:
        return None
    settings = dict(loss._fn_kwargs)
    ignored = settings.pop("ignore_class", None)
    if loss.fn not in _KINDS or ignored is not None:
        return None
    settings.pop("label_smoothing", None)
    fn = loss.fn
    if fn is _LOSSES.sparse_categorical_crossentropy:
        fn = _LOSSES.categorical_crossentropy
    twin = wrapper(fn, loss.reduction, loss.name, loss.dtype, **settings)
    from_logits = settings.get("from_logits", False)
    axis = settings.get("axis", -1)
    return SoftTwin(twin, _KINDS[loss.fn], from_logits, axis)


def twin_for(output: compiled.Output, soft_loss: Any = None) -> SoftTwin:
    """The twin of an output's loss, or what the user gave in its place.

    Args:
        output: From `compiled.pair_outputs`.
        soft_loss: The entry of `soft_loss=` for this output, or None.

    Returns:
        A `SoftTwin`.

    Raises:
        ValueError: If the loss has no known twin and none was given.
    """
    twin = soft_twin(output.loss)
    if soft_loss is not None:
        loss = compiled.resolve(soft_loss, output.label, output.prediction)
        if twin is None:
            # Then the user's loss says what kind of task it is, if it does.
            twin = soft_twin(loss) or SoftTwin(loss, kind=None)
        return twin._replace(loss=loss)
    if twin is None:
        raise ValueError(
            f"There is no known form of the loss {output.loss.name!r} of "
            f"{output.name} that takes a predicted target, of the model or a "
            "teacher. Give `MMELModel` a `soft_loss=function` of (target, "
            f"y_pred). Received: loss={output.loss!r}"
        )
    return twin


def teacher_rows(
    teacher: Any, output: compiled.Output, twin: SoftTwin, sizes: Sizes
) -> Any:
    """Teacher predictions as a flat batch, shaped like the predictions.

    What stands for padding views is replaced, like the views themselves.

    Args:
        teacher: Shape `(batch, num_views, ...)`, probabilities or values.
        output: From `compiled.pair_outputs`.
        twin: From `twin_for`.
        sizes: Of the batch.

    Returns:
        Float32 of the shape of the output's prediction.

    Raises:
        ValueError: If the shapes do not match. When the step runs, also if a
            crossentropy gets what are no probabilities; see `fail_unless`.
    """
    row_shape = tuple(output.prediction.shape[1:])
    teacher = ops.cast(ops.convert_to_tensor(teacher), "float32")
    received = tuple(teacher.shape)
    if len(received) == len(row_shape) + 1 and row_shape[-1:] == (1,):
        teacher = ops.expand_dims(teacher, -1)
    static = [size if isinstance(size, int) else None for size in sizes[:2]]
    expected = (*static, *row_shape)
    if not arrays.shapes_agree(teacher.shape, expected):
        raise ValueError(
            f"Teacher predictions for {output.name} must have shape (batch, "
            f"num_views, {', '.join(map(str, row_shape))}), one for each "
            f"view, here {expected}. Received: teacher.shape={received}"
        )
    # The shape of the predictions: sizes that are only known when the step
    # runs are checked there and cannot broadcast.
    rows = ops.reshape(sizes.flatten(teacher), ops.shape(output.prediction))
    if twin.kind in ("categorical", "binary"):
        rows = _check_probabilities(rows)
    return rows


def soft_target(
    twin: SoftTwin,
    prediction: Any,
    sizes: Sizes,
    teacher: Any = None,
    stop_gradient: bool = True,
) -> Any:
    """Target of every view under the soft objective.

    It is the prediction for the original view, except where the teacher puts
    the view in another class than the original: there it is the teacher's
    prediction for the view (section 3.3). In regression, and for each output of
    a sigmoid, this is decided entry by entry; in regression where the teacher
    and the prediction differ by more than 0.5 (section 4.2).

    Args:
        twin: From `twin_for`.
        prediction: Shape `(batch * num_views, ...)`.
        sizes: Of the batch.
        teacher: None or teacher predictions like `prediction`.
        stop_gradient: Whether the predicted target is a constant.

    Returns:
        Float32 like `prediction`.

    Raises:
        ValueError: If there is a teacher and the loss does not tell whether
            the task is classification or regression.
    """

    def from_original(rows):
        return sizes.repeat(sizes.originals(rows))

    target = twin.target(sizes.originals(prediction))
    if stop_gradient:
        target = ops.stop_gradient(target)
    target = sizes.repeat(target)
    if teacher is None:
        return target
    if twin.kind == "categorical":
        classes = ops.argmax(teacher, axis=twin.axis)
        differs = ops.not_equal(classes, from_original(classes))
        differs = ops.expand_dims(differs, twin.axis)
    elif twin.kind == "binary":
        differs = ops.not_equal(teacher > 0.5, from_original(teacher) > 0.5)
    elif twin.kind == "regression":
        differs = ops.abs(teacher - target) > REGRESSION_GAP
    else:
        raise ValueError(
            "With a teacher the loss must tell whether the task is "
            "classification or regression, as those of Keras do. "
            f"Received: loss={twin.loss!r}"
        )
    return ops.where(differs, teacher, target)


def _check_probabilities(teacher):
    """The teacher's predictions, unless they are logits: those would train."""
    # Room for the rounding of half precision.
    fits = ops.all(ops.logical_and(teacher >= 0.0, teacher <= 1.001))
    return arrays.fail_unless(
        fits,
        teacher,
        "Teacher predictions must be probabilities, from 0 to 1, for a "
        "crossentropy, also where the model gives logits. Received: smallest "
        "and largest",
        ops.min(teacher),
        ops.max(teacher),
    )
