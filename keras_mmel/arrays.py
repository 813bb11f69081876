"""Tensors of any backend: their values in NumPy, and their static shapes."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops


def to_numpy(tensor: Any) -> np.ndarray:
    """Values of a tensor, also of one on another device of TensorFlow."""
    if keras.backend.backend() == "tensorflow":
        return np.asarray(tensor)
    return ops.convert_to_numpy(ops.stop_gradient(tensor))


def shapes_agree(
    shape: Sequence[int | None], expected: Sequence[int | None]
) -> bool:
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
