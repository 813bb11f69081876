"""Views of images made on the device, by JAX.

`draw_*` says by how much each view is moved, a pure function of a key; `crop`
and `turn` move them. Distributions and pixels are those of
`keras_mmel.data.crop_and_flip` and `turn_and_shift`; the random numbers are
JAX's own.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

PADDING = 4
DEGREES, POWER, SHIFT = 60.0, 4.0, 1


def draw_crops(key: Any, number: int, padding: int = PADDING) -> tuple:
    """Rows and columns in [0, 2 * padding], and flips; each `(number,)`."""
    places, coins = jax.random.split(key)
    corners = jax.random.randint(places, (2, number), 0, 2 * padding + 1)
    return *corners, jax.random.bernoulli(coins, shape=(number,))


def draw_turns(key: Any, number: int) -> tuple:
    """Angles in degrees, shifts down and right, flips; each `(number,)`."""
    angles, places, coins = jax.random.split(key, 3)
    signed = jax.random.uniform(angles, (number,), minval=-1.0)
    angles = jnp.sign(signed) * jnp.abs(signed) ** POWER * DEGREES
    shifts = jax.random.randint(places, (2, number), -SHIFT, SHIFT + 1)
    return angles, *shifts, jax.random.bernoulli(coins, shape=(number,))


def _mirrored(images, flips):
    return jnp.where(flips[:, None, None, None], images[:, :, ::-1], images)


def crop(images: Any, rows: Any, columns: Any, flips: Any, padding=PADDING):
    """Cuts each image `(n, height, width, channels)` out of a black margin."""
    shape = images.shape[1:]
    around = (padding, padding)
    padded = jnp.pad(images, ((0, 0), around, around, (0, 0)))

    def cut(image, row, column):
        return jax.lax.dynamic_slice(image, (row, column, 0), shape)

    return _mirrored(jax.vmap(cut)(padded, rows, columns), flips)


def turn(images: Any, angles: Any, down: Any, right: Any, flips: Any) -> Any:
    """Turns each image counterclockwise about its middle, then shifts it.

    Float32, bilinear, 0 for what comes in from outside.
    """
    images = _mirrored(images, flips).astype("float32")
    height, width = images.shape[1:3]
    rows, columns = np.mgrid[:height, :width]
    middle_y, middle_x = (height - 1) / 2, (width - 1) / 2

    def of_image(image, angle, down, right):
        y, x = rows - middle_y - down, columns - middle_x - right
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        places = sin * x + cos * y + middle_y, cos * x - sin * y + middle_x

        def of_channel(channel):
            return jax.scipy.ndimage.map_coordinates(channel, places, order=1)

        return jax.vmap(of_channel, 2, 2)(image)

    radians = angles * (np.pi / 180)
    return jax.vmap(of_image)(images, radians, down, right)


def cropped(images: Any, key: Any) -> Any:
    """A random crop of each image, mirrored half of the time."""
    return crop(images, *draw_crops(key, len(images)))


def turned(images: Any, key: Any) -> Any:
    """A random turn and shift of each image, in its own dtype."""
    views = turn(images, *draw_turns(key, len(images)))
    # The network takes whole numbers; `turn_and_shift` does not round.
    return jnp.round(views).astype(images.dtype)


AUGMENTATIONS = {"crops": cropped, "turns": turned}


def groups(images: Any, key: Any, num_views: int, augment: Any) -> Any:
    """Groups that begin with the original; augmented images for one view.

    Args:
        images: `(n, height, width, channels)`.
        key: Of `jax.random`.
        num_views: Size of a group.
        augment: One of `AUGMENTATIONS`.

    Returns:
        Images of a model or `{"views": (n, num_views, ...)}`.
    """
    if num_views == 1:
        return augment(images, key)
    views = augment(jnp.repeat(images, num_views - 1, axis=0), key)
    views = views.reshape(-1, num_views - 1, *images.shape[1:])
    return {"views": jnp.concatenate([images[:, None], views], 1)}
