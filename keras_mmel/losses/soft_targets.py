"""Targets that are predictions: the soft objective and the teacher's rules.

A compiled loss compares predictions with labels. Its soft twin compares them
with a predicted distribution (or value): sparse categorical crossentropy
becomes categorical crossentropy, a squared error is its own twin.
"""

from typing import Any
from typing import NamedTuple

import keras
from keras import ops

from keras_mmel import groups
from keras_mmel.losses import per_view

_LOSSES = keras.losses

# Regression losses take a predicted value as they take a label.
_OWN_TWIN = (
    _LOSSES.mean_squared_error,
    _LOSSES.mean_absolute_error,
    _LOSSES.mean_absolute_percentage_error,
    _LOSSES.mean_squared_logarithmic_error,
    _LOSSES.huber,
    _LOSSES.log_cosh,
    _LOSSES.poisson,
    _LOSSES.cosine_similarity,
)

# In regression the teacher replaces the prediction where they are further
# apart than this (section 4.2 of the paper).
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
    from_logits: bool
    axis: int


def soft_twin(loss: keras.Loss) -> SoftTwin | None:
    """The twin of `loss` with a soft target.

    Label smoothing is left out: it is for labels, and a predicted distribution
    is smooth already.

    Args:
        loss: A `keras.Loss` from `keras_mmel.losses.per_view.resolve`.

    Returns:
        A `SoftTwin`, or None where there is none: a custom loss, a loss for
        labels of +1 and -1, or one with `ignore_class`.
    """
    wrapper = per_view.LossFunctionWrapper
    if not isinstance(loss, wrapper) or type(loss).call is not wrapper.call:
        return None
    if loss.fn in _OWN_TWIN:
        return SoftTwin(loss, "regression", False, -1)
    if loss.fn is _LOSSES.kl_divergence:
        return SoftTwin(loss, "categorical", False, -1)
    settings = {"from_logits": False, "axis": -1, "ignore_class": None}
    settings |= loss._fn_kwargs
    if settings.pop("ignore_class") is not None:
        return None
    settings.pop("label_smoothing", None)
    classes = {
        _LOSSES.sparse_categorical_crossentropy: (
            _LOSSES.CategoricalCrossentropy,
            "categorical",
        ),
        _LOSSES.categorical_crossentropy: (
            _LOSSES.CategoricalCrossentropy,
            "categorical",
        ),
        _LOSSES.categorical_focal_crossentropy: (
            _LOSSES.CategoricalFocalCrossentropy,
            "categorical",
        ),
        _LOSSES.binary_crossentropy: (_LOSSES.BinaryCrossentropy, "binary"),
        _LOSSES.binary_focal_crossentropy: (
            _LOSSES.BinaryFocalCrossentropy,
            "binary",
        ),
    }
    if loss.fn not in classes:
        return None
    twin, kind = classes[loss.fn]
    return SoftTwin(
        twin(**settings, reduction=loss.reduction, dtype=loss.dtype),
        kind,
        settings["from_logits"],
        settings["axis"],
    )


def twin_for(output: per_view.Output, soft_loss: Any = None) -> SoftTwin:
    """The twin of an output's loss, or what the user gave in its place.

    Args:
        output: From `keras_mmel.losses.per_view.pair_outputs`.
        soft_loss: The entry of `soft_loss=` for this output, or None.

    Returns:
        A `SoftTwin`.

    Raises:
        ValueError: If the loss has no known twin and none was given.
    """
    twin = soft_twin(output.loss)
    if soft_loss is not None:
        given = per_view.resolve(soft_loss, output.label, output.prediction)
        if twin is None:
            twin = soft_twin(given) or SoftTwin(given, None, False, -1)
        return twin._replace(loss=given)
    if twin is None:
        raise ValueError(
            f"There is no known form of the loss {output.loss.name!r} of "
            f"{output.name} that takes a predicted target, which the soft "
            "objective and teacher predictions need. Give one: "
            "`MMELModel(model, objective, soft_loss=function)` with "
            "`function(target, y_pred)`. "
            f"Received: loss={output.loss!r}"
        )
    return twin


def predicted_target(twin: SoftTwin, prediction: Any) -> Any:
    """A prediction as target: probabilities, or values in regression.

    Args:
        twin: From `twin_for`.
        prediction: Output of the model, logits or probabilities.

    Returns:
        Float32 of the same shape.
    """
    prediction = ops.cast(prediction, "float32")
    if not twin.from_logits:
        return prediction
    if twin.kind == "binary":
        return ops.sigmoid(prediction)
    return _softmax(prediction, twin.axis)


