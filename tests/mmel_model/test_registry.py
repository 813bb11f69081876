"""One life that every variant of training has to go through."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose
from numpy.testing import assert_array_equal

from tests.mmel_model import registry

# Keras 3.15 hands variables to `numpy.array`, which NumPy 2 complains about.
pytestmark = pytest.mark.filterwarnings(
    "ignore:__array__ implementation doesn't accept a copy:DeprecationWarning"
)

VARIANTS = [
    *registry.VARIANTS,
    *(
        pytest.param(variant, marks=pytest.mark.slow)
        for variant in registry.every_variant()
    ),
]
KEYS = {"loss", "original_loss", "effective_views"}


def fit(mmel, data, epochs=2):
    return mmel.fit(data, epochs=epochs, verbose=0, shuffle=False).history


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_life(variant, tmp_path):
    mmel, data = variant.compiled(), variant.groups()
    metric = variant.compile_arguments["metrics"][0]

    # Train.
    first = fit(mmel, data, epochs=3)
    assert set(first) == KEYS | {metric}
    assert np.all(np.isfinite(list(first.values())))
    assert first["loss"][-1] < first["loss"][0]
    check_effective_views(variant, first["effective_views"])

    # Save, train again, resume: equal to the run without a break.
    mmel.save(tmp_path / "model.keras")
    before = [weight.numpy() for weight in mmel.trainable_weights]
    uninterrupted = fit(mmel, data)
    for weight, old in zip(mmel.trainable_weights, before, strict=True):
        assert np.any(weight.numpy() != old), weight.path
    resumed = keras.saving.load_model(tmp_path / "model.keras")
    assert fit(resumed, data) == uninterrupted
    assert len(resumed.optimizer.variables) == len(mmel.optimizer.variables)
    for got, wanted in zip(resumed.variables, mmel.variables, strict=True):
        assert_array_equal(got, wanted, err_msg=wanted.path)
    for got, wanted in zip(
        resumed.optimizer.variables, mmel.optimizer.variables, strict=True
    ):
        assert_array_equal(got, wanted, err_msg=wanted.path)

    # Evaluate and predict plain examples, like the wrapped model.
    accuracy = 1e-5 if variant.precision == "float32" else 2e-2
    x, y = variant.examples()
    predictions = mmel.predict(x, batch_size=2, verbose=0)
    expected = mmel.model(tf.nest.map_structure(tf.constant, x))
    assert_allclose(predictions, expected, accuracy, accuracy)
    scores = mmel.evaluate(x, y, batch_size=2, verbose=0, return_dict=True)
    wanted = expected_scores(variant, predictions.astype("float64"), y)
    assert set(scores) == {"loss", metric}
    assert_allclose([scores["loss"], scores[metric]], wanted, accuracy)

    # Export: any number of plain examples.
    mmel.export(tmp_path / "exported", verbose=False)
    exported = tf.saved_model.load(tmp_path / "exported")
    one = tf.nest.map_structure(lambda leaf: leaf[:1], x)
    for rows in (one, x):
        count = len(tf.nest.flatten(rows)[0])
        served = exported.serve(rows)
        assert_allclose(served, predictions[:count], accuracy, accuracy)


def expected_scores(variant, predictions, y):
    """Loss and metric of the plain examples, in NumPy."""
    if variant.goal.regression:
        errors = predictions - y
        return np.mean(errors**2), np.mean(np.abs(errors))
    normalizers = np.log(np.sum(np.exp(predictions), axis=1))
    losses = normalizers - predictions[np.arange(len(y)), y]
    return np.mean(losses), np.mean(np.argmax(predictions, axis=1) == y)


def check_effective_views(variant, values):
    """Between 1 and the number of views that share the weight."""
    views = registry.VIEWS - ("soft" in variant.goal_name)
    assert np.all(np.array(values) >= 1 - 1e-6)
    assert np.all(np.array(values) <= views + 1e-5)
    if variant.goal_name == "uniform":
        assert_allclose(values, registry.VIEWS, 1e-6)
    elif variant.goal_name == "hard-maximum":
        assert_allclose(values, 1, 1e-6)
    else:
        assert np.all(np.array(values) < views)


def test_the_variants_cover_the_registry():
    listed = registry.VARIANTS
    assert {variant.goal_name for variant in listed} == set(registry.GOALS)
    assert {variant.kind_name for variant in listed} == set(registry.KINDS)
    precisions = {variant.precision for variant in listed}
    assert precisions == set(registry.PRECISIONS)
    total = len(registry.GOALS) * len(registry.KINDS)
    assert len(VARIANTS) == total * len(registry.PRECISIONS)
