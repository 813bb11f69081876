"""Sums over the replicas of a `tf.distribute` strategy.

Keras divides the loss of each replica by the replica's own batch size and by
the number of replicas. That is wrong whenever a batch does not split evenly.
Dividing by the size of the whole batch is right for any split.
"""

from typing import Any

import keras
from keras import ops

_SPLIT = (
    "TensorFlow gives each replica as many examples as the batch divided by "
    "the replicas, rounded up, and the last one what is left."
)


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


def divide(numerator: Any, size: Any) -> Any:
    """`numerator` by the sum of `size` over all replicas, 0 where that is 0."""
    if isinstance(size, float) and size > 0 and count() == 1:
        return numerator / size
    size = ops.convert_to_tensor(size, dtype="float32")
    return ops.divide_no_nan(numerator, total(size))


def for_tracking(value: Any, size: Any) -> tuple[Any, Any]:
    """A number that is summed over replicas, as one to be averaged over them.

    The mean over replicas, weighted by the sizes of their batches, is then the
    number of the whole batch.

    Args:
        value: This replica's part of the number.
        size: Examples of the batch on this replica.

    Returns:
        The value to track, and the size as float32.
    """
    size = ops.cast(size, "float32")
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
            f"A replica got no example of a batch. {_SPLIT} Batch with "
            "`drop_remainder=True` and a batch size that the number of "
            f"replicas, {count()}, divides."
        ),
    )


def check_data(x: Any, batch_size: int | None) -> None:
    """Raises at the start of `fit` where a replica will get no example.

    Args:
        x: What `fit` was given. Only data whose size is known is checked:
            arrays, and datasets with batches of static size.
        batch_size: What `fit` was given.

    Raises:
        ValueError: If a replica would get no example of some batch.
    """
    replicas = count()
    if replicas == 1 or x is None:
        return
    leaves = keras.tree.flatten(getattr(x, "element_spec", x))
    sizes = {leaf.shape[0] for leaf in leaves if getattr(leaf, "shape", ())}
    if len(sizes) != 1 or None in sizes:
        return
    size = sizes.pop()
    if hasattr(x, "element_spec"):
        batches = {size}
    else:
        batch_size = min(batch_size or 32, size)
        batches = {batch_size, size % batch_size or batch_size}
    for batch in batches:
        if batch <= (replicas - 1) * -(-batch // replicas):
            raise ValueError(
                f"A batch of {batch} leaves one of {replicas} replicas without "
                f"an example. {_SPLIT} Use a batch size that {replicas} "
                "divides, and drop the remainder or make it larger. "
                f"Received: batches of {sorted(batches)}"
            )
