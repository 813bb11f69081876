"""A comparison on arrays of groups, also where there is no TensorFlow."""

import importlib.util
import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose

import keras_mmel
from keras_mmel.comparison.methods import plain_arrays
from tests.scripts import without_tensorflow
from tests.scripts.child import run

WAY = "this needs the library 'tensorflow'; install it with `pip install "


def test_plain_arrays_are_all_real_views():
    rng = np.random.default_rng(1)
    x = {"a": rng.normal(size=(5, 3, 2)), "b": rng.integers(0, 9, (5, 3))}
    mask = np.arange(3) < np.array([1, 2, 3, 3, 2])[:, None]
    y, weight = rng.normal(size=(5, 2)), rng.random(5)
    for given in ({"views": x}, {"views": x, "mask": mask}):
        views, labels, weights = plain_arrays(given, y, weight, seed=0)
        # With weights, groups of one.
        views = {name: value[:, 0] for name, value in views["views"].items()}
        for row in range(15):
            group, place = divmod(row, 3)
            assert labels[row].tolist() == y[group].tolist()
            assert weights[row] == weight[group]
            real = [
                j
                for j in range(3)
                if (views["a"][row] == x["a"][group, j]).all()
                and views["b"][row] == x["b"][group, j]
            ]
            if "mask" in given and not mask[group, place]:
                assert mask[group, real].all()
            else:
                assert real == [place]
    views, _, no_weight = plain_arrays({"views": x}, y, None, seed=0)
    assert no_weight is None and views["a"].shape == (15, 2)


def test_plain_arrays_have_the_labels_of_their_views():
    x = np.arange(12.0).reshape(2, 3, 2)
    y = {"a": x + 1, "b": np.arange(6).reshape(2, 3)}
    views, labels, _ = plain_arrays({"views": x}, {"views": y}, None, seed=0)
    np.testing.assert_array_equal(labels["a"], views + 1)
    np.testing.assert_array_equal(labels["b"], views[:, 0] // 2)


def test_no_weights_may_be_said():
    x, y, _ = without_tensorflow.data(examples=8)
    found = keras_mmel.compare(
        without_tensorflow.make_model,
        lambda seed: (x, y, None),
        (x, y),
        "uniform",
        1,
        verbose=False,
    )
    assert found.methods == ["uniform", "plain"]


@pytest.mark.parametrize("as_dataset", [False, True])
def test_plain_losses_of_pixels_are_weighted_by_examples(as_dataset):
    """All views are alike: then `plain` is `uniform`, and a loop says so."""
    rng = np.random.default_rng(0)
    image = rng.random((2, 1, 4, 4, 1), "float32").repeat(2, 1)
    labels = rng.integers(0, 3, (2, 1, 4, 4)).repeat(2, 1)
    data = {"views": image}, {"views": labels}, np.float32([0, 2])

    def make_model():
        model = keras.Sequential(
            [keras.Input((4, 4, 1)), keras.layers.Conv2D(3, 1)]
        )
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.SGD(1.0), loss)
        return model

    def groups(seed):
        return tf.data.Dataset.from_tensors(data) if as_dataset else data

    found = keras_mmel.compare(
        make_model, groups, data[:2], "uniform", 1, verbose=False
    )
    plain, uniform = (
        found.values(method, "original_loss") for method in ("plain", "uniform")
    )
    assert_allclose(plain, uniform, rtol=1e-5)
    # The mean over both examples, of which one counts twice and one nothing.
    keras.utils.set_random_seed(0)
    model = make_model()
    with tf.GradientTape() as tape:
        logits = model(image[1, :1])
        values = keras.losses.sparse_categorical_crossentropy(
            labels[1, :1], logits, from_logits=True
        )
        loss = keras.ops.mean(values)
    weights = model.trainable_weights
    model.optimizer.apply(tape.gradient(loss, weights), weights)
    scores = keras_mmel.evaluate_views(model, *data[:2])
    assert_allclose(plain, scores["original_loss"], rtol=1e-5)


@pytest.mark.slow
def test_without_tensorflow():
    """The lines that say what is missing, and a comparison on JAX."""
    if importlib.util.find_spec("jax") is None:
        pytest.skip("jax is not installed")
    environ = {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    output = run("without_tensorflow", **environ)
    found = json.loads(output.splitlines()[-1])
    answers = found["answers"]
    assert answers.pop("keras_mmel.text:Tokenizer") == "there"
    assert set(answers.values()) == {f"{WAY}tensorflow`"}
    scores = found["scores"]
    # One order of the examples for all methods.
    assert scores["again"] == scores["uniform"] != scores["hard"]
    assert scores["plain"].keys() == scores["hard"].keys()
    assert np.isfinite(list(scores["plain"].values())).all()


@pytest.mark.slow
def test_a_run_on_arrays_is_the_training_written_out():
    found = without_tensorflow.scores()
    assert found["again"] == found["uniform"]
    x, y, weight = without_tensorflow.data()
    for method in ("hard", "plain"):
        keras.utils.set_random_seed(0)
        size, given = 32, (x, y, weight)
        model = fitted = without_tensorflow.make_model()
        if method == "plain":
            size, given = 96, plain_arrays(x, y, weight, seed=0)
        else:
            fitted = keras_mmel.MMELModel(model, method)
            fitted.compile(model.optimizer, model.loss)
        views, labels, weights = given
        if method == "plain":
            views = views["views"][:, 0]  # as plain Keras takes them
        options = {"batch_size": size, "epochs": 2, "verbose": 0}
        fitted.fit(views, labels, sample_weight=weights, **options)
        values = keras_mmel.evaluate_views(model, x, y)
        for name in ("original_loss", "worst_loss", "worst_accuracy"):
            one = found[method][f"groups_{name}"]
            assert_allclose(one, values[name], rtol=1e-4)
