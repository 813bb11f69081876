"""Mistakes are named before an example is read."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_mmel
from keras_mmel import data

IMAGES = np.zeros((6, 8, 8, 3), "uint8")
LABELS = np.arange(6)


def dataset(*parts):
    return tf.data.Dataset.from_tensor_slices(parts or (IMAGES, LABELS))


def group(source=None, augment=None, num_views=3, batch_size=2, **options):
    return data.group_views(
        dataset() if source is None else source,
        augment or data.crop_and_flip(2),
        num_views,
        batch_size,
        **{"seed": 0, **options},
    )


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"num_views": 0}, ValueError, "`num_views` must be at least 1"),
        ({"num_views": 2.5}, TypeError, "`num_views` must be an integer"),
        ({"batch_size": 0}, ValueError, "`batch_size` must be at least 1"),
        ({"batch_size": 7}, ValueError, "there would be no batch"),
        ({"seed": "a"}, TypeError, "`seed` must be an integer"),
        ({"shuffle_buffer": 0}, ValueError, "`shuffle_buffer` must be at"),
        ({"shard": 1}, ValueError, "`shard` must be .index, count."),
        ({"shard": (2, 2)}, ValueError, "0 <= index < count"),
        ({"shard": (0, 3)}, ValueError, "at most .*that of all shards, 2"),
        ({"pool": 1}, ValueError, "`pool` must be at least 2"),
        ({"pool": 2.0}, TypeError, "`pool` must be an integer"),
    ],
)
def test_counts(options, error, message):
    with pytest.raises(error, match=message + ".*Received: "):
        group(**options)


def test_a_negative_epoch():
    with pytest.raises(ValueError, match="`initial_epoch` must be at least 0"):
        data.EpochCounter(-1)


def of_spec(*spec):
    return tf.data.Dataset.from_generator(list, output_signature=spec)


LABEL = tf.TensorSpec([], tf.int32)
IMAGE = tf.TensorSpec([8, 8, 3], tf.uint8)


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ([1, 2], TypeError, "must be a tf.data.Dataset"),
        (tf.data.Dataset.from_tensor_slices(IMAGES), ValueError, "must yield"),
        (
            tf.data.Dataset.from_tensor_slices({"image": IMAGES}),
            ValueError,
            "as_supervised=True",
        ),
        (dataset(IMAGES, LABELS, LABELS, LABELS), ValueError, "must yield"),
        (dataset().take(0), ValueError, "must not be empty"),
        (
            of_spec(tf.TensorSpec([None, None, 3], tf.uint8), LABEL),
            ValueError,
            "`x` must have one known shape",
        ),
        (of_spec(IMAGE, LABEL), ValueError, "`shuffle_buffer` must be given"),
        (dataset().batch(2), ValueError, "unbatch.*`shuffle_buffer`"),
    ],
)
def test_datasets(source, error, message):
    with pytest.raises(error, match=f"(?s){message}.*Received: "):
        group(source)


def test_a_pool_of_a_dataset_that_reshuffles():
    for shuffled in (dataset().shuffle(6), dataset().shuffle(6).prefetch(1)):
        with pytest.raises(ValueError, match="shuffle=False.*Shuffle"):
            group(shuffled, pool=2)
    for fixed in (
        dataset().shuffle(6).cache(),
        dataset().shuffle(6, reshuffle_each_iteration=False),
    ):
        assert len(list(group(fixed, pool=2))) == 3


def test_empty_dataset_of_unknown_size():
    counter = data.EpochCounter()
    empty = dataset().filter(lambda x, y: False)
    groups = group(empty, shuffle_buffer=6, epoch_counter=counter)
    # Nothing is there, and no epoch has passed.
    assert list(groups) == [] and counter.epoch == 0
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(1)])
    mmel = keras_mmel.MMELModel(model)
    mmel.compile("sgd", "mse")
    with (
        pytest.warns(UserWarning, match="ran out of data"),
        pytest.raises(ValueError, match="no batch to train on"),
    ):
        mmel.fit(groups, verbose=0)


def repeat(images, seeds):
    return tf.repeat(images[:, None], seeds.shape[1], axis=1)


@pytest.mark.parametrize(
    ("augment", "error", "message"),
    [
        (keras.layers.RandomFlip(), TypeError, r"`per_view\(layer\)`"),
        ("flip", TypeError, "must be an augmentation"),
        (lambda x, seeds: x, ValueError, "Expected: .2, 2, 8, 8, 3."),
        (
            lambda x, seeds: repeat(x, seeds)[:, :, 1:],
            ValueError,
            "of the shape of the original",
        ),
        (
            lambda x, seeds: tf.cast(repeat(x, seeds), tf.int32),
            ValueError,
            "keep the dtype",
        ),
    ],
)
def test_augmentations(augment, error, message):
    with pytest.raises(error, match=f"(?s){message}.*Received: "):
        group(augment=augment)


def of_one_image(image, seed):
    bright = tf.random.stateless_uniform((), seed) > 0.5
    return image if bright else 0 * image


@pytest.mark.parametrize("augment", [of_one_image, lambda image: image])
def test_functions_of_one_image_are_led_to_per_view(augment):
    with pytest.raises((TypeError, ValueError)) as raised:
        group(augment=augment)
    assert "`per_view`" in raised.value.__notes__[-1]


SCALED = np.linspace(0, 255, IMAGES.size, dtype="float32").reshape(IMAGES.shape)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: x / 255, "Views are from .* to 1, their originals from"),
        (lambda x: 0 * x, "Views are from 0 to 0, their originals from"),
        (lambda x: 0 * x + x[:, :1, :1, :1], "4 of 4 views are one value"),
    ],
)
def test_views_that_are_nothing_like_their_originals(change, message):
    groups = group(
        dataset(SCALED, LABELS), lambda x, seeds: repeat(change(x), seeds)
    )
    with pytest.warns(UserWarning, match=f"{message}.*keep the range") as once:
        assert len(list(groups)) == len(list(groups))
    assert len(once) == 1


def test_postprocess_that_loses_the_views():
    with pytest.raises(ValueError, match="`postprocess` must return views"):
        group(postprocess=lambda views: views[:, 0])
    with pytest.raises(ValueError, match="must draw its numbers"):
        group(postprocess=tf.random.shuffle)
