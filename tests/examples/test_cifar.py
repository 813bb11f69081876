"""The example on CIFAR at toy size."""

import keras
import numpy as np
import pytest

import keras_mmel
from examples import cifar
from tests.experiments.training import toy_images

TOY = ["--epochs", "2", "--depth", "8", "--batch_size", "10"]
TOY += ["--num_views", "2", "--limit", "20"]


@pytest.mark.parametrize(
    "method",
    [
        "da",
        "mmel-h",
        pytest.param("uniform", marks=pytest.mark.slow),
        pytest.param("mmel-s", marks=pytest.mark.slow),
    ],
)
def test_a_training(method, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(keras_mmel.models, "cifar_resnet", toy_images.network)
    monkeypatch.setattr(cifar, "load", toy_images.load)
    path = tmp_path / "models" / "a.keras"
    cifar.main([*TOY, "--method", method, "--out", str(path)])
    name, accuracy, *_ = capsys.readouterr().out.splitlines()[-1].split()
    # A plain model of raw images: what was printed is its score.
    model = keras.saving.load_model(path, compile=False)
    assert not isinstance(model, keras_mmel.MMELModel)
    _, (images, labels) = toy_images.load("cifar10")
    right = model.predict(images, verbose=0).argmax(axis=1) == labels
    assert (name, accuracy) == ("accuracy", f"{right.mean():.4f}")


def test_the_rate_drops_at_60_120_and_160_epochs_of_200():
    schedule = cifar.schedule(0.1, steps=200 * 7)
    rates = [
        float(schedule(epoch * 7 + offset))
        for epoch in (60, 120, 160)
        for offset in (-1, 0)
    ]
    expected = [0.1, 0.02, 0.02, 0.004, 0.004, 0.0008]
    np.testing.assert_allclose(rates, expected, rtol=1e-6)


def test_balanced_subset():
    (pictures, labels), _ = toy_images.load("cifar10")
    # Every picture tells its label.
    pictures[:, 0, 0, 0] = labels
    found, of = cifar.balanced_subset(pictures, labels, 13)
    assert sorted(np.bincount(of, minlength=10)) == [1] * 7 + [2] * 3
    assert len({one.tobytes() for one in found}) == 13
    np.testing.assert_array_equal(found[:, 0, 0, 0], of)
    # The order of the data does not matter.
    shuffled = np.random.default_rng(1).permutation(len(labels))
    other, _ = cifar.balanced_subset(pictures[shuffled], labels[shuffled], 13)
    np.testing.assert_array_equal(other, found)
    assert cifar.balanced_subset(pictures, labels, None)[0] is pictures
    with pytest.raises(ValueError, match="Received: 21 of 20"):
        cifar.balanced_subset(pictures, labels, 21)
