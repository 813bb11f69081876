"""Losses per row from their textbook formulas, in NumPy float64.

Each reference takes labels and predictions of all rows and gives one loss per
row: axes that are left (tokens, pixels, entries of a vector) are averaged.
"""

import numpy as np


def softmax(logits, axis=-1):
    powers = np.exp(logits - logits.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def sigmoid(logits):
    return 1 / (1 + np.exp(-logits))


def one_loss_per_row(values):
    """Mean over whatever axes a row has left."""
    return values.reshape(len(values), -1).mean(1)


def per_entry(formula):
    """Reference from a formula for one number, averaged over a row."""

    def reference(y, p):
        return one_loss_per_row(formula(y.reshape(p.shape), p))

    return reference


def crossentropy(activate=None, smoothing=0.0, axis=-1):
    def reference(y, p):
        q = p if activate is None else activate(p, axis)
        classes = q.shape[axis]
        if y.ndim < q.ndim:
            y = np.moveaxis(np.eye(classes)[y.astype(int)], -1, axis)
        y = y * (1 - smoothing) + smoothing / classes
        return one_loss_per_row(-np.sum(y * np.log(q), axis))

    return reference


def binary(activate=None, smoothing=0.0):
    def formula(y, p):
        q = p if activate is None else activate(p)
        y = y * (1 - smoothing) + smoothing / 2
        return -(y * np.log(q) + (1 - y) * np.log(1 - q))

    return per_entry(formula)


def binary_focal(alpha=None):
    def formula(y, p):
        right = np.where(y == 1, p, 1 - p)
        balance = 1 if alpha is None else np.where(y == 1, alpha, 1 - alpha)
        return -balance * (1 - right) ** 2 * np.log(right)

    return per_entry(formula)


def categorical_focal(alpha, gamma):
    def reference(y, p):
        return -np.sum(alpha * (1 - p) ** gamma * y * np.log(p), -1)

    return reference


def generalized_crossentropy(y, p):
    right = np.take_along_axis(p, y.astype(int)[:, None], -1)[:, 0]
    return (1 - right**0.5) / 0.5


def ignoring(label, activate=None):
    """Sparse crossentropy where the batch's mean is over the other labels."""

    def reference(y, p):
        q = p if activate is None else activate(p)
        kept = y != label
        place = np.where(kept, y, 0).astype(int)[..., None]
        right = np.take_along_axis(q, place, -1)[..., 0]
        return one_loss_per_row(-np.log(right) * kept / kept.mean())

    return reference


def huber(delta):
    def formula(y, p):
        error = np.abs(y - p)
        tail = delta * error - delta**2 / 2
        return np.where(error <= delta, error**2 / 2, tail)

    return per_entry(formula)


def cosine(y, p):
    def unit(v):
        return v / np.linalg.norm(v, axis=-1, keepdims=True)

    return -np.sum(unit(y) * unit(p), -1)


def categorical_hinge(y, p):
    right, wrong = np.sum(y * p, -1), np.max((1 - y) * p, -1)
    return np.maximum(0, wrong - right + 1)


SQUARED = per_entry(lambda y, p: (y - p) ** 2)
ABSOLUTE = per_entry(lambda y, p: np.abs(y - p))
