"""MMEL training in plain TensorFlow, one group at a time.

Written from the paper and shares no code with `keras_mmel`: losses are
spelled out, `p = softmax(l / lambda)` is a constant, and what is minimised is
`sum p l`, whose gradient is the one of equations 7 to 10. Padding is not
masked but left out. Only the optimizer and the model are Keras's.
"""

import inspect
import math

import numpy as np
import tensorflow as tf

from keras_mmel.objectives import Soft

LOG_KEYS = ("loss", "original_loss", "effective_views")


def log_softmax(logits):
    shifted = logits - tf.reduce_max(logits, axis=-1, keepdims=True)
    normalizer = tf.reduce_sum(tf.exp(shifted), axis=-1, keepdims=True)
    return shifted - tf.math.log(normalizer)


def label_losses(regression, label, predictions):
    """Losses of views against their label, or each its own, as compiled."""
    if regression:
        return tf.reduce_mean((predictions - label) ** 2, axis=-1)
    labels = np.broadcast_to(label, len(predictions))
    return -tf.gather(log_softmax(predictions), labels, batch_dims=1)


def target_losses(regression, targets, predictions):
    """Losses of views against predicted distributions or values."""
    if regression:
        return tf.reduce_mean((predictions - targets) ** 2, axis=-1)
    return -tf.reduce_sum(targets * log_softmax(predictions), axis=-1)


def soft_targets(regression, predictions, teacher, stop_gradient):
    """What the augmented views of a group are compared with (section 3.3)."""
    target = predictions[:1]
    if not regression:
        target = tf.exp(log_softmax(target))
    target = tf.stop_gradient(target) if stop_gradient else target
    if teacher is None:
        return target
    if regression:
        differs = tf.abs(teacher[1:] - predictions[:1]) > 0.5
    else:
        found = np.argmax(teacher, axis=-1)
        differs = (found[1:] != found[0])[:, None]
    return tf.where(differs, teacher[1:], target)


def view_weights(losses, lambda_p):
    """Equation 6 for one group, with its two limits."""
    if lambda_p == 0:
        largest = tf.cast(losses == tf.reduce_max(losses), "float32")
        return largest / tf.reduce_sum(largest)
    scaled = losses / lambda_p
    powers = tf.exp(scaled - tf.reduce_max(scaled))
    return powers / tf.reduce_sum(powers)


def reweighted(losses, lambda_p):
    """`sum p l` to minimise, R to log (equation 7), and the weights."""
    weights = tf.stop_gradient(view_weights(losses, lambda_p))
    expected = tf.reduce_sum(weights * losses)
    p, values = weights.numpy().astype("float64"), losses.numpy()
    inside = p > 0
    divergence = np.sum(p[inside] * np.log(len(p) * p[inside]))
    penalty = 0.0
    if 0 < lambda_p < math.inf:
        penalty = lambda_p * divergence
    return expected, np.sum(p * values) - penalty, p


def views_of(views):
    return tf.nest.flatten(views)[0].shape[1]


class Reference:
    """Trains `model` on batches of groups.

    Args:
        model: A Keras model that gives logits (or values, for regression).
        optimizer: A Keras optimizer.
        objective: Whose settings to take: a `Hard`, `Soft` or `Uniform`.
        regression: Squared error in place of sparse labels.
        reduction: Of the batch, as Keras names it.
    """

    def __init__(
        self,
        model,
        optimizer,
        objective,
        *,
        regression=False,
        reduction="sum_over_batch_size",
    ):
        self.model, self.optimizer, self.objective = model, optimizer, objective
        self.lambda_p = getattr(objective, "lambda_p", math.inf)
        self.regression, self.reduction = regression, reduction
        # Keras runs a model whose `call` does not take it as in inference.
        takes = "training" in inspect.signature(model.call).parameters
        self.training = {"training": True} if takes else {}
        self.steps = []

    def group(self, label, predictions, teacher):
        """Differentiable value, R, weights and original loss of one group."""
        compiled = label_losses(self.regression, label, predictions)
        augmented, objective = predictions[1:], self.objective
        if isinstance(objective, Soft):
            targets = soft_targets(
                self.regression, predictions, teacher, objective.stop_gradient
            )
            if not len(augmented):
                return compiled[0], compiled[0], np.zeros(0), compiled[0]
            value, loss, weights = reweighted(
                target_losses(self.regression, targets, augmented),
                self.lambda_p,
            )
            return (
                compiled[0] + objective.lambda_t * value,
                compiled[0] + objective.lambda_t * loss,
                weights,
                compiled[0],
            )
        losses = compiled
        if teacher is not None:
            taught = target_losses(self.regression, teacher[1:], augmented)
            losses = tf.concat([compiled[:1], taught], axis=0)
        return *reweighted(losses, self.lambda_p), compiled[0]

    def step(self, x, y, sample_weight=None):
        """One batch in the contract, as NumPy arrays."""
        views, mask = x["views"], x.get("mask")
        y = y if isinstance(y, dict) else {"label": y}
        teacher, moving = y.get("teacher"), y.get("views")
        labels = y.get("label", moving)
        batch = len(labels)
        example_weights = np.ones(batch, "float32")
        if sample_weight is not None:
            example_weights = np.asarray(sample_weight, "float32")
        size = {
            "sum_over_batch_size": batch,
            "sum": 1.0,
            "mean_with_sample_weight": example_weights.sum(),
        }[self.reduction]
        real = np.ones((batch, views_of(views)), bool) if mask is None else mask
        with tf.GradientTape() as tape:
            predictions = self.predict_groups(views, real)
            groups = [
                self.group(
                    labels[i] if moving is None else moving[i][real[i]],
                    predictions[i],
                    None if teacher is None else teacher[i][real[i]],
                )
                for i in range(batch)
            ]
            regularization = tf.add_n([*self.model.losses, tf.zeros(())])
            total = regularization + tf.add_n(
                [
                    weight * group[0] / size
                    for weight, group in zip(
                        example_weights, groups, strict=True
                    )
                ]
            )
        weights = self.model.trainable_weights
        gradients = tape.gradient(total, weights)
        self.optimizer.apply_gradients(zip(gradients, weights, strict=True))

        def reduced(which):
            values = np.array([float(group[which]) for group in groups])
            return np.sum(example_weights * values) / size + regularization

        effective = [
            np.exp(-np.sum(p[p > 0] * np.log(p[p > 0])))
            for _, _, p, _ in groups
        ]
        self.steps.append(
            (batch, float(reduced(1)), float(reduced(3)), np.mean(effective))
        )

    def predict_groups(self, views, real):
        """Predictions of the real views, a list of tensors, one per group."""
        flat = tf.nest.map_structure(lambda v: tf.constant(v[real]), views)
        predicted = tf.cast(self.model(flat, **self.training), "float32")
        return tf.split(predicted, real.sum(axis=1).tolist())

    def fit(self, batches, epochs=1):
        """Returns the log of every epoch: means over the examples."""
        history = {key: [] for key in LOG_KEYS}
        for _ in range(epochs):
            self.steps = []
            for batch in batches:
                self.step(*batch)
            size, *values = np.array(self.steps).T
            for key, value in zip(LOG_KEYS, values, strict=True):
                history[key].append(np.sum(size * value) / np.sum(size))
        self.optimizer.finalize_variable_values(self.model.trainable_weights)
        return history
