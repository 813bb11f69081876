"""Kinds of models: each against the reference and against plain `fit`."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose

import keras_mmel
from tests.mmel_model import registry
from tests.mmel_model.compare import BATCH
from tests.mmel_model.compare import CLASSES
from tests.mmel_model.compare import FEATURES
from tests.mmel_model.compare import VIEWS
from tests.mmel_model.compare import assert_same_weights
from tests.mmel_model.compare import batches
from tests.mmel_model.compare import compare
from tests.mmel_model.compare import compare_with_plain_fit
from tests.mmel_model.compare import crossentropy
from tests.mmel_model.compare import sgd

KINDS = pytest.mark.parametrize(
    ("name", "objective"),
    [
        ("functional", "hard"),
        ("functional", "soft"),
        ("subclassed", "hard"),
        ("subclassed", "soft"),
        ("convolutional", "hard"),
        ("convolutional", "soft"),
        ("bert", "soft"),
    ],
)


def kind_batches(name, count=2):
    rng = np.random.default_rng(0)
    return [
        (
            {"views": registry.KINDS[name].inputs(rng, (BATCH, VIEWS))},
            rng.integers(0, CLASSES, BATCH),
        )
        for _ in range(count)
    ]


def builder(name):
    def build():
        keras.utils.set_random_seed(1)
        model = registry.KINDS[name].build()
        if not model.built:
            model.build((None, FEATURES))
        return model

    return build


def call_without_training(model, flat):
    """As Keras runs a model whose `call` does not take `training`."""
    return model(flat)


@KINDS
def test_kind_of_model(name, objective):
    compare(
        kind_batches(name),
        objective,
        build=builder(name),
        lambda_p=0.5,
        call=call_without_training if name == "subclassed" else None,
    )


@pytest.mark.parametrize(
    "name", [kind for kind in registry.KINDS if kind != "bert"]
)
def test_one_view_equals_plain_fit(name):
    rng = np.random.default_rng(0)
    x = registry.KINDS[name].inputs(rng, (8,))
    y = rng.integers(0, CLASSES, 8)
    compare_with_plain_fit(
        builder(name), x, y, compile={"metrics": ["accuracy"]}, batch_size=3
    )


def test_backbone_inside_a_functional_model():
    def build():
        keras.utils.set_random_seed(1)
        backbone = registry.bert().backbone
        pooled = backbone(backbone.input)["pooled_output"]
        return keras.Model(backbone.input, keras.layers.Dense(CLASSES)(pooled))

    compare(kind_batches("bert", 1), "hard", build=build, lambda_p=0.5)


class OwnTraining(keras.Model):
    """Takes `training` and does something of its own with it."""

    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(CLASSES)

    def build(self, input_shape):
        self.dense.build(input_shape)

    def call(self, inputs, training=False):
        return self.dense(inputs if training else 0 * inputs)


def test_subclassed_with_training_argument():
    def build():
        keras.utils.set_random_seed(1)
        model = OwnTraining()
        model.build((None, FEATURES))
        return model

    compare(batches(), "hard", build=build)


class Recorder(keras.layers.Layer):
    """Counts its calls and the rows of the calls in training mode."""

    def build(self, _):
        zeros = {"shape": (), "initializer": "zeros", "trainable": False}
        self.calls = self.add_weight(name="calls", **zeros)
        self.rows = self.add_weight(name="rows", **zeros)

    def call(self, inputs, training=False):
        if training:
            self.calls.assign_add(1.0)
            self.rows.assign_add(float(BATCH * VIEWS))
            tf.debugging.assert_equal(tf.shape(inputs)[0], BATCH * VIEWS)
        return inputs


@pytest.mark.parametrize("eagerly", [False, True], ids=["graph", "eager"])
@pytest.mark.parametrize("objective", ["hard", "soft"])
def test_one_training_call_a_step(objective, eagerly):
    recorder = Recorder()
    model = keras.Sequential(
        [
            keras.Input((FEATURES,)),
            recorder,
            keras.layers.Dense(CLASSES),
        ]
    )
    mmel = keras_mmel.MMELModel(model, objective)
    mmel.compile(sgd(), crossentropy(), run_eagerly=eagerly)
    for x, y in batches(3):
        mmel.train_on_batch(x, y)
    assert float(recorder.calls) == 3


def normalized(dropout=0.0):
    def build():
        keras.utils.set_random_seed(1)
        return keras.Sequential(
            [
                keras.Input((FEATURES,)),
                keras.layers.BatchNormalization(momentum=0.8),
                keras.layers.Dropout(dropout),
                keras.layers.Dense(8, activation="relu"),
                keras.layers.BatchNormalization(momentum=0.9),
                keras.layers.Dropout(dropout),
                keras.layers.Dense(CLASSES),
            ]
        )

    return build


@pytest.mark.parametrize("objective", ["hard", "soft", "uniform"])
def test_batch_normalization_and_dropout(objective):
    compare(batches(), objective, build=normalized(0.4), lambda_p=0.5)


def test_moving_statistics_are_those_of_all_views():
    mmel = keras_mmel.MMELModel(normalized(0.4)(), "hard")
    mmel.compile(sgd(), crossentropy())
    layer = mmel.model.layers[0]
    mean, variance = np.zeros(FEATURES), np.ones(FEATURES)
    for x, y in batches():
        mmel.train_on_batch(x, y)
        rows = x["views"].reshape(-1, FEATURES).astype("float64")
        mean = 0.8 * mean + 0.2 * rows.mean(axis=0)
        variance = 0.8 * variance + 0.2 * rows.var(axis=0)
    assert_allclose(layer.moving_mean.numpy(), mean, 1e-5, 1e-6)
    assert_allclose(layer.moving_variance.numpy(), variance, 1e-5)


def test_dropout_differs_between_views():
    model = keras.Sequential([keras.Input((200,)), keras.layers.Dropout(0.5)])
    mmel = keras_mmel.MMELModel(model)
    rows = mmel({"views": np.ones((2, 3, 200))}, training=True).numpy()
    assert rows.shape == (6, 200)
    assert len({tuple(row) for row in rows}) == 6


@pytest.mark.parametrize("objective", ["hard", "uniform"])
def test_identical_views_equal_one_view(objective):
    def build():
        keras.utils.set_random_seed(1)
        return keras.Sequential(
            [
                keras.Input((FEATURES,)),
                keras.layers.Dense(8, kernel_regularizer="l2"),
                keras.layers.BatchNormalization(),
                keras.layers.Activation("relu", activity_regularizer="l1"),
                keras.layers.Dense(CLASSES),
            ]
        )

    one = batches(views=1)
    trained, logs = [], []
    for copies in (1, 6):
        mmel = keras_mmel.MMELModel(build(), objective)
        mmel.compile(sgd(), crossentropy())
        for x, y in one:
            views = np.repeat(x["views"], copies, axis=1)
            log = mmel.train_on_batch({"views": views}, y, return_dict=True)
        trained.append(mmel.model)
        logs.append(log)
    assert_same_weights(trained[1], trained[0])
    for key in ("loss", "original_loss"):
        assert_allclose(logs[1][key], logs[0][key], 1e-5)
    assert_allclose(logs[1]["effective_views"], 6, 1e-5)
    assert_allclose(logs[0]["effective_views"], 1, 1e-5)


class AddsLoss(keras.layers.Layer):
    def call(self, inputs):
        self.add_loss(0.1 * keras.ops.mean(keras.ops.square(inputs)))
        return inputs


REGULARIZED = {
    "add_loss": lambda: [AddsLoss()],
    "activity": lambda: [keras.layers.ActivityRegularization(l1=0.02, l2=0.03)],
    "kernel": lambda: [
        keras.layers.Dense(
            6, kernel_regularizer=keras.regularizers.L1L2(0.01, 0.02)
        )
    ],
}


@pytest.mark.parametrize("name", list(REGULARIZED))
def test_additional_losses(name):
    def build():
        keras.utils.set_random_seed(1)
        return keras.Sequential(
            [
                keras.Input((FEATURES,)),
                keras.layers.Dense(8, activation="tanh"),
                *REGULARIZED[name](),
                keras.layers.Dense(CLASSES),
            ]
        )

    compare(batches(), "soft", build=build, lambda_p=0.5)
