"""Rotated and shifted views of images, uneven in how hard they are.

Views: a rotation by `degrees` * u^power to either side, u uniform from 0 to 1
(with power 4 most are mild and one in nine is beyond 60 % of `degrees`), and a
shift by up to `shift` whole pixels. The test grid has every angle of a list
with every shift of a list.
"""

import itertools
import math

import tensorflow as tf

from keras_mmel.data.seeds import fold


def transform(images, degrees, down, right):
    """Images turned about their middle, then shifted; black comes in.

    Args:
        images: `(n, height, width, channels)`, any number type.
        degrees: `(n,)`, counterclockwise.
        down: `(n,)`, in pixels.
        right: `(n,)`, in pixels.

    Returns:
        Float32 like `images`, bilinear.
    """
    images = tf.cast(images, tf.float32)
    angle = tf.cast(degrees, tf.float32) * (math.pi / 180)
    height, width = images.shape[1:3]
    cos, sin = tf.cos(angle), tf.sin(angle)
    # For a pixel (x, y) of the result, where it comes from.
    x0, y0 = (width - 1) / 2, (height - 1) / 2
    x = tf.cast(right, tf.float32) + x0
    y = tf.cast(down, tf.float32) + y0
    rows = [cos, -sin, x0 - cos * x + sin * y]
    rows += [sin, cos, y0 - sin * x - cos * y]
    zero = tf.zeros_like(angle)
    return tf.raw_ops.ImageProjectiveTransformV3(
        images=images,
        transforms=tf.stack([*rows, zero, zero], axis=1),
        output_shape=[height, width],
        interpolation="BILINEAR",
        fill_mode="CONSTANT",
        fill_value=0.0,
    )


def rotated_views(degrees=60.0, power=4.0, shift=1, flip=False):
    """An augmentation for `group_views`: `augment(images, seeds)`.

    Args:
        degrees: The largest angle.
        power: How uneven the angles are: 1 for all alike.
        shift: The largest shift, in pixels.
        flip: Whether half of the views are flipped left to right.
    """

    def augment(images, seeds):
        batch, views = tf.shape(seeds)[0], seeds.shape[1]
        keys = tf.bitcast(tf.reshape(seeds, (-1, 2)), tf.uint64)

        def uniform(stream):
            return tf.cast(fold(keys, stream) % 2**24, tf.float32) / 2**24

        signed = 2 * uniform(0) - 1
        angles = tf.sign(signed) * tf.abs(signed) ** power * degrees
        down, right = (
            tf.floor(uniform(stream) * (2 * shift + 1)) - shift
            for stream in (1, 2)
        )
        copies = tf.repeat(images, views, axis=0)
        if flip:
            mirrored = tf.reverse(copies, [2])
            copies = tf.where(
                (uniform(3) < 0.5)[:, None, None, None], mirrored, copies
            )
        made = transform(copies, angles, down, right)
        return tf.reshape(made, (batch, views, *images.shape[1:]))

    return augment


def grid(angles, shifts=((0, 0),)):
    """Functions of one image, for `grid_views`, without the identity."""

    def function(angle, down, right):
        return lambda image: transform(image[None], [angle], [down], [right])[0]

    return [
        function(angle, *move)
        for angle, move in itertools.product(angles, shifts)
        if (angle, *move) != (0, 0, 0)
    ]
