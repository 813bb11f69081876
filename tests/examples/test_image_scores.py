import keras
import numpy as np
import pytest
import scipy.special
from sklearn.metrics import log_loss

from examples import image_scores


class TestCalibrationError:
    def test_against_a_loop_over_bins(self):
        rng = np.random.default_rng(0)
        p = rng.dirichlet(np.ones(4), size=500)
        labels = rng.integers(0, 4, 500)
        confidence, right = p.max(1), p.argmax(1) == labels
        expected = 0.0
        for low in np.arange(15) / 15:
            inside = (confidence > low) & (confidence <= low + 1 / 15)
            if inside.any():
                gap = right[inside].mean() - confidence[inside].mean()
                expected += inside.mean() * abs(gap)
        found = image_scores.calibration_error(p, labels)
        assert found == pytest.approx(expected, abs=1e-12)

    def test_sure_and_right(self):
        p = np.eye(3)
        assert image_scores.calibration_error(p, np.arange(3)) == 0
        assert image_scores.calibration_error(p, np.array([1, 2, 0])) == 1


class TestShift:
    @pytest.mark.parametrize("down, right", [(1, 0), (-1, 0), (0, 2), (0, -2)])
    def test_against_roll(self, down, right):
        image = np.arange(1, 17).reshape(1, 4, 4, 1)
        moved = image_scores.shift(image, down, right)
        rolled = np.roll(image, (down, right), axis=(1, 2))
        there = moved != 0
        np.testing.assert_array_equal(moved[there], rolled[there])
        assert there.sum() == 16 - 4 * max(abs(down), abs(right))


def test_score():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (60, 8, 8, 1)).astype("uint8")
    labels = rng.integers(0, 3, 60)
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Rescaling(1 / 255),
            keras.layers.Flatten(),
            keras.layers.Dense(3),
        ]
    )
    found = image_scores.score(model, images, labels, by=2)

    def right(images):
        return float(np.mean(np.argmax(model(images), axis=1) == labels))

    probabilities = scipy.special.softmax(np.float64(model(images)), axis=1)
    assert found["accuracy"] == pytest.approx(right(images))
    assert found["accuracy_flipped"] == pytest.approx(right(images[:, :, ::-1]))
    assert found["nll"] == pytest.approx(
        log_loss(labels, probabilities), rel=1e-5
    )
    moved = [
        image_scores.shift(images, *by)
        for by in [(2, 0), (-2, 0), (0, 2), (0, -2)]
    ]
    expected = np.mean([right(images) for images in moved])
    assert found["accuracy_shifted"] == pytest.approx(expected)
