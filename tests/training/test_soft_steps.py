"""Steps on soft targets beside a loop that writes every logarithm out."""

import dataclasses
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

import keras_mmel
from keras_mmel import objectives

layers = keras.layers
losses = keras.losses

BATCH, VIEWS, FEATURES, OUTPUTS = 4, 3, 5, 3
RNG = np.random.default_rng(5)
X = RNG.normal(size=(BATCH, VIEWS, FEATURES)).astype("float32")
KERNEL = RNG.normal(size=(FEATURES, OUTPUTS)).astype("float32")
CLASS = RNG.integers(0, OUTPUTS, BATCH)
ONE_HOT = np.eye(OUTPUTS, dtype="float32")[CLASS]
BITS = RNG.integers(0, 2, (BATCH, OUTPUTS)).astype("float32")
VALUES = RNG.normal(size=(BATCH, OUTPUTS)).astype("float32")
DISTRIBUTION = np.float32(RNG.dirichlet([1, 1, 1], BATCH))


# The loop


def log_softmax(z):
    return (
        z
        - tf.reduce_max(z)
        - tf.math.log(tf.reduce_sum(tf.exp(z - tf.reduce_max(z))))
    )


def log_sigmoid(z):
    return -tf.math.log1p(tf.exp(-z))


def categorical(target, z):
    return -tf.reduce_sum(target * log_softmax(z))


def smoothed(target, z):
    return categorical(0.8 * target + 0.2 / OUTPUTS, z)


def binary(target, z):
    both = target * log_sigmoid(z) + (1 - target) * log_sigmoid(-z)
    return -tf.reduce_mean(both)


def huber(target, z):
    error = tf.abs(target - z)
    return tf.reduce_mean(
        tf.where(error < 0.5, error**2 / 2, error / 2 - 1 / 8)
    )


def divergence(target, z):
    return tf.reduce_sum(target * (tf.math.log(target) - log_softmax(z)))


def focal(target, z):
    p = tf.exp(log_softmax(z))
    return -tf.reduce_sum(0.25 * (1 - p) ** 2 * target * log_softmax(z))


def softmax(z):
    return tf.exp(log_softmax(z))


@dataclasses.dataclass(frozen=True)
class Twin:
    """A compiled loss, and the loop's parts in terms of logits `z`."""

    loss: Any
    label: Any
    hard: Callable
    soft: Callable | None = None
    target: Callable = softmax
    activation: Any = "linear"


TWINS = {
    "sparse_logits": Twin(
        losses.SparseCategoricalCrossentropy(from_logits=True),
        ONE_HOT,
        categorical,
    ),
    "sparse_softmax": Twin(
        "crossentropy", ONE_HOT, categorical, activation="softmax"
    ),
    # Smoothing is for labels: a predicted target is taken as it is.
    "smoothed_logits": Twin(
        losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.2),
        ONE_HOT,
        smoothed,
        categorical,
    ),
    "divergence": Twin("kld", DISTRIBUTION, divergence, activation="softmax"),
    "focal": Twin(
        losses.CategoricalFocalCrossentropy(),
        ONE_HOT,
        focal,
        activation="softmax",
    ),
    "binary_logits": Twin(
        losses.BinaryCrossentropy(from_logits=True),
        BITS,
        binary,
        target=tf.sigmoid,
    ),
    "binary_sigmoid": Twin(
        "binary_crossentropy",
        BITS,
        binary,
        target=tf.sigmoid,
        activation="sigmoid",
    ),
    "huber": Twin(losses.Huber(delta=0.5), VALUES, huber, target=tf.identity),
}
SPARSE = ("sparse_logits", "sparse_softmax")


def loop_step(twin, objective, kernel=KERNEL, x=X):
    """Mean of `R` over the groups and its gradient, view by view, float64."""
    x, kernel = tf.constant(x, "float64"), tf.Variable(kernel, dtype="float64")
    lambda_p = objective.lambda_p
    with tf.GradientTape() as tape:
        total = 0.0
        for group, label in zip(x, twin.label.astype("float64"), strict=True):
            logits = [
                tf.linalg.matvec(kernel, v, transpose_a=True) for v in group
            ]
            target = twin.target(logits[0])
            if objective.stop_gradient:
                target = tf.stop_gradient(target)
            loss = twin.soft or twin.hard
            soft = tf.stack([loss(target, z) for z in logits[1:]])
            worst = lambda_p * tf.math.log(
                tf.reduce_mean(tf.exp(soft / lambda_p))
            )
            total += twin.hard(label, logits[0]) + objective.lambda_t * worst
        total /= len(x)
    return total.numpy(), tape.gradient(total, kernel).numpy()


def model_for(twin, kernel=KERNEL):
    dense = layers.Dense(OUTPUTS, use_bias=False)
    model = keras.Sequential(
        [keras.Input((FEATURES,)), dense, layers.Activation(twin.activation)]
    )
    dense.set_weights([kernel])
    return model


