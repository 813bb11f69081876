"""Standardizing against NumPy float64."""

import numpy as np
import pytest
import tensorflow as tf

from keras_mmel import data


def test_equals_numpy():
    images = np.random.default_rng(0).integers(0, 256, (5, 2, 8, 8, 3), "uint8")
    mean, std = [0.1, 0.5, 0.9], [0.05, 0.2, 1.0]
    result = data.standardize(mean, std)(images)
    assert result.dtype == "float32"
    expected = (images / 255.0 - mean) / std
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_images_in_the_unit_range():
    images = np.random.default_rng(0).random((8, 8, 1))
    result = data.standardize(0.5, 2.0, scale=1.0, dtype="float16")(images)
    assert result.dtype == "float16"
    np.testing.assert_allclose(result, (images - 0.5) / 2, atol=1e-3)


@pytest.mark.parametrize("shape", [(3,), (5, 3), (None, 3), (2, None, 3)])
def test_channels_of_any_shape(shape):
    mean, std = np.array([0.1, 0.5, 0.9]), np.array([0.05, 0.2, 1.0])
    apply = tf.function(
        data.standardize(mean, std),
        input_signature=[tf.TensorSpec(shape, tf.uint8)],
    )
    images = np.arange(3 * 10, dtype="uint8").reshape(2, 5, 3)
    images = images if len(shape) == 3 else images[0]
    images = images if len(shape) > 1 else images[0]
    result = apply(images)
    assert result.shape == images.shape
    expected = (images / 255.0 - mean) / std
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_bad_arguments():
    for name, value in (
        ("mean", np.nan),
        ("std", [1.0, 0.0]),
        ("std", np.inf),
        ("scale", -1.0),
    ):
        with pytest.raises(ValueError, match=f"`{name}` must be"):
            data.standardize(**{"mean": 0.0, "std": 1.0, name: value})
