"""The example on ImageNet at toy size, and its views."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from examples import imagenet
from tests.experiments.training import toy_images
from tests.experiments.training.test_imagenet import TOY
from tests.experiments.training.test_imagenet import fake_load


@pytest.mark.parametrize(
    "method", ["da", pytest.param("mmel-s", marks=pytest.mark.slow)]
)
def test_a_training(method, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(imagenet, "load", fake_load)
    small = functools.partial(toy_images.network, 18)
    monkeypatch.setitem(imagenet.NETWORKS, 18, small)
    path = tmp_path / "models" / "a.keras"
    imagenet.main([*TOY, "--method", method, "--out", str(path)])
    line = capsys.readouterr().out.splitlines()[-1]
    examples, _, _ = fake_load(None, "validation")
    images, labels = map(np.array, zip(*examples, strict=True))
    model = keras.saving.load_model(path, compile=False)
    right = model.predict(images, verbose=0).argmax(axis=1) == labels
    assert line == f"accuracy {right.mean():.4f}"


def test_replicas_share_a_batch(capsys):
    with pytest.raises(SystemExit):
        imagenet.parse_arguments(["--replicas", "3"])
    assert "must be a multiple of --replicas" in capsys.readouterr().err


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
