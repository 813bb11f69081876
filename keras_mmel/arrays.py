"""What arrays and tensors hold: values in NumPy, static shapes, ranges."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops
from keras.src.backend.common.tensor_attributes import get_tensor_attr

Shape = Sequence[int | None]

# Views of a range so many times that of their originals, or less, were scaled.
_TIMES = 8


def keras_mask(tensor: Any) -> Any:
    """The Keras mask of a tensor, or None; Keras keeps JAX's beside tensors."""
    return get_tensor_attr(tensor, "_keras_mask")


def to_numpy(tensor: Any) -> np.ndarray:
    """Values of a tensor, also of one on another device of TensorFlow."""
    if keras.backend.backend() == "tensorflow":
        return np.asarray(tensor)
    return ops.convert_to_numpy(ops.stop_gradient(tensor))


def fail_unless(fits: Any, values: Any, message: str, *received: Any) -> Any:
    """`values`; where `fits` is False, an error or, where none can be, NaN.

    TensorFlow raises when the step runs. XLA leaves such a check out, and JAX
    and torch have none: there NaN is what the log and `TerminateOnNaN` see.

    Args:
        fits: Bool scalar, a tensor.
        values: Float tensor.
        message: What must hold, up to "Received: ...".
        *received: Tensors that the error shows.

    Returns:
        A tensor like `values`.
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        check = tf.debugging.Assert(fits, [message, *received])
        # None where the check is made at once, and nothing is waited for.
        with tf.control_dependencies([check]):
            values = tf.identity(values)
    return ops.where(fits, values, float("nan"))


def shapes_agree(shape: Shape, expected: Shape) -> bool:
    """Whether two shapes have one rank and the same sizes.

    Args:
        shape: Static shape; None stands for a size that is not known yet and
            agrees with every other one.
        expected: Likewise.

    Returns:
        True or False.

    Example:

    ```python
    shapes_agree((None, 3), (2, 3))  # True
    shapes_agree((2,), (2, 3))  # False
    ```
    """
    return len(shape) == len(expected) and all(
        size is None or other is None or size == other
        for size, other in zip(shape, expected, strict=True)
    )


def unlike_originals(views: np.ndarray) -> str | None:
    """What sets views apart from their originals: their range, or no content.

    Args:
        views: Numbers `(groups, num_views, ...)`, the original first.

    Returns:
        A sentence, or None where nothing stands out.

    Example:

    ```python
    views = np.arange(1.0, 3.0).reshape(1, 2, 1) * np.arange(4)
    views[:, 1:] /= 255
    unlike_originals(views)
    # "Views are from 0 to 0.02353, their originals from 0 to 3."
    ```
    """
    views = np.asarray(views, "float32")
    originals, augmented = views[:, :1], views[:, 1:]
    if not augmented.size or np.ptp(originals) == 0:
        return None
    times = np.ptp(augmented) / np.ptp(originals)
    if times < 1 / _TIMES or times > _TIMES:
        return (
            f"Views are from {augmented.min():.4g} to {augmented.max():.4g}, "
            f"their originals from {originals.min():.4g} to "
            f"{originals.max():.4g}."
        )
    axes = tuple(range(2, views.ndim))
    # Of one value all over, where the original is not.
    empty = (np.ptp(augmented, axes) == 0) & (np.ptp(originals, axes) > 0)
    if 2 * empty.sum() > empty.size:
        return f"{empty.sum()} of {empty.size} views are one value all over."
    return None
