"""Fixed changes of an image with a strength, to look at and to test on."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from keras_mmel.counts import check_count
from keras_mmel.data.turning import turn


def corruptions(
    severity: int = 3, value_range: tuple[float, float] = (0, 255)
) -> dict[str, Callable]:
    r"""Makes twelve named transformations of an image, for `grid_views`.

    With $s$ the severity, and pixels $p$ on a scale from 0 to 1:

    - `"noise"`: $p$ plus normal noise of deviation $0.06 s$;
    - `"salt and pepper"`: a share of $0.03 s$ of the values is 0 or 1;
    - `"blurred"`, `"pixelated"`: reduced to $1 / (1 + s / 2)$ of the size and
      enlarged again, smoothly or in squares;
    - `"darker"`, `"brighter"`: $p \mp 0.1 s$;
    - `"low contrast"`: the distance to the mean times $1 / (1 + s / 2)$;
    - `"occluded"`: a gray rectangle of $0.1 + 0.1 s$ of the sides in the
      middle;
    - `"turned"`: by $10 s$ degrees, counterclockwise;
    - `"shifted"`: by $0.04 s$ of the sides, down and to the right;
    - `"flipped"`: left for right, whatever $s$ is;
    - `"JPEG"`: of quality $30 - 5 s$.

    They are deterministic: the noise of an image comes from its pixels. They
    are for looking and testing, and are neither CIFAR-10-C nor ImageNet-C:
    numbers of those do not compare. Whether a change leaves the label as it is
    (a 6 that is turned, a flipped letter), only you know.

    Args:
        severity: From 1 to 5.
        value_range: The smallest and the largest value of a pixel.

    Returns:
        Functions by name, each from an image `(height, width, channels)` with 1
        or 3 channels to one of its shape and dtype.

    Raises:
        TypeError: If `severity` is no integer.
        ValueError: If it is not from 1 to 5, or `value_range` no such pair. A
            function raises it for an image of another shape, and
            `tf.errors.InvalidArgumentError` for pixels beyond `value_range`, or
            of floats up to 1 where they may be from 0 to 255.

    Example:

    ```python
    broken = keras_mmel.data.corruptions(severity=3)
    groups = keras_mmel.data.grid_views(examples, broken, batch_size=32)
    groups.view_names  # ["original", "noise", ...]
    ```
    """
    severity = check_count("severity", severity, 1)
    is_pair = np.shape(value_range) == (2,)
    if severity > 5 or not is_pair or not value_range[0] < value_range[1]:
        raise ValueError(
            "`severity` must be from 1 to 5, and `value_range` a smaller and a "
            f"larger number. Received: {severity=}, {value_range=}"
        )
    low, high = value_range

    def on_pixels(change):
        @tf.autograph.experimental.do_not_convert
        def corrupt(image):
            pixels = _checked(tf.convert_to_tensor(image), low, high)
            changed = change((pixels - low) / (high - low))
            changed = tf.clip_by_value(changed, 0.0, 1.0) * (high - low) + low
            rounded = tf.round(changed) if image.dtype.is_integer else changed
            return tf.cast(rounded, image.dtype)

        return corrupt

    changes = _changes(severity)
    return {name: on_pixels(change) for name, change in changes.items()}


def _changes(severity):
    """Functions of float images from 0 to 1, by name."""
    smaller, quality = 1 / (1 + severity / 2), 30 - 5 * severity
    half_side = 0.05 + 0.05 * severity

    def noise(image):
        drawn = tf.random.stateless_normal(image.shape, _seed(image))
        return image + 0.06 * severity * drawn

    def salt_and_pepper(image):
        drawn = tf.random.stateless_uniform(image.shape, _seed(image))
        is_hit = tf.abs(drawn - 0.5) > 0.5 - 0.015 * severity
        return tf.where(is_hit, tf.round(drawn), image)

    def resized(image, down, up):
        sides = image.shape[:2]
        fewer = [max(round(side * smaller), 1) for side in sides]
        image = tf.image.resize(image, fewer, down, antialias=True)
        return tf.image.resize(image, sides, up)

    def occluded(image):
        inside = (
            np.abs(np.arange(side) - (side - 1) / 2) < side * half_side
            for side in image.shape[:2]
        )
        return tf.where(np.logical_and.outer(*inside)[..., None], 0.5, image)

    def moved(image, degrees, part):
        height, width, _ = image.shape
        by = (tf.constant([v]) for v in (degrees, part * height, part * width))
        return turn(image[None], *by)[0]

    return {
        "noise": noise,
        "salt and pepper": salt_and_pepper,
        "blurred": lambda image: resized(image, "gaussian", "bicubic"),
        "pixelated": lambda image: resized(image, "area", "nearest"),
        "darker": lambda image: image - 0.1 * severity,
        "brighter": lambda image: image + 0.1 * severity,
        "low contrast": lambda image: tf.image.adjust_contrast(image, smaller),
        "occluded": occluded,
        "turned": lambda image: moved(image, 10.0 * severity, 0.0),
        "shifted": lambda image: moved(image, 0.0, 0.04 * severity),
        "flipped": tf.image.flip_left_right,
        "JPEG": lambda image: tf.image.adjust_jpeg_quality(image, quality),
    }


def _checked(image, low, high):
    """The image as floats, looked at when the function runs."""
    if image.shape.rank != 3 or image.shape[-1] not in (1, 3):
        raise ValueError(
            "A corruption must get an image (height, width, channels) of a "
            "known shape, with 1 or 3 channels; give gray images a channel, "
            f"image[..., None]. Received: shape {image.shape}"
        )
    pixels = tf.cast(image, tf.float32)
    smallest, largest = tf.reduce_min(pixels), tf.reduce_max(pixels)
    fits = (smallest >= low) & (largest <= high)
    if image.dtype.is_floating and high > 2:  # not from 0 to 1
        # Whole numbers are a dark picture, fractions one of another range.
        is_whole = tf.reduce_all(pixels == tf.round(pixels))
        fits &= (largest > 1) | (largest == smallest) | is_whole
    message = f"Pixels must be of `value_range`, {low} to {high}. Received:"
    check = tf.debugging.Assert(fits, [message, smallest, largest])
    # None where the check is made at once, and nothing is waited for.
    with tf.control_dependencies([check]):
        return tf.identity(pixels)


def _seed(image):
    """A seed of its own for each image, the same on every machine."""
    pixels = tf.io.serialize_tensor(tf.cast(tf.round(image * 255), tf.uint8))
    return tf.stack([tf.strings.to_hash_bucket_fast(pixels, 2**31), 0])
