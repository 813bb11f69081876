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
    found = keras.distribution.distribution()
    several = found is not None and found.num_processes > 1
    return several and found.auto_shard_dataset


def for_log(logs: Any) -> Any:
    """What a step returns, as Keras can take its mean over the replicas.

    With several workers Keras also takes it along axis 0, which scalars lack.
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
        # Keras builds the model symbolically outside of any replica.
        return value * count()
    return context.all_reduce(tf.distribute.ReduceOp.SUM, value)


def divide(numerator: Any, size: Any) -> Any:
    """`numerator` by the sum of `size` over all replicas, 0 where that is 0.

    Where `size` is None, there is nothing to divide by.
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
    value = ops.mean(value) if len(value.shape) else value
    if count() == 1:
        return value, size
    return value * ops.divide_no_nan(total(size), size), size


def check_batch(size: Any) -> Any:
    """Operation that fails where a replica has no example of the batch.

    None where the check is made at once, or not needed.
    """
    if count() == 1:
        return None
    import tensorflow as tf

    return tf.debugging.assert_positive(
        size,
        message=(
            "A replica got no example of a batch. TensorFlow gives each "
            "replica as many examples as the batch divided by the replicas, "
            "rounded up, and the last one what is left. Batch with "
            "`drop_remainder=True` and a batch size that the number of "
            f"replicas, {count()}, divides."
        ),
    )
