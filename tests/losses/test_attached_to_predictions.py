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


# Views of 4, 3, 2 and 1 tokens of one kind, and views of all kinds.
ONE_KIND = np.int32([[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]])
ALL_KINDS = np.int32([[2, 3, 4, 0], [3, 0, 0, 0], [4, 4, 1, 2], [1, 2, 0, 0]])


def test_views_of_other_lengths_that_are_as_hard_weigh_alike():
    mmel = keras_mmel.MMELModel(token_model(), "hard")
    mmel.compile("sgd", "sparse_categorical_crossentropy")
    for others in (ONE_KIND, ALL_KINDS, ALL_KINDS[::-1]):
        groups = {"views": np.stack([ONE_KIND, others])}
        weights = mmel.view_weights(groups, np.zeros((2, 4), "int32"))
        np.testing.assert_allclose(weights[0], [0.25] * 4, rtol=1e-5)


def loop_over_tokens(model, groups, label, sample_weight, objective):
    """The loss of a batch and its gradient, a token at a time.

    `loss`, and `value` whose gradient is that of equation 7.
    """
    with tf.GradientTape() as tape:
        predictions = model(groups.reshape(-1, 4))
        numbers = tf.reshape(predictions, (*groups.shape, 3))
        value = loss = size = 0.0
        for i, views in enumerate(groups):
            of_views = [
                tf.reduce_mean(
                    [
                        -tf.math.log(numbers[i, j, t, label[i, t]])
                        for t in np.flatnonzero(view)
                    ]
                )
                for j, view in enumerate(views)
            ]
            left, k = np.count_nonzero(views[0]), len(views)
            scaled = np.exp([float(one) / 0.5 for one in of_views])
            p = scaled / scaled.sum()
            if objective == "uniform":
                p[:] = 1 / k
            expected = tf.reduce_sum(p.astype("float32") * tf.stack(of_views))
            value += sample_weight[i] * left * expected
            penalty = 0.5 * np.sum(p * np.log(k * p))
            loss += sample_weight[i] * left * (float(expected) - penalty)
            size += left
        value /= size
    return loss / size, tape.gradient(value, model.trainable_weights)


@pytest.mark.parametrize("objective", ["hard", "uniform"])
def test_masked_groups_equal_a_loop_over_tokens(objective):
    model, label = token_model(), np.array([[0, 1, 2, 1], [2, 1, 0, 0]])
    groups = np.stack([ONE_KIND[1:], ALL_KINDS[:3]])
    weight = np.float32([0.5, 1.5])
    chosen = keras_mmel.objectives.Hard(0.5)
    mmel = keras_mmel.MMELModel(
        model, chosen if objective == "hard" else objective
    )
    mmel.compile(keras.optimizers.SGD(1.0), "sparse_categorical_crossentropy")
    expected, gradients = loop_over_tokens(
        model, groups, label, weight, objective
    )
    before = model.get_weights()
    log = mmel.train_on_batch(
        {"views": groups}, label, sample_weight=weight, return_dict=True
    )
    np.testing.assert_allclose(log["loss"], expected, rtol=1e-5)
    for old, new, gradient in zip(
        before, model.get_weights(), gradients, strict=True
    ):
        gradient = tf.convert_to_tensor(gradient)
        np.testing.assert_allclose(old - new, gradient, rtol=1e-4, atol=1e-6)


def test_scores_of_masked_views_are_means_over_their_own_tokens():
    model = token_model()
    model.compile(loss="sparse_categorical_crossentropy")
    groups, label = np.stack([ONE_KIND, ALL_KINDS]), ALL_KINDS[:2] % 3
    scores = keras_mmel.evaluate_views(model, {"views": groups}, label)
    plain = model.evaluate(groups[:, 0], label, verbose=0)
    np.testing.assert_allclose(scores["original_loss"], plain, rtol=1e-5)
    numbers = model.predict(groups.reshape(-1, 4), verbose=0)
    nll = -np.log(numbers.reshape(2, 4, 4, 3))
    own = [
        [nll[i, j, range(n), label[i, :n]].mean() for j, n in enumerate(row)]
        for i, row in enumerate(np.count_nonzero(groups, axis=2))
    ]
    # Of 4 and of 3 tokens are the originals.
    for name, of_views in (("mean", np.mean), ("worst", np.max)):
        score = np.average(of_views(own, axis=1), weights=[4, 3])
        np.testing.assert_allclose(scores[f"{name}_loss"], score, rtol=1e-5)


@pytest.mark.parametrize("batch_size", [4, 2])
def test_weighted_metrics_of_masked_tokens_are_those_of_a_loop(batch_size):
    """Of as many examples as tokens Keras itself makes another number."""
    model, weight = token_model(), np.float32([0, 1, 2, 0.5])
    mmel = keras_mmel.MMELModel(model)
    mmel.compile(
        keras.optimizers.SGD(0.0),
        "sparse_categorical_crossentropy",
        weighted_metrics=["accuracy"],
    )
    tokens, label = ONE_KIND[:, ::-1].copy(), ALL_KINDS % 3
    tokens[:, 0], tokens[1] = 2, ALL_KINDS[1]
    groups = {"views": np.stack([tokens, ALL_KINDS], 1)}
    log = mmel.fit(
        groups,
        label,
        sample_weight=weight,
        batch_size=batch_size,
        shuffle=False,
        verbose=0,
    ).history
    right = model.predict(tokens, verbose=0).argmax(-1) == label
    counted = (tokens > 0) * weight[:, None]
    expected = np.sum(right * counted) / np.sum(counted)
    np.testing.assert_allclose(log["accuracy"][0], expected, rtol=1e-6)


def test_masks_of_two_outputs_count_by_output():
    def make_model():
        tokens = keras.Input((4,), dtype="int32")
        embedded = layers.Embedding(5, 6, mask_zero=True)(tokens)
        mean = layers.GlobalAveragePooling1D()(embedded)
        outputs = {
            "tokens": layers.Dense(3, activation="softmax")(embedded),
            "text": layers.Dense(2)(mean),
        }
        return keras.Model(tokens, outputs)

    assert_same_step(
        make_model,
        TOKENS,
        {"tokens": TOKENS % 3, "text": np.float32(TOKENS[:, :2])},
        loss={"tokens": "sparse_categorical_crossentropy", "text": "mse"},
        rate=0.1,
    )


def test_a_row_that_is_masked_out_has_no_loss_and_no_gradient():
    label = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    prediction = tf.Variable([[0.0, 0.0], [np.nan, np.inf]])
    with tf.GradientTape() as tape:
        masked = tf.identity(prediction)
        masked._keras_mask = tf.constant([True, False])
        values = per_view.rows(losses.MeanSquaredError(), label, masked).losses
    np.testing.assert_allclose(values, [2.5, 0.0], rtol=1e-6)
    gradient = tape.gradient(values, prediction).numpy()
    np.testing.assert_allclose(gradient[0], [-1.0, -2.0], rtol=1e-6)
