"""Values out of arrays that stay where they are, in functions of tf.data."""

import numpy as np
import tensorflow as tf


def gather(array: np.ndarray, index: tf.Tensor) -> tf.Tensor:
    """Gives `array[index]`, as `tf.gather` does, without a copy of the array.

    What a function of tf.data captures becomes a tensor, and once more a
    constant of the graph that tf.data optimizes. NumPy reads an array in
    place, also one that is mapped from a file.

    Args:
        array: Of any dtype, also strings as objects.
        index: Integers of any shape, all of them places in the array.

    Returns:
        A tensor (*index.shape, *array.shape[1:]).
    """
    values = tf.numpy_function(
        lambda index: array[index], [index], array.dtype, stateful=False
    )
    return tf.ensure_shape(values, [*index.shape, *array.shape[1:]])
