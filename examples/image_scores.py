"""What an image classifier is worth: accuracy, calibration, robustness."""

import numpy as np
import scipy.special

BINS = 15


def calibration_error(
    probabilities: np.ndarray, labels: np.ndarray, bins: int = BINS
) -> float:
    r"""Expected calibration error of the top class (ECE).

    $\sum_b \frac{n_b}{n} |acc_b - conf_b|$ over equally wide bins of the
    confidence, each open at its lower end.

    Args:
        probabilities: `(examples, classes)`.
        labels: `(examples,)`, integers.
        bins: number of bins.

    Returns:
        From 0 to 1.

    Example:

    ```python
    calibration_error(np.array([[0.9, 0.1], [0.9, 0.1]]), np.array([0, 1]))
    # 0.4
    ```

    Reference:
        Guo et al., On calibration of modern neural networks, ICML 2017.
    """
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == labels
    place = np.ceil(confidence * bins).astype(int).clip(1, bins)
    gaps = np.bincount(place, weights=right - confidence, minlength=bins + 1)
    return float(np.abs(gaps).sum() / len(labels))


def shift(images: np.ndarray, down: int, right: int) -> np.ndarray:
    """Images moved by whole pixels, black where they came from.

    Args:
        images: `(n, height, width, channels)`.
        down: rows; negative moves up.
        right: columns; negative moves left.
    """
    moved = np.zeros_like(images)
    height, width = images.shape[1:3]
    to_rows, from_rows = _overlap(down, height)
    to_columns, from_columns = _overlap(right, width)
    moved[:, to_rows, to_columns] = images[:, from_rows, from_columns]
    return moved


def score(model, images: np.ndarray, labels: np.ndarray, by: int = 4) -> dict:
    """All scores of a model that gives logits.

    Args:
        model: a Keras model.
        images: `(n, height, width, channels)`.
        labels: `(n,)`.
        by: pixels of the shifts.

    Returns:
        `accuracy`, `nll`, `ece`, and `accuracy_flipped` (left to right) and
        `accuracy_shifted` (mean over four directions).
    """
    logits = _logits(model, images)
    log_p = scipy.special.log_softmax(logits, axis=1)
    rows = np.arange(len(labels))
    flipped = _logits(model, images[:, :, ::-1])
    shifted = [
        _accuracy(_logits(model, shift(images, down, right)), labels)
        for down, right in [(by, 0), (-by, 0), (0, by), (0, -by)]
    ]
    return {
        "accuracy": _accuracy(logits, labels),
        "nll": float(-log_p[rows, labels].mean()),
        "ece": calibration_error(np.exp(log_p), labels),
        "accuracy_flipped": _accuracy(flipped, labels),
        "accuracy_shifted": float(np.mean(shifted)),
    }


def _overlap(by, size):
    if by >= 0:
        return slice(by, size), slice(0, size - by)
    return slice(0, size + by), slice(-by, size)


def _logits(model, images):
    found = model.predict(images, batch_size=250, verbose=0)
    return np.asarray(found, "float64")


def _accuracy(logits, labels):
    return float(np.mean(logits.argmax(axis=1) == labels))
