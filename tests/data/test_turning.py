"""Rotated views against scipy, and how uneven they are."""

import numpy as np
import scipy.ndimage
import tensorflow as tf

import keras_mmel
from examples import rotated

IMAGES = np.random.default_rng(0).random((3, 9, 9, 1)).astype("float32")


def test_a_rotation_and_a_shift_are_those_of_scipy():
    degrees, down, right = [30.0, -45.0, 60.0], [1, 0, -1], [0, 2, 1]
    found = rotated.transform(IMAGES, degrees, down, right).numpy()
    for i in range(3):
        turned = scipy.ndimage.rotate(
            IMAGES[i], degrees[i], order=1, reshape=False, mode="constant"
        )
        moved = scipy.ndimage.shift(turned, (down[i], right[i], 0), order=0)
        inside = (slice(3, -3), slice(3, -3))
        np.testing.assert_allclose(found[i][inside], moved[inside], atol=1e-4)


def test_views_are_uneven():
    bar = np.zeros((1, 33, 33, 1), "float32")
    bar[:, 16, 17:] = 1.0  # points right
    seeds = np.arange(2 * 4000, dtype="int32").reshape(1, 4000, 2)
    views = rotated.rotated_views(60.0, 4.0, shift=0)(bar, seeds)[0].numpy()
    rows, columns = np.indices((33, 33)) - 16
    mass = views[..., 0]
    angles = np.degrees(
        np.arctan2(-(mass * rows).sum((1, 2)), (mass * columns).sum((1, 2)))
    )
    assert np.abs(angles).max() < 61
    # |60 u^4| is beyond 37.5 where u is beyond 0.625^(1/4).
    share = (np.abs(angles) > 37.5).mean()
    assert abs(share - (1 - 0.625**0.25)) < 0.02
    assert abs((angles > 0).mean() - 0.5) < 0.03


def test_a_grid_has_every_angle_with_every_shift():
    functions = rotated.grid((-10, 0, 10), ((0, 0), (1, 0)))
    assert len(functions) == 5
    examples = tf.data.Dataset.from_tensor_slices((IMAGES, [0, 1, 2]))
    ((x, _),) = keras_mmel.data.grid_views(examples, functions, 3)
    expected = rotated.transform(IMAGES, [10.0] * 3, [1] * 3, [0] * 3)
    np.testing.assert_allclose(x["views"][:, -1], expected, atol=1e-6)
