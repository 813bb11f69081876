import functools

import numpy as np
import pytest
import tensorflow as tf

from experiments import records
from experiments.training import imagenet
from tests.experiments.training import toy_images

TOY = ["--epochs", "1", "--batch_size", "4", "--num_views", "2"]
TOY += ["--image_size", "32"]


def fake_load(args, split, limit=None):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (8, 32, 32, 3)).astype("uint8")
    labels = np.arange(8) % 3
    return tf.data.Dataset.from_tensor_slices((images, labels)), 8, 3


def gradient(shape):
    """Rows in the first channel, columns in the second."""
    rows, columns = np.indices(shape)
    return np.stack([rows, columns, 0 * rows], -1).astype("uint8")


@pytest.mark.parametrize("shape", [(64, 128), (128, 64), (10, 13)])
def test_the_middle_is_scaled_to_a_square(shape):
    square = imagenet.to_square(gradient(shape), 32).numpy().astype(int)
    assert square.shape == (32, 32, 3)
    middle = (np.array(shape) - 1) / 2
    np.testing.assert_allclose(square.mean((0, 1))[:2], middle, atol=0.6)
    # From pixel to pixel it goes up by the scale.
    steps = np.diff(square[1:-1, 5, 0])
    np.testing.assert_allclose(steps, min(shape) / 32, atol=1)


def test_views_are_parts_of_the_image():
    image, flips, areas = tf.constant(gradient((64, 64))), [], []
    for seed in range(40):
        view, again = (
            imagenet.crop_and_scale(image, tf.constant([seed, 7])).numpy()
            for _ in range(2)
        )
        np.testing.assert_array_equal(view, again)
        assert view.shape == image.shape and view.dtype == np.uint8
        height = float(view[-1, 0, 0]) - float(view[0, 0, 0])
        width = float(view[0, -1, 1]) - float(view[0, 0, 1])
        flips.append(width < 0)
        areas.append(abs(height * width) / 64**2)
    assert 8 < sum(flips) < 32
    assert 0.04 < min(areas) < 0.5 < max(areas) <= 1


@pytest.mark.parametrize("method", ["da", "mmel-h"])
def test_a_run_leaves_a_record_and_is_not_repeated(
    method, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(imagenet, "load", fake_load)
    small = functools.partial(toy_images.network, 18)
    monkeypatch.setitem(imagenet.NETWORKS, 18, small)
    words = [*TOY, "--method", method, "--out", str(tmp_path / "out")]
    words += ["--work_dir", str(tmp_path / "work")]
    imagenet.main(words)
    (record,) = records.read_records(tmp_path / "out")
    assert imagenet.record_path([*words, "--seeds", "0"]).exists()
    assert record["method"] == method
    assert np.isfinite(record["scores"]["nll"])
    assert record["settings"]["num_views"] == (1 if method == "da" else 2)
    monkeypatch.setattr(imagenet, "load", None)
    imagenet.main(words)
    assert "finished before" in capsys.readouterr().out
