"""Steps on soft targets beside a loop that writes every logarithm out."""

import dataclasses
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import losses
from keras import ops

import keras_mmel
from keras_mmel.objectives import Soft
from tests.mmel_model.reference import log_softmax

BATCH, VIEWS, FEATURES, OUTPUTS = 4, 3, 5, 3
RNG = np.random.default_rng(5)
X = RNG.normal(size=(BATCH, VIEWS, FEATURES)).astype("float32")
KERNEL = RNG.normal(size=(FEATURES, OUTPUTS)).astype("float32")
CLASS = RNG.integers(0, OUTPUTS, BATCH)
ONE_HOT = np.eye(OUTPUTS, dtype="float32")[CLASS]
BITS = RNG.integers(0, 2, (BATCH, OUTPUTS)).astype("float32")
VALUES = RNG.normal(size=(BATCH, OUTPUTS)).astype("float32")


def softmax(z):
    return tf.exp(log_softmax(z))


def categorical(target, z):
    return -tf.reduce_sum(target * log_softmax(z))


def smoothed(target, z):
    return categorical(0.8 * target + 0.2 / OUTPUTS, z)


def focal(target, z):
    return -tf.reduce_sum(
        0.25 * (1 - softmax(z)) ** 2 * target * log_softmax(z)
    )


def binary(target, z):
    yes, no = (-tf.math.log1p(tf.exp(-side)) for side in (z, -z))
    return -tf.reduce_mean(target * yes + (1 - target) * no)


def quartic(target, z):
    return ops.mean((target - z) ** 4, axis=-1)


def absolute(target, z):
    return ops.mean(ops.abs(target - z), axis=-1)


@dataclasses.dataclass(frozen=True)
class Twin:
    """A compiled loss, and the loop's parts in terms of logits `z`."""

    loss: Any
    label: Any
    hard: Callable
    soft: Callable | None = None
    target: Callable = softmax
    activation: Any = "linear"
    soft_loss: Any = None


def reversed_divergence(target, y_pred):
    logs = ops.log_softmax(y_pred)
    return ops.sum(ops.exp(logs) * (logs - ops.log(target)), axis=-1)


SPARSE = losses.SparseCategoricalCrossentropy(from_logits=True)
SMOOTH = losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.2)
TWINS = {
    "sparse_logits": Twin(SPARSE, CLASS, categorical),
    "sparse_softmax": Twin(
        "crossentropy", CLASS, categorical, activation="softmax"
    ),
    # Smoothing is for labels: a predicted target is taken as it is.
    "smoothed_logits": Twin(SMOOTH, ONE_HOT, smoothed, categorical),
    "focal": Twin(
        losses.CategoricalFocalCrossentropy(),
        ONE_HOT,
        focal,
        activation="softmax",
    ),
    "binary_sigmoid": Twin(
        "binary_crossentropy",
        BITS,
        binary,
        target=tf.sigmoid,
        activation="sigmoid",
    ),
    # `soft_loss=` in place of a twin that is missing: the target is the output
    # as it is, and the original keeps its own loss.
    "given_for_missing": Twin(
        quartic, VALUES, quartic, absolute, tf.identity, soft_loss="mae"
    ),
    # In place of a known twin: the target stays the predicted distribution.
    "given_for_known": Twin(
        SPARSE,
        CLASS,
        categorical,
        reversed_divergence,
        soft_loss=reversed_divergence,
    ),
}


def loop_step(twin, objective, kernel=KERNEL, x=X):
    """Mean of `R` over the groups and its gradient, view by view, float64."""
    x, kernel = tf.constant(x, "float64"), tf.Variable(kernel, dtype="float64")
    labels = np.eye(OUTPUTS)[twin.label] if twin.label.ndim == 1 else twin.label
    lambda_p, loss = objective.lambda_p, twin.soft or twin.hard
    with tf.GradientTape() as tape:
        total = 0.0
        for group, label in zip(x, labels.astype("float64"), strict=True):
            logits = [
                tf.linalg.matvec(kernel, v, transpose_a=True) for v in group
            ]
            target = twin.target(logits[0])
            if objective.stop_gradient:
                target = tf.stop_gradient(target)
            soft = tf.stack([loss(target, z) for z in logits[1:]])
            worst = lambda_p * tf.math.log(
                tf.reduce_mean(tf.exp(soft / lambda_p))
            )
            total += twin.hard(label, logits[0]) + objective.lambda_t * worst
        total /= len(x)
    return total.numpy(), tape.gradient(total, kernel).numpy()


def assert_step_as_in_the_loop(twin, objective, kernel=KERNEL, x=X, **settings):
    dense = keras.layers.Dense(OUTPUTS, use_bias=False)
    activation = keras.layers.Activation(twin.activation)
    model = keras.Sequential([keras.Input((FEATURES,)), dense, activation])
    dense.set_weights([kernel])
    mmel = keras_mmel.MMELModel(model, objective, soft_loss=twin.soft_loss)
    mmel.compile(keras.optimizers.SGD(1.0), twin.loss, **settings)
    log = mmel.train_on_batch({"views": x}, twin.label, return_dict=True)
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
    objective = Soft(0.7, lambda_t=1.5, stop_gradient=stop_gradient)
    in_graph = stop_gradient and name.startswith("sparse")
    assert_step_as_in_the_loop(TWINS[name], objective, run_eagerly=not in_graph)


@pytest.mark.parametrize(
    ("eagerly", "activation"),
    [
        (True, "softmax"),
        (False, "softmax"),
        # Keras finds its logits in the graph alone.
        (False, tf.nn.softmax),
    ],
    ids=["eager", "graph", "operation"],
)
@pytest.mark.parametrize("stop_gradient", [True, False])
def test_very_wrong_softmax_views_keep_their_gradient(
    eagerly, activation, stop_gradient
):
    # Or the originals too.
    label = (CLASS + stop_gradient) % 3
    twin = Twin("crossentropy", label, categorical, activation=activation)
    kernel = np.float32(
        [[30, 0, 0], [0, 30, 0], [0, 0, 30], [1, 2, 0], [0, 1, 2]]
    )
    # One view in each group is 30 away from the original's class.
    x = np.zeros((BATCH, VIEWS, FEATURES), "float32")
    for i, originals in enumerate(CLASS):
        x[i, 0, originals] = x[i, 1, originals] = 1
        x[i, 2, (originals + 1) % 3] = 1
        x[i, :, 3:] = 0.1 * X[i, :, 3:]
    objective = Soft(10.0, stop_gradient=stop_gradient)
    assert loop_step(twin, objective, kernel, x)[0] > 16
    assert_step_as_in_the_loop(twin, objective, kernel, x, run_eagerly=eagerly)
