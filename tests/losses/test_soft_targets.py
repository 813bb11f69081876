"""Which target an augmented view has, and which loss takes it."""

import functools

import keras
import numpy as np
import pytest
from keras import ops

from keras_mmel.contract import Sizes
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
REGRESSION = ["mse", "mae", "mape", "msle", "log_cosh", "poisson"]
REGRESSION += [losses.Huber(delta=2.0), losses.CosineSimilarity(axis=-1)]


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
        *[(loss, "regression", False, -1) for loss in REGRESSION],
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
    assert config["apply_class_balancing"] and "label_smoothing" not in config
    assert (config["alpha"], config["gamma"]) == (0.3, 1.5)
    assert (config["reduction"], twin.loss.dtype) == ("sum", "float64")


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
    output = compiled.Output("out", resolved, 1.0, CLASS, VALUES)
    message = (
        "no known form of the loss '.*' of out.*soft_loss=.*Received: loss="
    )
    with pytest.raises(ValueError, match=message):
        soft_targets.twin_for(output)


# Targets and teacher rows


def test_a_target_is_a_distribution_along_the_axis_of_the_classes():
    loss = CATEGORICAL(from_logits=True, axis=0)
    found = twin_of(loss).target(np.log([[1.0, 6.0], [3.0, 4.0]]))
    np.testing.assert_allclose(found, [[0.25, 0.6], [0.75, 0.4]], rtol=1e-6)


@pytest.mark.parametrize(
    "shape",
    [(2, 3), (2, 3, 4), (6, 2), (2, 3, 1, 2), (2,)]
    + [(2, 1, 2), (2, 4, 2), (1, 3, 2), (3, 2, 2)],
)
def test_a_teacher_of_another_shape_is_refused(shape):
    loss = losses.MeanSquaredError()
    output = compiled.Output("kind", loss, 1.0, None, np.zeros((6, 2)))
    with pytest.raises(
        ValueError,
        match=(
            r"Teacher predictions for kind must have shape \(batch, num_views, "
            r"2\), .*\(2, 3, 2\).*Received: teacher.shape=\("
        ),
    ):
        soft_targets.teacher_rows(
            np.zeros(shape), output, soft_targets.soft_twin(loss), Sizes(2, 3)
        )
