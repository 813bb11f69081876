"""Sums over the replicas of a `tf.distribute` strategy.

Keras divides the loss of each replica by the replica's own batch size and by
the number of replicas. That is wrong whenever a batch does not split evenly.
Dividing by the size of the whole batch is right for any split.
"""

from typing import Any

import keras
from keras import ops


def count() -> int:
    """Replicas that train in sync: 1 on JAX and torch, and by default."""
    if keras.backend.backend() != "tensorflow":
        return 1
    import tensorflow as tf

    return tf.distribute.get_strategy().num_replicas_in_sync


def has_workers(strategy: Any) -> bool:
    """Whether a `tf.distribute` strategy spans several processes."""
    import tensorflow as tf

    return (
        isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
        # As Keras asks it.
        and strategy.extended._in_multi_worker_mode()
    )


def splits_batches(strategy: Any) -> bool:
    """Whether Keras gives each of several processes a part of each batch."""
    if keras.backend.backend() == "tensorflow":
        return has_workers(strategy)
    distribution = keras.distribution.distribution()
    if distribution is None or distribution.num_processes == 1:
        return False
    return distribution.auto_shard_dataset


def for_log(logs: Any) -> Any:
    """What a step returns, as Keras can take its mean over the replicas.

    With several workers Keras also takes it along axis 0, which scalars lack.

    Args:
        logs: Scalars by name.

    Returns:
        The same, `(1,)` each with several workers.
    """
    if count() == 1:
        return logs
    import tensorflow as tf

    if not has_workers(tf.distribute.get_strategy()):
        return logs
    return keras.tree.map_structure(lambda v: ops.expand_dims(v, 0), logs)


def total(value: Any) -> Any:
    """Sum of `value` over all replicas, the same number on each of them."""
    if count() == 1:
        return value
    import tensorflow as tf

    context = tf.distribute.get_replica_context()
    if context is None:
        # Keras builds the model symbolically outside of any replica: the
        # values mean nothing there, only the shapes do.
        return value * count()
    return context.all_reduce(tf.distribute.ReduceOp.SUM, value)


def divide(numerator: Any, size: Any) -> Any:
    """`numerator` by the sum of `size` over all replicas, 0 where that is 0.

    Args:
        numerator: This replica's part of a sum.
        size: This replica's part of what the sum is divided by: a float where
            it is static, else a scalar tensor; or None where the sum is not
            divided.

    Returns:
        This replica's part of the quotient, as a tensor.
    """
    if size is None:
        return numerator
    if isinstance(size, float) and size > 0 and count() == 1:
        return numerator / size
    size = ops.convert_to_tensor(size, dtype="float32")
    return ops.divide_no_nan(numerator, total(size))


def for_tracking(value: Any, size: Any) -> tuple[Any, Any]:
    """A number that is summed over replicas, as one to be averaged over them.

    The mean over replicas, weighted by the sizes of their batches, is then the
    number of the whole batch.

    Args:
        value: This replica's part of the number; for a loss that is not
            reduced, all values, of which the mean is tracked.
        size: Examples of the batch on this replica.

    Returns:
        The value to track, and the size as float32.
    """
    size = ops.cast(size, "float32")
    if len(value.shape):
        value = ops.mean(value)
    if count() == 1:
        return value, size
    return value * ops.divide_no_nan(total(size), size), size


def check_batch(size: Any) -> Any:
    """Fails where a replica has no example of the batch.

    Args:
        size: Examples of the batch on this replica.

    Returns:
        The operation that makes the check when the step runs. None where it is
        made at once, or not needed.
    """
    if count() == 1:
        return None
    import tensorflow as tf

    rule = (
        "A replica got no example of a batch. TensorFlow gives each replica as "
        "many examples as the batch divided by the replicas, rounded up, and "
        "the last one what is left. Batch with `drop_remainder=True` and a "
        f"batch size that the number of replicas, {count()}, divides."
    )
    return tf.debugging.assert_positive(size, rule)
