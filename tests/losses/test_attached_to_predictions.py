"""What Keras attaches to predictions survives: logits and masks."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_mmel
from keras_mmel.losses import per_view
from tests.plain_fit import assert_same_step

layers = keras.layers
losses = keras.losses

# Softmax outputs keep their logits

LOGIT = 41.6


def wrong_model(head):
    """Puts all probability on the class of the only input that is 1."""

    def make():
        dense = layers.Dense(3, use_bias=False)
        model = keras.Sequential([keras.Input((3,)), dense, head()])
        dense.set_weights([LOGIT * np.eye(3, dtype="float32")])
        return model

    return make


def functional_softmax():
    inputs = keras.Input((3,))
    return keras.Model(inputs, layers.Activation("softmax")(inputs))


SPARSE = "sparse_categorical_crossentropy"
HEADS = {
    "layer": (layers.Softmax, SPARSE),
    "activation": (lambda: layers.Activation("softmax"), SPARSE),
    "nested_sequential": (
        lambda: keras.Sequential([keras.Input((3,)), layers.Softmax()]),
        SPARSE,
    ),
    "nested_functional": (functional_softmax, SPARSE),
    "one_hot": (layers.Softmax, "categorical_crossentropy"),
    "sigmoid": (lambda: layers.Activation("sigmoid"), "binary_crossentropy"),
}


@pytest.mark.parametrize("eagerly", [True, False], ids=["eager", "graph"])
@pytest.mark.parametrize("name", HEADS)
def test_very_wrong_probabilities_train_as_plain_keras(name, eagerly):
    head, loss = HEADS[name]
    label = np.array([1, 2, 2])
    x = one_hot = np.eye(3, dtype="float32")
    y = label if loss == SPARSE else one_hot[label]
    log = assert_same_step(
        wrong_model(head), x, y, loss=loss, run_eagerly=eagerly
    )
    if name != "sigmoid":
        # Two of three are wrong by all of it; clipping would give 16.1.
        np.testing.assert_allclose(log["loss"], LOGIT * 2 / 3, rtol=1e-6)


@pytest.mark.parametrize("eagerly", [True, False], ids=["eager", "graph"])
def test_very_wrong_views_train_as_their_logits(eagerly):
    rng = np.random.default_rng(2)
    views = np.eye(3)[[[0, 1, 2], [1, 1, 0]]] + rng.normal(0, 0.1, (2, 3, 3))

    def step(head):
        model = wrong_model(head)()
        mmel = keras_mmel.MMELModel(model, keras_mmel.objectives.Hard(20.0))
        loss = losses.SparseCategoricalCrossentropy(
            from_logits=head is layers.Identity
        )
        mmel.compile(keras.optimizers.SGD(1.0), loss, run_eagerly=eagerly)
        log = mmel.train_on_batch(
            {"views": np.float32(views)}, np.array([1, 2]), return_dict=True
        )
        return [log["loss"], log["original_loss"]], model.get_weights()[0]

    log, kernel = step(layers.Softmax)
    expected, moved = step(layers.Identity)
    np.testing.assert_allclose(log, expected, rtol=1e-6)
    # Clipping would give at most 16.1.
    assert expected[0] > 20
    np.testing.assert_allclose(kernel, moved, rtol=1e-5, atol=1e-6)


# Masks

REDUCTIONS = ["sum_over_batch_size", "sum", "mean_with_sample_weight", None]
TOKENS = np.int32([[3, 1, 0, 0], [1, 2, 4, 1], [2, 0, 0, 0]])


def token_model():
    return keras.Sequential(
        [
            keras.Input((4,), dtype="int32"),
            layers.Embedding(5, 6, mask_zero=True),
            layers.Dense(3, activation="softmax"),
        ]
    )


def series_model():
    return keras.Sequential(
        [keras.Input((4, 2)), layers.Masking(), layers.Dense(1)]
    )


def series():
    values = np.random.default_rng(3).normal(size=(3, 4, 2))
    return np.float32(values * (TOKENS > 0)[..., None])


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weight", [None, np.float32([[0.5], [2.0], [1.5]])])
def test_masked_tokens_train_as_plain_keras(reduction, weight):
    assert_same_step(
        token_model,
        TOKENS,
        TOKENS % 3,
        loss=losses.SparseCategoricalCrossentropy(reduction=reduction),
        sample_weight=weight,
        run_eagerly=reduction != "sum_over_batch_size",
    )


def test_a_masked_series_trains_as_plain_fit():
    assert_same_step(series_model, series(), series()[..., :1] + 1, loss="mse")


def test_a_mask_of_the_model_and_one_of_the_loss_are_both_honoured():
    log = assert_same_step(
        token_model,
        TOKENS,
        TOKENS % 3,
        loss=losses.SparseCategoricalCrossentropy(ignore_class=1),
        run_eagerly=True,
    )
    # Without any mask the loss is another one.
    plain = token_model()
    plain.compile(loss="sparse_categorical_crossentropy")
    assert abs(log["loss"] - plain.evaluate(TOKENS, TOKENS % 3)) > 1e-3


def test_the_original_loss_of_masked_views_is_the_loss_of_the_originals():
    model = token_model()
    mmel = keras_mmel.MMELModel(model, "hard")
    mmel.compile(keras.optimizers.SGD(0.0), "crossentropy")
    longer = np.int32([[3, 1, 2, 2], [1, 2, 4, 1], [2, 1, 1, 0]])
    log = mmel.fit(
        {"views": np.stack([TOKENS, longer], 1)}, TOKENS % 3, verbose=0
    ).history
    np.testing.assert_allclose(
        log["original_loss"][0],
        mmel.evaluate(TOKENS, TOKENS % 3, verbose=0),
        rtol=1e-5,
    )


def test_what_a_mask_keeps_of_the_original_weighs_its_group():
    mmel = keras_mmel.MMELModel(token_model(), "hard")
    loss = losses.SparseCategoricalCrossentropy(
        reduction="mean_with_sample_weight"
    )
    mmel.compile(keras.optimizers.SGD(0.0), loss)
    longer = np.int32([[3, 1, 2, 2], [1, 2, 4, 1], [2, 1, 1, 0]])
    views, weight = np.stack([TOKENS, longer], 1), np.float32([[0.5], [2], [1]])
    given = {"sample_weight": weight, "verbose": 0}
    log = mmel.fit({"views": views}, TOKENS % 3, **given).history
    np.testing.assert_allclose(
        log["original_loss"][0],
        mmel.evaluate(TOKENS, TOKENS % 3, **given),
        rtol=1e-5,
    )


def test_a_row_that_is_masked_out_has_no_loss_and_no_gradient():
    label = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    prediction = tf.Variable([[0.0, 0.0], [np.nan, np.inf]])
    with tf.GradientTape() as tape:
        masked = tf.identity(prediction)
        masked._keras_mask = tf.constant([True, False])
        values = per_view.rows(losses.MeanSquaredError(), label, masked).losses
    # One of two is left, and the batch's mean is over what is left.
    np.testing.assert_allclose(values, [5.0, 0.0], rtol=1e-6)
    gradient = tape.gradient(values, prediction).numpy()
    np.testing.assert_allclose(gradient[0], [-2.0, -4.0], rtol=1e-6)
