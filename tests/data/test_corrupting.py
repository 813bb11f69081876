"""The corruptions: what each does, the same always, and what they refuse."""

import numpy as np
import pytest
import tensorflow as tf

from keras_mmel.data import corruptions
from keras_mmel.data import grid_views

IMAGES = np.random.default_rng(0).integers(60, 180, (3, 20, 30, 3), "uint8")
NAMES = [
    "noise",
    "salt and pepper",
    "blurred",
    "pixelated",
    "darker",
    "brighter",
    "low contrast",
    "occluded",
    "turned",
    "shifted",
    "flipped",
    "JPEG",
]


def views_of(images, severity=3, value_range=(0, 255)):
    """Views by name, each of all images."""
    examples = tf.data.Dataset.from_tensor_slices((images, images[:, 0, 0, 0]))
    made = corruptions(severity, value_range)
    groups = grid_views(examples, made, len(images))
    assert groups.view_names == ["original", *NAMES]
    ((x, _),) = groups
    assert x["views"].dtype == images.dtype
    views = np.moveaxis(x["views"].numpy(), 1, 0)
    return dict(zip(groups.view_names, views, strict=True))


@pytest.fixture(scope="module")
def views():
    return views_of(IMAGES)


def test_what_is_plain_arithmetic(views):
    pixels = IMAGES / 255
    mean = pixels.mean(axis=(1, 2), keepdims=True)
    rows, columns = np.ogrid[:20, :30]
    inside = (abs(rows - 9.5) < 4) & (abs(columns - 14.5) < 6)  # 0.4 of sides
    for name, expected in (
        ("original", pixels),
        ("darker", pixels - 0.3),
        ("brighter", pixels + 0.3),
        ("low contrast", mean + (pixels - mean) / 2.5),
        ("occluded", np.where(inside[..., None], 0.5, pixels)),
        ("flipped", pixels[:, :, ::-1]),
    ):
        expected = 255 * np.clip(expected, 0, 1)
        np.testing.assert_allclose(views[name], expected, atol=0.51)


def test_noise_is_of_the_image(views):
    noise = (views["noise"].astype(float) - IMAGES) / 255
    assert abs(noise.mean()) < 0.01 and abs(noise.std() - 0.18) < 0.02
    assert abs(np.corrcoef(noise[0].ravel(), noise[1].ravel())[0, 1]) < 0.1
    changed = views["salt and pepper"] != IMAGES
    assert abs(changed.mean() - 0.09) < 0.02
    assert set(np.unique(views["salt and pepper"][changed])) == {0, 255}
    again = views_of(IMAGES[::-1])
    for name in NAMES:
        np.testing.assert_array_equal(again[name][::-1], views[name])


def test_sizes_and_places(views):
    # 8 of 20 rows are left, in squares.
    assert len(np.unique(views["pixelated"][0, :, 0, 0])) <= 8
    assert views["blurred"].std() < 0.5 * IMAGES.std()
    dot = np.zeros((1, 25, 25, 1), "uint8")
    dot[0, 12, 20] = 255
    moved = views_of(dot)
    assert moved["shifted"][0].argmax() == 15 * 25 + 23  # 0.12 of 25 pixels
    row, column = divmod(moved["turned"][0].argmax(), 25)
    # A point to the right of the middle goes up, by 30 degrees.
    assert (row, column) == (8, 19)
    jpeg = views["JPEG"].astype(float)
    assert 1 < abs(jpeg - IMAGES).mean() < 60


@pytest.mark.parametrize(
    ("kind", "value_range"), [("float32", (0, 1)), ("uint8", (0, 16))]
)
def test_a_range_is_a_scale(views, kind, value_range):
    high = value_range[1]
    images = np.round(IMAGES / 255 * 16) * (high / 16)
    found = views_of(images.astype(kind), 3, value_range)
    expected = views_of(np.round(images * (255 / high)).astype("uint8"))
    step = 1 if kind == "uint8" else 0.02
    for name in {*NAMES} - {"JPEG", "noise", "salt and pepper"}:
        np.testing.assert_allclose(
            found[name] / high, expected[name] / 255, atol=step / high + 0.01
        )


def test_a_higher_severity_is_stronger():
    def change(severity):
        image = tf.constant(IMAGES[0])
        made = corruptions(severity)
        changed = [made[name](image).numpy().astype(float) for name in NAMES]
        return [abs(views - IMAGES[0]).mean() for views in changed]

    mild, strong = change(1), change(5)
    for name, less, more in zip(NAMES, mild, strong, strict=True):
        assert more > less or name in ("flipped", "turned", "shifted"), name


def test_wrong_input_is_named():
    with pytest.raises(TypeError, match="`severity` must be an integer"):
        corruptions(2.5)
    for severity, value_range in (
        (6, (0, 255)),
        (3, (1, 1)),
        (3, 255),
        (3, (0, 1, 2)),
    ):
        with pytest.raises(ValueError, match="from 1 to 5.*Received: severity"):
            corruptions(severity, value_range)
    made = corruptions()
    with pytest.raises(ValueError, match=r"1 or 3 channels.*\(8, 8\)"):
        made["noise"](np.zeros((8, 8), "uint8"))
    for wrong in (np.full((8, 8, 1), -1.0), 0.5 * np.eye(8)[..., None]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="value_range"):
            made["darker"](tf.constant(wrong, tf.float32))
    # Black pictures, and nearly black ones, are no mistake.
    made["darker"](tf.zeros((8, 8, 1)))
    made["darker"](tf.constant(np.eye(8)[..., None], tf.float32))
