"""Which target an augmented view has, and which loss takes it."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_mmel.groups import Sizes
from keras_mmel.losses import compiled
from keras_mmel.losses import soft_targets

losses = keras.losses

RNG = np.random.default_rng(5)
CLASS = RNG.integers(0, 3, 4)
VALUES = RNG.normal(size=(4, 3)).astype("float32")

# Which twin


def twin_of(loss, label=CLASS, prediction=VALUES):
    return soft_targets.soft_twin(compiled.resolve(loss, label, prediction))


SPARSE, CATEGORICAL, BINARY = (
    losses.SparseCategoricalCrossentropy,
    losses.CategoricalCrossentropy,
    losses.BinaryFocalCrossentropy,
)


@pytest.mark.parametrize(
    ("loss", "kind", "from_logits", "axis"),
    [
        ("sparse_categorical_crossentropy", "categorical", False, -1),
        (losses.sparse_categorical_crossentropy, "categorical", False, -1),
        (SPARSE(from_logits=True), "categorical", True, -1),
        ("crossentropy", "categorical", False, -1),
        (CATEGORICAL(from_logits=True, axis=1), "categorical", True, 1),
        ("categorical_focal_crossentropy", "categorical", False, -1),
        ("kld", "categorical", False, -1),
        ("binary_crossentropy", "binary", False, -1),
        (BINARY(from_logits=True), "binary", True, -1),
        ("mse", "regression", False, -1),
        ("mae", "regression", False, -1),
        ("mape", "regression", False, -1),
        ("msle", "regression", False, -1),
        ("log_cosh", "regression", False, -1),
        ("poisson", "regression", False, -1),
        (losses.Huber(delta=2.0), "regression", False, -1),
        (losses.CosineSimilarity(axis=-1), "regression", False, -1),
    ],
)
def test_the_twin_of_a_keras_loss_is_found(loss, kind, from_logits, axis):
    twin = twin_of(loss)
    assert (twin.kind, twin.from_logits, twin.axis) == (kind, from_logits, axis)


def test_a_twin_keeps_the_settings_but_for_label_smoothing():
    twin = twin_of(
        losses.BinaryFocalCrossentropy(
            apply_class_balancing=True,
            alpha=0.3,
            gamma=1.5,
            label_smoothing=0.1,
            reduction="sum",
            dtype="float64",
        )
    )
    config = twin.loss.get_config()
    expected = {
        "apply_class_balancing": True,
        "alpha": 0.3,
        "gamma": 1.5,
        "label_smoothing": 0.0,
        "reduction": "sum",
    }
    assert {key: config[key] for key in expected} == expected
    assert twin.loss.dtype == "float64"


class OwnError(losses.MeanSquaredError):
    """Inherits from a loss with a twin, but computes something else."""

    def call(self, y_true, y_pred):
        return ops.mean((y_true - y_pred) ** 4, axis=-1)


def own_loss(y_true, y_pred):
    return ops.mean((y_true - y_pred) ** 4, axis=-1)


@pytest.mark.parametrize(
    "loss",
    [
        "hinge",
        losses.SquaredHinge(),
        "categorical_hinge",
        SPARSE(ignore_class=0),
        own_loss,
        OwnError(),
        functools.partial(losses.huber, delta=2.0),
        losses.CategoricalGeneralizedCrossEntropy(),
    ],
)
def test_a_loss_without_a_twin_says_what_to_give(loss):
    assert twin_of(loss) is None
    resolved = compiled.resolve(loss, CLASS, VALUES)
    output = compiled.Output("out", resolved, None, CLASS, VALUES, ())
    message = (
        "no known form of the loss '.*' of out.*soft_loss=.*Received: loss="
    )
    with pytest.raises(ValueError, match=message):
        soft_targets.twin_for(output)


def test_a_given_keras_loss_tells_how_its_target_is_made():
    output = compiled.Output("out", OwnError(), None, VALUES, VALUES, ())
    given = losses.CategoricalCrossentropy(from_logits=True)
    twin = soft_targets.twin_for(output, given)
    assert twin.loss is given
    assert (twin.kind, twin.from_logits) == ("categorical", True)
    unknown = soft_targets.twin_for(output, own_loss)
    assert unknown.loss.fn is own_loss
    assert (unknown.kind, unknown.from_logits) == (None, False)


# Targets, by themselves


E = np.e
LOGITS = np.float32([[0.0, np.log(3.0)], [1.0, 1.0]])


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (
            losses.CategoricalCrossentropy(from_logits=True),
            [[1 / 4, 3 / 4], [1 / 2, 1 / 2]],
        ),
        (
            losses.CategoricalCrossentropy(from_logits=True, axis=0),
            [[1 / (1 + E), 3 / (3 + E)], [E / (1 + E), E / (3 + E)]],
        ),
        (
            losses.BinaryCrossentropy(from_logits=True),
            [[1 / 2, 3 / 4], [E / (1 + E), E / (1 + E)]],
        ),
        (losses.CategoricalCrossentropy(), LOGITS),
        (losses.BinaryCrossentropy(), LOGITS),
        (losses.MeanSquaredError(), LOGITS),
    ],
)
def test_predicted_targets_are_distributions_or_values(loss, expected):
    found = twin_of(loss).target(LOGITS)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_targets_repeat_the_original_of_each_group():
    twin = twin_of("mse", VALUES, VALUES)
    rows = ops.reshape(ops.arange(12, dtype="float16"), (6, 2))
    target = soft_targets.soft_target(twin, rows, Sizes(2, 3))
    assert target.dtype == "float32"
    np.testing.assert_array_equal(target, [[0, 1]] * 3 + [[6, 7]] * 3)


def test_only_a_stopped_target_is_a_constant():
    rows = tf.Variable(VALUES)
    for stop, expected in ((True, None), (False, [[2.0] * 3, [0.0] * 3] * 2)):
        with tf.GradientTape() as tape:
            target = soft_targets.soft_target(
                twin_of("mse", VALUES, VALUES),
                rows,
                Sizes(2, 2),
                stop_gradient=stop,
            )
        gradient = tape.gradient(target, rows)
        if expected is None:
            assert gradient is None
        else:
            np.testing.assert_allclose(ops.convert_to_numpy(gradient), expected)


# Teacher rows


def teacher_rows(teacher, units, mask=None):
    """Of two groups of three views."""
    loss = losses.MeanSquaredError()
    prediction = np.zeros((6, units))
    output = compiled.Output("kind", loss, None, None, prediction, ())
    return soft_targets.teacher_rows(
        teacher, output, soft_targets.soft_twin(loss), Sizes(2, 3, mask)
    )


def test_teacher_predictions_become_rows_like_the_predictions():
    teacher = np.arange(12, dtype="float64").reshape(2, 3, 2)
    rows = teacher_rows(teacher, 2)
    assert rows.dtype == "float32"
    np.testing.assert_array_equal(rows, teacher.reshape(6, 2))
    flat = teacher_rows(np.arange(6).reshape(2, 3), 1)
    np.testing.assert_array_equal(flat, np.arange(6)[:, None])


def test_what_the_teacher_says_for_padding_is_replaced():
    mask = np.array([[True, False, True], [True, True, False]])
    teacher = np.float32([[1, np.nan, 3], [4, 5, np.inf]])
    found = teacher_rows(teacher, 1, mask=mask)
    np.testing.assert_array_equal(found[:, 0], [1, 1, 3, 4, 5, 4])


@pytest.mark.parametrize(
    "shape",
    [
        (2, 3),
        (2, 3, 4),
        (6, 2),
        (2, 3, 1, 2),
        (2,),
        (2, 1, 2),
        (2, 4, 2),
        (1, 3, 2),
        (3, 2, 2),
    ],
)
def test_a_teacher_of_another_shape_is_refused(shape):
    with pytest.raises(
        ValueError,
        match=(
            r"Teacher predictions for kind must have shape \(batch, num_views, "
            r"2\), .*\(2, 3, 2\).*Received: teacher.shape=\("
        ),
    ):
        teacher_rows(np.zeros(shape), 2)
