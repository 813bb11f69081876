"""Crops and flips against plain NumPy, and their distribution."""

import numpy as np
import pytest
import tensorflow as tf

from keras_mmel import data
from keras_mmel.data import cropping

stats = pytest.importorskip("scipy.stats")

HEIGHT, WIDTH = 7, 5


def crop(image, row, column, flip, padding):
    """Cut one view with NumPy slices."""
    margin = (padding, padding)
    padded = np.pad(image, (margin, margin, (0, 0)))
    height, width, _ = image.shape
    view = padded[row : row + height, column : column + width]
    return view[:, ::-1] if flip else view


def some_seeds(batch, views):
    values = np.random.default_rng(1).integers(
        -(2**31), 2**31, (batch, views, 2)
    )
    return values.astype("int32")


@pytest.mark.parametrize("views", [1, 3, 4, 12])
@pytest.mark.parametrize("padding", [0, 1, 4])
@pytest.mark.parametrize(
    ("channels", "dtype"),
    [(3, "uint8"), (1, "float32"), (3, "float16"), (1, "int32")],
)
def test_views_equal_numpy_crops(views, padding, channels, dtype):
    rng = np.random.default_rng(0)
    images = rng.integers(1, 200, (6, HEIGHT, WIDTH, channels)).astype(dtype)
    seeds = some_seeds(6, views)
    result = data.crop_and_flip(padding)(images, seeds)
    assert result.dtype == dtype
    assert result.shape == (6, views, HEIGHT, WIDTH, channels)
    rows, columns, flips = cropping.draw_crops(seeds, padding, True)
    for i, j in np.ndindex(6, views):
        expected = crop(
            images[i],
            int(rows[i, j]),
            int(columns[i, j]),
            bool(flips[i, j]),
            padding,
        )
        np.testing.assert_array_equal(result[i, j], expected)


@pytest.fixture(scope="module")
def found():
    """Rows, columns and flips, read off the views of an image that tells.

    Each pixel of the image is its own number, so that the one in the middle
    says where a view was cut, and its neighbour whether it was mirrored. Each
    array is (epochs, examples, views).
    """
    padding, examples = 2, 400
    image = np.arange(1, 82, dtype="uint8").reshape(9, 9, 1)
    dataset = tf.data.Dataset.from_tensors((image, 0)).repeat(examples)
    groups = data.group_views(
        dataset, data.crop_and_flip(padding), 9, 100, seed=0, shuffle=False
    )
    views = [
        np.concatenate([x["views"].numpy()[:, 1:] for x, _ in groups])
        for _ in range(3)
    ]
    views = np.stack(views).astype(int)
    middle = views[:, :, :, 4, 4, 0] - 1
    flips = views[:, :, :, 4, 5, 0] - 1 < middle
    return middle // 9 - 4 + padding, middle % 9 - 4 + padding, flips


def is_uniform(numbers, size):
    counts = np.bincount(np.ravel(numbers), minlength=size)
    assert counts.size == size
    return stats.chisquare(counts).pvalue > 1e-3


def test_every_crop_and_flip_is_equally_likely(found):
    rows, columns, flips = found
    assert is_uniform(rows * 5 + columns, 25)
    assert is_uniform(flips.astype(int), 2)
    # Uniform over all combinations: the three are independent.
    assert is_uniform((rows * 5 + columns) * 2 + flips, 50)


@pytest.mark.parametrize("axis", [0, 1, 2], ids=["epoch", "example", "view"])
def test_neighbours_are_independent(found, axis):
    rows, columns, flips = found
    for numbers, size in ((rows, 5), (columns, 5), (flips.astype(int), 2)):
        first, second = np.split(np.moveaxis(numbers, axis, 0)[:2], 2)
        assert is_uniform(first * size + second, size * size)


def test_no_flips_without_flip():
    _, _, flips = cropping.draw_crops(some_seeds(100, 4), 2, False)
    assert not np.any(flips)


def test_bad_padding_and_images():
    with pytest.raises(ValueError, match="`padding` must be at least 0"):
        data.crop_and_flip(-1)
    with pytest.raises(TypeError, match="`padding` must be an integer"):
        data.crop_and_flip(1.5)
    for images, message in (
        (np.zeros((2, 4, 32, 3)), "larger than `padding`"),
        (np.zeros((2, 8, 32, 32, 3)), "unbatch"),
        ({"image": np.zeros((2, 32, 32, 3))}, "single images.*dict"),
    ):
        with pytest.raises(ValueError, match=message):
            data.crop_and_flip(4)(images, some_seeds(2, 3))
