"""Grids of fixed transformations against a plain loop."""

import io
import random

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_mmel.data import grid_views
from keras_mmel.data import per_view

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


def test_views_of_several_types_become_one():
    moves = [
        lambda x: x[::-1],
        keras.layers.RandomRotation((0.25, 0.25)),
        lambda x: tf.cast(x, tf.float16),
    ]
    ((x, _),) = grid_views(examples(), moves, 5)
    assert x["views"].dtype == tf.float32
    np.testing.assert_array_equal(x["views"][:, 1], IMAGES[:, ::-1])
    np.testing.assert_array_equal(x["views"][:, 3], IMAGES)
    ((x, _),) = grid_views(examples(), [lambda x: tf.cast(x, tf.int32)], 5)
    assert x["views"].dtype == tf.int32


def test_chance_is_refused():
    def by_python(x):
        return x[::-1] if random.random() < 0.5 else x

    def by_numpy(x):
        noise = np.random.default_rng()
        return tf.numpy_function(
            lambda array: (
                array + noise.integers(2, size=array.shape, dtype="u1")
            ),
            [x],
            tf.uint8,
        )

    for chance in (
        keras.layers.RandomRotation(0.2),
        keras.layers.RandomFlip("horizontal"),
        keras.Sequential([keras.layers.RandomTranslation(0.5, 0.0)]),
        lambda x: x[:: -1 if random.random() < 0.5 else 1],
        by_python,
        by_numpy,
    ):
        with pytest.raises(ValueError, match="must (make the same|not draw)"):
            grid_views(examples(), [lambda x: x, chance], 5)
    noisy = [lambda x, y: (tf.image.random_brightness(x, 0.5), y)]
    with pytest.raises(ValueError, match="the same in every pass"):
        grid_views(examples(), noisy, 5, augment_labels=True)


def test_wrong_input_is_named():
    for none in ([], keras.layers.RandomFlip()):
        with pytest.raises(ValueError, match="must be a list, or a dict"):
            grid_views(examples(), none, 2)
    with pytest.raises(ValueError, match="must return what it takes"):
        grid_views(examples(), [lambda x: None], 2)
    with pytest.raises(TypeError, match="`per_view` is for `group_views`"):
        grid_views(examples(), [per_view(lambda x: x)], 2)
    for name in ("original", "mean", "its spread", 30):
        with pytest.raises(ValueError, match="strings, and none of.*Received"):
            grid_views(examples(), {name: lambda x: x}, 2)
    with pytest.raises(
        ValueError, match="Transformation 0 must keep the shape"
    ):
        grid_views(examples(), [lambda x: x[:2]], 2)
    with pytest.raises(TypeError, match="tf.data.Dataset"):
        grid_views(IMAGES, [lambda x: x], 2)


def test_two_lambdas_on_one_line_are_no_reason_to_warn():
    # TensorFlow's logger keeps the standard error that it began with.
    handlers = tf.get_logger().handlers
    stream = io.StringIO()
    before = [handler.setStream(stream) for handler in handlers]
    halves = {"a": lambda image: image // 4, "b": lambda image: image // 2}
    (batch,) = grid_views(examples(np.full((2, 3, 3, 1), 8)), halves, 2)
    for handler, own in zip(handlers, before, strict=True):
        handler.setStream(own)
    assert batch[0]["views"][0, :, 0, 0, 0].numpy().tolist() == [8, 2, 4]
    assert stream.getvalue() == ""