def teacher_rows(teacher: Any, prediction: Any, name: str, x: Any) -> Any:
    """Teacher predictions as a flat batch, shaped like the predictions.

    What stands for padding views is replaced, like the views themselves.

    Args:
        teacher: Shape `(batch, num_views, ...)`, probabilities or values.
        prediction: Shape `(batch * num_views, ...)`.
        name: Name of the output, for the message.
        x: The batch of groups.

    Returns:
        Float32 of the shape of `prediction`.

    Raises:
        ValueError: If the shapes do not match.
    """
    teacher = ops.cast(ops.convert_to_tensor(teacher), "float32")
    given = tuple(teacher.shape)
    if len(given) == len(prediction.shape) and prediction.shape[-1] == 1:
        teacher = ops.expand_dims(teacher, -1)
    sizes = groups.batch_size(x), groups.num_views(x)
    sizes = [size if isinstance(size, int) else None for size in sizes]
    expected = (*sizes, *prediction.shape[1:])
    found = tuple(teacher.shape)
    if len(found) != len(expected) or any(
        None not in pair and pair[0] != pair[1]
        for pair in zip(found, expected, strict=True)
    ):
        raise ValueError(
            f"Teacher predictions for {name} must have shape (batch, "
            f"num_views, {', '.join(map(str, expected[2:]))}), one for each "
            f"view, here {expected}. Received: teacher.shape={given}"
        )
    # The shape of the predictions: sizes that are only known when the step
    # runs are checked there and cannot broadcast.
    rows = groups.flatten_pairs(teacher, x.get("mask"))
    return ops.reshape(rows, ops.shape(prediction))


def check_probabilities(teacher: Any) -> Any:
    """The teacher's predictions, or an error when the step runs.

    Logits given for probabilities would train, on nonsense. Only TensorFlow
    can tell, and not under XLA.

    Args:
        teacher: From `teacher_rows`, for a crossentropy.

    Returns:
        The same tensor.
    """
    if keras.backend.backend() != "tensorflow":
        return teacher
    import tensorflow as tf

    # Room for the rounding of half precision.
    fits = tf.reduce_all((teacher >= 0.0) & (teacher <= 1.001))
    message = (
        "Teacher predictions must be probabilities, from 0 to 1, for a "
        "crossentropy, also where the model gives logits. Received: smallest "
        "and largest"
    )
    extremes = [tf.reduce_min(teacher), tf.reduce_max(teacher)]
    check = tf.debugging.Assert(fits, [message, *extremes])
    with tf.control_dependencies([] if check is None else [check]):
        return tf.identity(teacher)


def soft_target(
    twin: SoftTwin,
    prediction: Any,
    num_views: Any,
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
        num_views: Size of the groups.
        teacher: None or teacher predictions like `prediction`.
        stop_gradient: Whether the predicted target is a constant.

    Returns:
        Float32 like `prediction`.

    Raises:
        ValueError: If there is a teacher and the loss does not tell whether
            the task is classification or regression.
    """

    def from_original(rows):
        return groups.repeat_for_views(
            groups.original_rows(rows, num_views), num_views
        )

    target = predicted_target(twin, groups.original_rows(prediction, num_views))
    if stop_gradient:
        target = ops.stop_gradient(target)
    target = groups.repeat_for_views(target, num_views)
    if teacher is None:
        return target
    if twin.kind == "categorical":
        found = ops.argmax(teacher, axis=twin.axis)
        differs = ops.expand_dims(
            ops.not_equal(found, from_original(found)), twin.axis
        )
    elif twin.kind == "binary":
        differs = ops.not_equal(teacher > 0.5, from_original(teacher) > 0.5)
    elif twin.kind == "regression":
        differs = ops.abs(teacher - target) > REGRESSION_GAP
    else:
        raise ValueError(
            f"The loss {twin.loss.name!r} does not tell whether the task is "
            "classification or regression, which decides where the teacher's "
            "prediction replaces the model's. Compile a crossentropy or "
            "regression loss of Keras, or train without a teacher."
        )
    return ops.where(differs, teacher, target)


def _softmax(logits, axis):
    """Softmax in plain operations.

    TensorFlow's own is oneDNN's on a CPU, which sets itself up at every call:
    for a few rows that takes longer than the rest of the objective.
    """
    largest = ops.stop_gradient(ops.max(logits, axis=axis, keepdims=True))
    raised = ops.exp(logits - largest)
    return raised / ops.sum(raised, axis=axis, keepdims=True)
