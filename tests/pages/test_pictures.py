"""Thumbnails and PNG files, read back by another library."""

import base64
import io

import keras
import numpy as np
import PIL.Image
import pytest
from numpy.testing import assert_array_equal

from keras_mmel.pages import pictures

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_a_picture_of_a_page_is_a_png_file(channels):
    picture = RANDOM.integers(0, 256, (5, 7, channels), "uint8")
    uri = pictures.data_uri(picture)
    data = base64.b64decode(uri.removeprefix("data:image/png;base64,"))
    with PIL.Image.open(io.BytesIO(data)) as read:
        found = np.asarray(read)
    assert_array_equal(found.reshape(picture.shape), picture)
    assert pictures.data_uri(picture.copy()) == uri


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
    black = RANDOM.random((2, 3, 4, 4, 1)) > 0.5
    assert_array_equal(pictures.thumbnails(black), 255 * black)


def test_other_values_are_stretched_for_each_channel():
    ramp = np.linspace(0, 1, 64).reshape(1, 1, 8, 8, 1)
    images = np.concatenate([ramp * 5 - 3, ramp * 100, ramp * 5 - 3], axis=-1)
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
