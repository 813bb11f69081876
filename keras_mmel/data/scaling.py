"""From pixels to the numbers that a network takes."""

from collections.abc import Callable
from collections.abc import Sequence

import numpy as np
import tensorflow as tf


def standardize(
    mean: float | Sequence[float],
    std: float | Sequence[float],
    scale: float = 255.0,
    dtype: str = "float32",
) -> Callable:
    """Makes a function that maps images to `(images / scale - mean) / std`.

    It takes plain images and views alike: give it to `group_views` as
    `postprocess` and map it over the data for `evaluate`.

    Args:
        mean: Mean of the pixels after division by `scale`, one number or one
            per channel.
        std: Their standard deviation, likewise.
        scale: The largest pixel value; 1 for images that are in [0, 1].
        dtype: Dtype of the result.

    Returns:
        A function of a tensor (..., channels).

    Raises:
        ValueError: If `mean` is not finite, or `std` or `scale` not positive
            and finite.

    Example:

    ```python
    to_floats = keras_mmel.data.standardize(mean=0.5, std=0.25)
    to_floats(np.array([0, 255], "uint8"))  # [-2., 2.]
    ```
    """
    means = np.asarray(mean, "float64")
    deviations = np.asarray(std, "float64")
    if not np.all(np.isfinite(means)):
        raise ValueError(f"`mean` must be finite. Received: mean={mean}")
    for name, value in (("std", std), ("scale", scale)):
        if not np.all(np.isfinite(value)) or not np.all(np.asarray(value) > 0):
            raise ValueError(
                f"`{name}` must be positive and finite. "
                f"Received: {name}={value}"
            )
    factor = (1.0 / (scale * deviations)).astype("float32")
    offset = (means / deviations).astype("float32")

    def apply(images):
        images = tf.convert_to_tensor(images)
        rows, by, less = images, factor, offset
        *outer, channels = images.shape
        if outer and outer[-1] and (factor.ndim or offset.ndim):
            # As rows of the image: broadcasting over the channels alone takes
            # four times as long.
            rows = tf.reshape(images, [-1, outer[-1] * channels])
            by, less = (
                np.tile(np.broadcast_to(v, channels), outer[-1])
                for v in (factor, offset)
            )
        result = tf.cast(tf.cast(rows, tf.float32) * by - less, dtype)
        result = tf.reshape(result, tf.shape(images))
        return tf.ensure_shape(result, images.shape)

    return apply
