"""Views that JAX makes, against TensorFlow's and a loop in NumPy."""

import importlib.util

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose
from numpy.testing import assert_array_equal

from keras_mmel.data import turning

if importlib.util.find_spec("jax") is None:
    pytest.skip("jax is not installed", allow_module_level=True)

import jax

from experiments.gpu import views

KEY = jax.random.key(2)


def test_crops_equal_a_loop():
    images = np.arange(50 * 6 * 5 * 3).reshape(50, 6, 5, 3)
    # One program in place of one for each operation.
    draws, found = jax.jit(
        lambda key: (
            (draws := views.draw_crops(key, 50, padding=2)),
            views.crop(images, *draws, padding=2),
        )
    )(KEY)
    draws = [np.asarray(draw) for draw in draws]
    assert set(draws[0]) == set(draws[1]) == set(range(5))
    assert 10 < draws[2].sum() < 40
    for image, view, row, column, flip in zip(
        images, found, *draws, strict=True
    ):
        padded = np.zeros((10, 9, 3), int)
        padded[2:8, 2:7] = image
        expected = padded[row : row + 6, column : column + 5]
        assert_array_equal(view, expected[:, ::-1] if flip else expected)


def test_turns_equal_tensorflow():
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (20, 7, 6, 3), "uint8")
    draws, found = jax.jit(
        lambda key: (
            (draws := views.draw_turns(key, 20)),
            views.turn(images, *draws),
        )
    )(KEY)
    draws = [np.asarray(draw) for draw in draws]
    angles, down, right, flips = draws
    assert np.abs(angles).max() <= 60 and set(down) == {-1, 0, 1}
    mirrored = np.where(flips[:, None, None, None], images[:, :, ::-1], images)
    shifts = [tf.constant(d, tf.float32) for d in (angles, down, right)]
    expected = turning.turn(mirrored, *shifts)
    # Pixels of 255 whose places differ by a rounding.
    assert_allclose(found, expected, atol=2e-3)


@pytest.mark.slow
def test_angles_are_drawn_as_tensorflow_draws_them():
    found = np.abs(np.asarray(views.draw_turns(KEY, 20_000)[0]))
    keys = tf.cast(tf.range(20_000), tf.uint64)
    expected = np.abs(turning.draw_turns(keys, 60.0, 4.0, 1)[0])
    for share in (0.25, 0.5, 0.75, 0.9):
        bounds = np.quantile([found, expected], share, axis=1)
        assert_allclose(*bounds, atol=0.7)


@pytest.mark.parametrize(
    "name", ["crops", pytest.param("turns", marks=pytest.mark.slow)]
)
def test_groups_begin_with_the_original(name):
    images = np.random.default_rng(0).integers(0, 256, (4, 9, 9, 3), "uint8")
    augment = views.AUGMENTATIONS[name]
    of_key = jax.jit(lambda key: views.groups(images, key, 3, augment)["views"])
    found = np.asarray(of_key(KEY))
    assert found.shape == (4, 3, 9, 9, 3) and found.dtype == "uint8"
    assert_array_equal(found[:, 0], images)
    assert np.any(found[:, 1] != found[:, 2])
    # The key alone decides.
    assert_array_equal(found, of_key(KEY))
    assert np.any(found != of_key(jax.random.key(3)))
    single = jax.eval_shape(lambda: views.groups(images, KEY, 1, augment))
    assert single.shape == images.shape
