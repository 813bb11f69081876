"""Random turns and shifts of images, most of them mild and a few hard."""

import math
from collections.abc import Callable

import tensorflow as tf

from keras_mmel.counts import check_count
from keras_mmel.data import arguments
from keras_mmel.data.randomness import seeds as seeds_lib
from keras_mmel.formulas import is_number

# Random numbers are multiples of 1 / 2^24, which float32 holds exactly.
_STEPS = 2**24


def turn_and_shift(
    degrees: float = 60.0,
    power: float = 4.0,
    shift: int = 1,
    flip: bool = False,
) -> Callable:
    r"""Augments images by a random turn and a random shift, unevenly hard.

    Every view is turned about its middle by $\pm d\,u^p$ degrees, where $d$ is
    `degrees`, $p$ is `power` and $u$ is uniform from 0 to 1; either sign has
    probability 1/2. The turned image is shifted down and right by whole pixels,
    each drawn uniformly from -`shift` to `shift`. All draws are independent.
    With power 4 most views are mild: half of them are turned by less than 1/16
    of `degrees`, and one in eight by more than 60 % of it. Objectives that
    weigh views by their losses are for such views; with power 1 all angles are
    equally likely.

    Pixels are interpolated bilinearly, and those that come in from outside are
    0, so standardize after the views are made. Views are float32 with the
    range of the images; `group_views` takes them of whole numbers and of
    float32.

    Args:
        degrees: The largest angle, at least 0.
        power: How uneven the angles are, above 0: 1 for angles that are all
            equally likely, more for many small ones.
        shift: The largest shift in either direction, in pixels; smaller than
            the image.
        flip: Whether to mirror half of the views from left to right, before
            they are turned.

    Returns:
        An augmentation for `group_views`, of images (height, width, channels)
        of one size.

    Raises:
        TypeError: If `shift` is no integer.
        ValueError: If `degrees` or `power` is no number, `degrees` or `shift`
            is negative, or `power` is not above 0; and, when the views are
            made, if they are not made of such images.

    Example:

    ```python
    augment = keras_mmel.data.turn_and_shift(degrees=60, power=4, shift=1)
    images = np.zeros((2, 8, 8, 1), "float32")
    seeds = np.arange(20, dtype="int32").reshape(2, 5, 2)
    augment(images, seeds).shape  # (2, 5, 8, 8, 1)
    ```
    """
    for name, value in (("degrees", degrees), ("power", power)):
        if not (is_number(value) and 0 <= value < math.inf):
            raise ValueError(
                f"`{name}` must be a finite number, at least 0. "
                f"Received: {name}={value!r}"
            )
    if power == 0:
        raise ValueError("`power` must be above 0. Received: power=0")
    shift = check_count("shift", shift, 0)

    def augment(images, seeds):
        images = arguments.single_images(
            "turn_and_shift", images, "shift", shift
        )
        seeds = tf.convert_to_tensor(seeds, tf.int32)
        batch, views = tf.shape(seeds)[0], seeds.shape[1]
        keys = tf.bitcast(tf.reshape(seeds, (-1, 2)), tf.uint64)
        angles, down, right = draw_turns(keys, degrees, power, shift)
        copies = tf.repeat(images, views, axis=0)
        if flip:
            is_mirrored = (_uniform(keys, 3) < 0.5)[:, None, None, None]
            copies = tf.where(is_mirrored, tf.reverse(copies, [2]), copies)
        turned = turn(copies, angles, down, right)
        return tf.reshape(turned, (batch, views, *images.shape[1:]))

    return augment


def draw_turns(
    keys: tf.Tensor, degrees: float, power: float, shift: int
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Draws by how much each view is turned and shifted.

    Args:
        keys: (views,) uint64, the seeds of the views.
        degrees: The largest angle.
        power: How uneven the angles are.
        shift: The largest shift, in pixels.

    Returns:
        Angles in degrees, shifts down and shifts right; each (views,) float32.
    """
    signed = 2 * _uniform(keys, 0) - 1
    angles = tf.sign(signed) * tf.abs(signed) ** power * degrees
    places = 2 * shift + 1
    down, right = (
        tf.floor(_uniform(keys, stream) * places) - shift for stream in (1, 2)
    )
    return angles, down, right


def turn(
    images: tf.Tensor, degrees: tf.Tensor, down: tf.Tensor, right: tf.Tensor
) -> tf.Tensor:
    """Turns each image counterclockwise about its middle, then shifts it.

    Args:
        images: (images, height, width, channels).
        degrees: (images,) float32.
        down: (images,) float32, in pixels.
        right: Likewise.

    Returns:
        Float32 of the same shape; where nothing was, zeros.
    """
    angle = degrees * (math.pi / 180)
    height, width = images.shape[1:3]
    cos, sin = tf.cos(angle), tf.sin(angle)
    # The transform says for a pixel (x, y) of the result where it comes from:
    # what is turned about (x0, y0) and then shifted has its middle at (x1, y1).
    x0, y0 = (width - 1) / 2, (height - 1) / 2
    x1, y1 = right + x0, down + y0
    zero = tf.zeros_like(angle)
    x_from = [cos, -sin, x0 - cos * x1 + sin * y1]
    y_from = [sin, cos, y0 - sin * x1 - cos * y1]
    # TensorFlow's operation whatever the backend: it runs in tf.data.
    return tf.raw_ops.ImageProjectiveTransformV3(
        images=tf.cast(images, tf.float32),
        transforms=tf.stack([*x_from, *y_from, zero, zero], axis=1),
        output_shape=[height, width],
        interpolation="BILINEAR",
        fill_mode="CONSTANT",
        fill_value=0.0,
    )


def _uniform(keys, stream):
    """Float32 in [0, 1), one for each key; streams are independent."""
    numbers = seeds_lib.fold(keys, stream) % _STEPS
    return tf.cast(numbers, tf.float32) / _STEPS
