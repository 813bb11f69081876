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


def size_and_share(size: Any) -> tuple[Any, Any]:
    """Size of a replica's batch, and by what to multiply a sum over replicas.

    A mean over replicas, weighted by the sizes of their batches, then gives
    the number of the whole batch.

    Args:
        size: Examples of the batch on this replica.

    Returns:
        The size as float32, and the size of the whole batch divided by it.
    """
    size = ops.cast(size, "float32")
    if count() == 1:
        return size, 1.0
    return size, ops.divide_no_nan(total(size), size)


def check_batch(size: Any) -> None:
    """Fails at run time where a replica has no example of the batch."""
    if count() == 1:
        return
    import tensorflow as tf

    tf.debugging.assert_positive(
        size,
        message=(
            f"A batch has fewer examples than the {count()} replicas. Batch "
            "with `drop_remainder=True`, or choose a batch size that leaves "
            "enough examples for the last batch."
        ),
    )


def check_arrays(x: Any, batch_size: int | None) -> None:
    """Raises at the start of `fit` where the last batch will be too small.

    Args:
        x: What `fit` was given. Only data whose size is known is checked:
            arrays and batched datasets of static shape.
        batch_size: What `fit` was given.

    Raises:
        ValueError: If a replica would get no example of the last batch.
    """
    replicas = count()
    if replicas == 1 or x is None or hasattr(x, "element_spec"):
        return
    leaves = keras.tree.flatten(x)
    if not all(hasattr(leaf, "shape") for leaf in leaves):
        return
    examples, batch_size = leaves[0].shape[0], batch_size or 32
    last = examples % batch_size or min(batch_size, examples)
    if last < replicas:
        raise ValueError(
            f"The last batch would have {last} example(s) for {replicas} "
            "replicas: every replica needs one of each batch. Change "
            f"`batch_size` or drop examples. Received: {examples} examples "
            f"with batch_size={batch_size}"
        )
