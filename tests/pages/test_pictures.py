"""Thumbnails, grids and PNG files, read back by another library."""

import io

import keras
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from keras_mmel.diagnostics import ViewWeights
from keras_mmel.pages import pictures
from tests.diagnostics import watched

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_png_is_read_by_another_library(channels):
    image = pytest.importorskip("PIL.Image")
    picture = RANDOM.integers(0, 256, (5, 7, channels), "uint8")
    with image.open(io.BytesIO(pictures.png(picture))) as read:
        found = np.asarray(read)
    assert_array_equal(found.reshape(picture.shape), picture)
    assert pictures.png(picture) == pictures.png(picture.copy())


def test_images_are_found_among_the_inputs(monkeypatch):
    images = np.zeros((2, 3, 8, 9, 3))
    assert pictures.find_images(images) is images
    assert pictures.find_images({"a": np.zeros((2, 3)), "b": images}) is images
    assert pictures.find_images(np.zeros((2, 3, 8, 9, 2))) is None
    assert pictures.find_images(np.zeros((2, 3, 8, 9))) is None
    monkeypatch.setattr(
        keras.config, "image_data_format", lambda: "channels_first"
    )
    found = pictures.find_images(np.zeros((2, 3, 1, 8, 9)))
    assert found.shape == (2, 3, 8, 9, 1)


def test_bytes_and_unit_floats_keep_their_values():
    images = RANDOM.integers(0, 256, (2, 3, 4, 4, 3), "uint8")
    assert_array_equal(pictures.thumbnails(images), images)
    assert_array_equal(pictures.thumbnails(images / 255.0), images)
    black_and_white = RANDOM.random((2, 3, 4, 4, 1)) > 0.5
    assert_array_equal(
        pictures.thumbnails(black_and_white), 255 * black_and_white
    )


def test_other_values_are_stretched_for_each_channel():
    ramp = np.linspace(0, 1, 64).reshape(1, 1, 8, 8, 1)
    images = np.concatenate([ramp * 5 - 3, ramp * 100], axis=-1)
    images = np.concatenate([images, images[..., :1]], axis=-1)
    found = pictures.thumbnails(images)
    assert_array_equal(found[..., 0], found[..., 1])
    assert found.min() == 0 and found.max() == 255
    assert (np.diff(found[0, 0, ..., 0].ravel().astype(int)) >= 0).all()
    images[0, 0, 0, 0] = np.nan
    assert pictures.thumbnails(images).max() == 255


def test_large_images_are_reduced_by_means_of_blocks():
    images = RANDOM.integers(0, 256, (1, 2, 130, 70, 3), "uint8")
    found = pictures.thumbnails(images)
    assert found.shape == (1, 2, 43, 23, 3)
    block = images[0, 1, 3:6, 6:9, 2].mean()
    assert abs(found[0, 1, 1, 2, 2] - block) <= 0.5


def test_memory_is_bounded():
    images = np.zeros((3000, 2, 64, 64, 1), "uint8")
    found = pictures.thumbnails(images)
    assert found.nbytes <= pictures.MOST_BYTES
    assert len(found) == pictures.MOST_BYTES // (2 * 64 * 64)


def test_a_grid_has_the_views_and_their_bars():
    images = RANDOM.integers(0, 200, (2, 3, 16, 16, 3), "uint8")
    weights = np.array([[0.5, 0.25, 1.0], [0.0, np.nan, 0.75]])
    found = pictures.grid(images, weights)
    height, width = found.shape[0] // 2, found.shape[1] // 3
    for row in range(2):
        for column in range(3):
            top, left = row * height + 1, column * width + 1
            cell = found[top : top + 16, left : left + 16]
            assert_array_equal(cell, images[row, column])
            bar = found[top + 17, left : left + 16]
            filled = (bar == (213, 94, 0)).all(axis=-1).sum()
            assert filled == np.nan_to_num(weights)[row, column] * 16


def test_shapes_without_images_are_refused():
    with pytest.raises(ValueError, match="height, width.*Received: images"):
        pictures.thumbnails(np.zeros((2, 3, 4, 4)))


def test_images_of_a_probe():
    x, y = watched.data(watched.images)
    assert ViewWeights((x, y)).run.images.shape == (12, 4, 6, 6, 1)
    assert ViewWeights((x, y), images=False).run.images is None

    def as_image(views):
        return views[..., None, None] * np.ones((2, 3))

    flat = watched.data()
    assert ViewWeights(flat).run.images is None
    found = ViewWeights(flat, images=as_image, num_groups=7).run.images
    assert found.shape == (7, 4, 5, 2, 3)
