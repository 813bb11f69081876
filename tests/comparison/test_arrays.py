"""A comparison on arrays of groups, also where there is no TensorFlow."""

import importlib.util
import json

import keras
import numpy as np
import pytest
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
    assert plain_arrays({"views": x}, y, None, seed=0)[2] is None


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
        options = {"batch_size": size, "epochs": 2, "verbose": 0}
        fitted.fit(views, labels, sample_weight=weights, **options)
        values = keras_mmel.evaluate_views(model, x, y)
        for name in ("original_loss", "worst_loss", "worst_accuracy"):
            one = found[method][f"groups_{name}"]
            assert_allclose(one, values[name], rtol=1e-4)