def assert_step_as_in_the_loop(
    twin, objective, label, kernel=KERNEL, x=X, **settings
):
    model = model_for(twin, kernel)
    mmel = keras_mmel.MMELModel(
        model, objective, soft_loss=settings.pop("soft_loss", None)
    )
    mmel.compile(keras.optimizers.SGD(1.0), twin.loss, **settings)
    log = mmel.fit({"views": x}, label, verbose=0).history
    value, gradient = loop_step(twin, objective, kernel, x)
    np.testing.assert_allclose(log["loss"], value, rtol=2e-6)
    size = np.abs(gradient).max()
    assert size > 1e-2
    np.testing.assert_allclose(
        model.get_weights()[0], kernel - gradient, rtol=1e-6, atol=2e-6 * size
    )


@pytest.mark.parametrize("stop_gradient", [True, False])
@pytest.mark.parametrize("name", TWINS)
def test_a_soft_step_is_the_loop_written_out(name, stop_gradient):
    twin = TWINS[name]
    objective = objectives.Soft(0.7, lambda_t=1.5, stop_gradient=stop_gradient)
    assert_step_as_in_the_loop(
        twin,
        objective,
        CLASS if name in SPARSE else twin.label,
        run_eagerly=not (stop_gradient and name in SPARSE),
    )


def test_stopping_the_gradient_matters():
    stopped, flowing = (
        loop_step(TWINS["sparse_logits"], objectives.Soft(stop_gradient=stop))
        for stop in (True, False)
    )
    assert stopped[0] == flowing[0]
    assert np.abs(stopped[1] - flowing[1]).max() > 1e-2


@pytest.mark.parametrize(
    "eagerly, activation",
    [
        pytest.param(True, "softmax", id="eager"),
        pytest.param(False, "softmax", id="graph"),
        # Keras finds its logits in the graph alone.
        pytest.param(False, tf.nn.softmax, id="operation"),
    ],
)
@pytest.mark.parametrize("stop_gradient", [True, False])
def test_very_wrong_softmax_views_keep_their_gradient(
    eagerly, activation, stop_gradient
):
    # Or the originals too.
    label = (CLASS + stop_gradient) % 3
    twin = dataclasses.replace(
        TWINS["sparse_softmax"],
        activation=activation,
        label=np.eye(3, dtype="float32")[label],
    )
    kernel = np.float32(
        [[30, 0, 0], [0, 30, 0], [0, 0, 30], [1, 2, 0], [0, 1, 2]]
    )
    # One view in each group is 30 away from the original's class.
    x = np.zeros((BATCH, VIEWS, FEATURES), "float32")
    for i, originals in enumerate(CLASS):
        x[i, 0, originals] = x[i, 1, originals] = 1
        x[i, 2, (originals + 1) % 3] = 1
        x[i, :, 3:] = 0.1 * X[i, :, 3:]
    objective = objectives.Soft(10.0, stop_gradient=stop_gradient)
    assert loop_step(twin, objective, kernel, x)[0] > 16
    assert_step_as_in_the_loop(
        twin, objective, label, kernel, x, run_eagerly=eagerly
    )


# `soft_loss=`


def own_loss(y_true, y_pred):
    return ops.mean((y_true - y_pred) ** 4, axis=-1)


def test_a_given_soft_loss_takes_the_place_of_a_missing_twin():
    """The target is the output as it is; the original keeps its own loss."""
    quartic = Twin(
        own_loss,
        VALUES,
        lambda target, z: tf.reduce_mean((target - z) ** 4),
        lambda target, z: tf.reduce_mean(tf.abs(target - z)),
        tf.identity,
    )
    for soft_loss in (
        "mae",
        losses.MeanAbsoluteError(),
        lambda target, y_pred: ops.mean(ops.abs(target - y_pred), axis=-1),
    ):
        assert_step_as_in_the_loop(
            quartic,
            objectives.Soft(0.7, stop_gradient=False),
            VALUES,
            soft_loss=soft_loss,
            run_eagerly=True,
        )


def test_a_given_soft_loss_takes_the_place_of_a_known_twin():
    """The target stays the predicted distribution, from the logits."""

    def reversed_divergence(target, y_pred):
        logs = ops.log_softmax(y_pred)
        return ops.sum(ops.exp(logs) * (logs - ops.log(target)), axis=-1)

    twin = dataclasses.replace(
        TWINS["sparse_logits"],
        soft=lambda target, z: tf.reduce_sum(
            softmax(z) * (log_softmax(z) - tf.math.log(target))
        ),
    )
    assert_step_as_in_the_loop(
        twin,
        objectives.Soft(0.7),
        CLASS,
        soft_loss=reversed_divergence,
        run_eagerly=True,
    )
