"""Turned and shifted views against scipy, and their distribution."""

import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from keras_mmel import data
from keras_mmel.data import turning

ndimage = pytest.importorskip("scipy.ndimage")
stats = pytest.importorskip("scipy.stats")


def some_seeds(batch, views):
    values = np.random.default_rng(1).integers(
        -(2**31), 2**31, (batch, views, 2)
    )
    return values.astype("int32")


def draws(seeds, *settings):
    """Angles, shifts down and shifts right, each (batch, views)."""
    keys = tf.bitcast(seeds.reshape(-1, 2), tf.uint64)
    drawn = turning.draw_turns(keys, *settings)
    return [np.reshape(values, seeds.shape[:2]) for values in drawn]


def turn(image, degrees, down, right):
    """Turn about the middle and shift, a channel at a time, by scipy."""
    angle = np.radians(degrees)
    # From a (row, column) of the result to where it comes from.
    matrix = np.array(
        [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
    )
    middle = (np.array(image.shape[:2]) - 1) / 2
    offset = middle - matrix @ (middle + (down, right))
    channels = [
        ndimage.affine_transform(
            image[..., channel].astype("float64"),
            matrix,
            offset,
            order=1,
            mode="grid-constant",
        )
        for channel in range(image.shape[-1])
    ]
    return np.stack(channels, axis=-1)


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["", "graph"])
@pytest.mark.parametrize(
    ("shape", "dtype", "settings"),
    [
        ((9, 9, 1), "float32", (60.0, 4.0, 1)),
        ((8, 11, 3), "uint8", (180.0, 1.0, 3)),
        ((7, 6, 2), "float16", (30.0, 0.5, 0)),
        ((5, 5, 1), "int32", (0, 1.0, 4)),
    ],
)
def test_views_are_those_of_scipy(shape, dtype, settings, wrap):
    images = np.random.default_rng(0).integers(0, 200, (3, *shape))
    images = images.astype(dtype)
    seeds = some_seeds(3, 8)
    views = wrap(data.turn_and_shift(*settings))(images, seeds)
    assert views.dtype == "float32"
    assert views.shape == (3, 8, *shape)
    angles, down, right = draws(seeds, *settings)
    for i, j in np.ndindex(3, 8):
        expected = turn(images[i], angles[i, j], down[i, j], right[i, j])
        # Coordinates are float32: pixels are off by their distance.
        np.testing.assert_allclose(views[i, j], expected, atol=2e-2)


def test_half_of_the_views_are_mirrored_before_they_are_turned():
    images = np.random.default_rng(0).random((2, 6, 5, 1)).astype("float32")
    seeds = some_seeds(2, 1000)
    settings = 40.0, 1.0, 1
    plain = data.turn_and_shift(*settings)(images, seeds)
    mirrored = data.turn_and_shift(*settings)(images[:, :, ::-1], seeds)
    views = data.turn_and_shift(*settings, flip=True)(images, seeds).numpy()

    def equals(other):
        return (views == other.numpy()).all(axis=(2, 3, 4))

    assert (equals(plain) != equals(mirrored)).all()
    assert abs(equals(mirrored).mean() - 0.5) < 0.03


@pytest.mark.parametrize("power", [1.0, 4.0])
def test_angles_and_shifts_have_the_distribution_of_the_formula(power):
    angles, down, right = draws(some_seeds(4, 2000), 60.0, power, 2)
    # |angle| = 60 u^power, so P(|angle| < a) = (a / 60)^(1 / power).
    uniform = (np.abs(angles.ravel()) / 60) ** (1 / power)
    assert stats.kstest(uniform, "uniform").pvalue > 1e-3
    assert stats.binomtest(int((angles > 0).sum()), 8000).pvalue > 1e-3
    # Independent: every combination of signs and shifts is equally likely.
    cells = ((angles > 0) * 5 + down + 2) * 5 + right + 2
    counts = np.bincount(cells.ravel().astype(int), minlength=50)
    assert counts.size == 50
    assert stats.chisquare(counts).pvalue > 1e-3


def test_a_bar_turns_counterclockwise_by_the_angle_that_is_drawn():
    bar = np.zeros((1, 33, 33, 1), "float32")
    bar[:, 16, 17:] = 1.0  # points right
    seeds = some_seeds(1, 500)
    views = data.turn_and_shift(60.0, 4.0, shift=0)(bar, seeds)[0].numpy()
    rows, columns = np.indices((33, 33)) - 16
    mass = views[..., 0]
    seen = np.degrees(
        np.arctan2(-(mass * rows).sum((1, 2)), (mass * columns).sum((1, 2)))
    )
    np.testing.assert_allclose(seen, draws(seeds, 60.0, 4.0, 0)[0][0], atol=1)


def test_groups_are_made_of_them():
    images = np.random.default_rng(0).random((4, 8, 8, 1)).astype("float32")
    examples = tf.data.Dataset.from_tensor_slices((images, range(4)))
    groups = data.group_views(
        examples, data.turn_and_shift(), 3, 2, seed=0, shuffle=False
    )
    views = np.concatenate([x["views"].numpy() for x, _ in groups])
    np.testing.assert_array_equal(views[:, 0], images)
    assert (views[:, 1:] != images[:, None]).any(axis=(2, 3, 4)).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"degrees": -1.0}, "`degrees` must be a finite.*degrees=-1.0"),
        ({"degrees": float("nan")}, "`degrees` must be a finite.*degrees=nan"),
        ({"degrees": "a"}, "`degrees` must be a finite number.*degrees='a'"),
        ({"power": 0.0}, "`power` must be above 0.*power=0"),
        ({"power": float("inf")}, "`power` must be a finite.*power=inf"),
        ({"power": None}, "`power` must be a finite number.*power=None"),
        ({"shift": -1}, "`shift` must be at least 0"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        data.turn_and_shift(**settings)


def test_a_shift_is_a_whole_number():
    with pytest.raises(TypeError, match="`shift` must be an integer"):
        data.turn_and_shift(shift=1.5)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((2, 4, 32, 3)), "larger than `shift`.*shift=4"),
        (np.zeros((2, 8, 32, 32, 3)), "single images"),
        (np.zeros((2, 28, 28)), "channel"),
    ],
)
def test_bad_images(images, message):
    with pytest.raises(ValueError, match=message):
        data.turn_and_shift(shift=4)(images, some_seeds(2, 3))


def test_channels_are_last():
    with pytest.raises(ValueError, match=r"put channels last.*\(3, 16, 16\)"):
        data.turn_and_shift(shift=1)(np.zeros((2, 3, 16, 16)), some_seeds(2, 3))


def test_a_nest_of_images_is_named():
    with pytest.raises(ValueError, match="single images.*dict"):
        data.turn_and_shift()({"image": np.zeros((1, 4, 4, 1))}, [])


@pytest.mark.slow
def test_views_are_the_same_on_other_backends():
    pytest.importorskip("jax")
    code = (
        "import keras_mmel, numpy as np\n"
        "images = np.arange(128, dtype='float32').reshape(2, 8, 8, 1)\n"
        "seeds = np.arange(20, dtype='int32').reshape(2, 5, 2)\n"
        "augment = keras_mmel.data.turn_and_shift(flip=True)\n"
        "views = np.asarray(augment(images, seeds))\n"
        "print(views.sum(dtype='float64'))\n"
    )
    sums = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"KERAS_BACKEND": backend},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for backend in ("tensorflow", "jax")
    }
    assert len(sums) == 1 and float(sums.pop()) > 0
