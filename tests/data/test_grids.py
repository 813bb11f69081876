"""Grids of fixed transformations against a plain loop."""

import numpy as np
import pytest
import tensorflow as tf

from keras_mmel.data import grid_views

IMAGES = np.arange(5 * 4 * 4, dtype="uint8").reshape(5, 4, 4, 1)


def examples(x=IMAGES):
    return tf.data.Dataset.from_tensor_slices((x, np.arange(len(x))))


def test_views_are_the_transformations_in_their_order():
    moves = [lambda image: image[::-1], lambda image: image + 1]
    found = list(grid_views(examples(), moves, 2))
    assert [len(y) for _, y in found] == [2, 2, 1]
    views = np.concatenate([x["views"] for x, _ in found])
    for image, group in zip(IMAGES, views, strict=True):
        np.testing.assert_array_equal(group, [image, image[::-1], image + 1])
    assert [*np.concatenate([y for _, y in found])] == [*range(5)]


def test_another_type_of_number_takes_the_original_along():
    halves = grid_views(examples(), [lambda x: tf.cast(x, tf.float32) / 2], 5)
    assert not halves.options().autotune.enabled
    ((x, _),) = halves
    assert x["views"].dtype == tf.float32
    np.testing.assert_array_equal(x["views"][:, 0], IMAGES)


def test_wrong_input_is_named():
    with pytest.raises(ValueError, match="at least one function"):
        grid_views(examples(), [], 2)
    with pytest.raises(ValueError, match="keep the shape.*transformation 0"):
        grid_views(examples(), [lambda x: x[:2]], 2)
    with pytest.raises(TypeError, match="tf.data.Dataset"):
        grid_views(IMAGES, [lambda x: x], 2)
