"""The training step on TensorFlow, also within a replica of a strategy."""

import warnings
from typing import Any

import keras
import tensorflow as tf

from keras_mmel import contract
from keras_mmel.training import replicas


def train_step(model: keras.Model, data: Any) -> dict:
    """One forward pass over all views, one backward pass, one update.

    Args:
        model: An `MMELModel`.
        data: `(x, y)` or `(x, y, sample_weight)` with groups in `x`.

    Returns:
        The logs of the epoch so far.
    """
    x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
    contract.check_groups(x)
    sizes = contract.sizes_of(x)
    checks = _checks(x, y, sizes, model._objective.soft_targets)
    # The forward pass waits for the checks, and with it all that changes a
    # variable, such as batch normalization.
    with tf.control_dependencies(checks):
        x = tf.nest.map_structure(tf.identity, x)
    with tf.GradientTape() as tape:
        options = {"training": True} if model._call_has_training_arg else {}
        y_pred = model(x, **options)
        loss = model.compute_loss(x, y, y_pred, sample_weight, training=True)
        scaled = model.optimizer.scale_loss(loss)
    trainable = model.trainable_weights
    if trainable:
        gradients = tape.gradient(scaled, trainable)
        model.optimizer.apply_gradients(zip(gradients, trainable, strict=True))
    else:
        warnings.warn(
            "The model does not have any trainable weights.", stacklevel=2
        )
    tracker = next(m for m in model.metrics if m.name == "loss")
    mean_loss, size = replicas.for_tracking(loss, sizes.batch)
    tracker.update_state(mean_loss, sample_weight=size)
    return replicas.for_log(model.compute_metrics(x, y, y_pred, sample_weight))


def _checks(x, y, sizes, is_soft):
    """What can only be seen when the step runs, before it changes a weight."""
    checks = [replicas.check_batch(sizes.batch)]
    if sizes.mask is not None:
        is_real = tf.reduce_all(sizes.mask[:, 0])
        rule = "The first view of a group is the original, never padding"
        checks.append(tf.debugging.Assert(is_real, [rule]))
    label, *more = contract.split_labels(y)
    of_views = _leaves((x["views"], x.get("mask"), *more))
    # Static sizes were compared when the step was traced. Too few axes are for
    # the checks that know what each tensor is.
    if any(contract.rank(t) is None or None in t.shape[1:2] for t in of_views):
        first, *others = of_views
        checks += [_agree(other, first, axes=2) for other in others]
        checks += [_agree(leaf, first, axes=1) for leaf in _leaves(label)]
    if is_soft and not isinstance(sizes.views, int):
        rule = "The soft objective needs groups of at least 2 views"
        checks.append(tf.debugging.assert_greater(sizes.views, 1, rule))
    return [check for check in checks if check is not None]


def _agree(leaf, first, axes):
    sizes, expected = tf.shape(leaf)[:axes], tf.shape(first)[:axes]
    rule = "Views, mask, teacher and labels must agree in their sizes"
    return tf.debugging.assert_equal(sizes, expected, rule)


def _leaves(nest):
    return [leaf for leaf in tf.nest.flatten(nest) if leaf is not None]
