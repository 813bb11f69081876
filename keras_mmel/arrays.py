"""Values of tensors as NumPy arrays, whatever the backend."""

from typing import Any

import keras
import numpy as np
from keras import ops


def to_numpy(tensor: Any) -> np.ndarray:
    """Values of a tensor, also of one on another device of TensorFlow."""
    if keras.backend.backend() == "tensorflow":
        return np.asarray(tensor)
    return ops.convert_to_numpy(ops.stop_gradient(tensor))
