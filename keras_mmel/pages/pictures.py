"""Views of images as small pictures of bytes, and inside of HTML."""

import base64
import io
from typing import Any

import keras
import numpy as np

from keras_mmel import extras

# Pictures are kept in memory and in files with every run.
LARGEST_SIDE = 64
# Bytes up to here are of another scale, as digits from 0 to 16 are.
_DARK = 31


def find_images(views: Any) -> np.ndarray | None:
    """The images among the inputs of a batch of groups.

    Args:
        views: Nest of arrays `(groups, num_views, ...)`.

    Returns:
        The first array of shape `(groups, num_views, height, width, channels)`
        with 1, 3 or 4 channels, channels last, or None.

    Example:

    ```python
    find_images({"image": np.zeros((2, 5, 32, 32, 3))}).shape
    # (2, 5, 32, 32, 3)
    ```
    """
    for leaf in keras.tree.flatten(views):
        if getattr(leaf, "ndim", 0) != 5 or leaf.dtype.kind not in "biuf":
            continue
        if keras.config.image_data_format() == "channels_first":
            leaf = np.moveaxis(leaf, 2, -1)
        if leaf.shape[-1] in (1, 3, 4):
            return leaf
    return None


def thumbnails(images: np.ndarray) -> np.ndarray:
    """Images as small pictures to look at.

    Images of bytes keep their values, unless all are below 32, and floats from
    0 to 1 are scaled. All others, such as standardized ones, are stretched from
    the darkest to the brightest percent of each channel. Sides above 64 pixels
    are reduced by an integer factor.

    Args:
        images: From `find_images`.

    Returns:
        Uint8 of the same rank.

    Example:

    ```python
    thumbnails(np.ones((1, 2, 128, 128, 3))).shape  # (1, 2, 64, 64, 3)
    ```
    """
    _, views, *sides, channels = images.shape
    factor = -(-max(sides) // LARGEST_SIDE)
    height, width = (max(side // factor, 1) for side in sides)
    is_bytes = images.dtype == np.uint8 and images.max(initial=0) > _DARK
    images = np.nan_to_num(images.astype("float32"), posinf=0.0, neginf=0.0)
    if factor > 1 and min(sides) >= factor:
        images = images[:, :, : height * factor, : width * factor]
        images = images.reshape(
            len(images), views, height, factor, width, factor, channels
        ).mean(axis=(3, 5))
    if is_bytes:
        images = images / 255
    elif images.size and (images.min() < 0 or images.max() > 1):
        low, high = np.percentile(images, [1, 99], axis=(0, 1, 2, 3))
        images = (images - low) / np.maximum(high - low, 1e-12)
    return np.round(255 * np.clip(images, 0, 1)).astype("uint8")


def data_uri(picture: np.ndarray) -> str:
    """A picture as the address of an image that holds it, as PNG.

    Args:
        picture: Uint8 `(height, width, channels)`.

    Returns:
        A data URI.

    Raises:
        ImportError: If Pillow is not installed.
    """
    library = extras.need("PIL.Image", "plots")
    if picture.shape[-1] == 1:
        picture = picture[..., 0]
    file = io.BytesIO()
    library.fromarray(picture).save(file, "PNG")
    data = base64.b64encode(file.getvalue()).decode("ascii")
    return f"data:image/png;base64,{data}"
