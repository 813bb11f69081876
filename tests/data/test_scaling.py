"""Standardizing against NumPy float64."""

import numpy as np
import pytest

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


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"mean": np.nan, "std": 1.0}, "mean"),
        ({"mean": 0.0, "std": [1.0, 0.0]}, "std"),
        ({"mean": 0.0, "std": np.inf}, "std"),
        ({"mean": 0.0, "std": 1.0, "scale": -1.0}, "scale"),
    ],
)
def test_bad_arguments(arguments, name):
    with pytest.raises(ValueError, match=f"`{name}` must be"):
        data.standardize(**arguments)
