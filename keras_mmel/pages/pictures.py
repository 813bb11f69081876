"""Views of images as small pictures of bytes, grids of them, and PNG files."""

import struct
import zlib
from typing import Any

import keras
import numpy as np

# Pictures are kept in memory and in files for every run.
LARGEST_SIDE = 64
MOST_BYTES = 16_000_000
_INK = (213, 94, 0)
_TRACK = (226, 226, 226)


def find_images(views: Any) -> np.ndarray | None:
    """The images among the inputs of a batch of groups.

    Args:
        views: Nest of arrays `(groups, num_views, ...)`.

    Returns:
        The first array of shape `(groups, num_views, height, width, channels)`
        with 1, 3 or 4 channels, channels last, or None.

    Example:

    >>> find_images({"image": np.zeros((2, 5, 32, 32, 3))}).shape
    (2, 5, 32, 32, 3)
    """
    for leaf in keras.tree.flatten(views):
        if getattr(leaf, "ndim", 0) != 5 or leaf.dtype.kind not in "biuf":
            continue
        if keras.config.image_data_format() == "channels_first":
            leaf = np.moveaxis(leaf, 2, -1)
        if leaf.shape[-1] in (1, 3, 4):
            return leaf
    return None


def thumbnails(images: Any) -> np.ndarray:
    """Images as small pictures to look at.

    Images of bytes keep their values and floats from 0 to 1 are scaled. All
    others, such as standardized ones, are stretched from the darkest to the
    brightest percent of each channel. Sides above 64 pixels are reduced by an
    integer factor, and groups beyond 16 MB are left out.

    Args:
        images: Shape `(groups, num_views, height, width, channels)`.

    Returns:
        Uint8 of the same rank.

    Raises:
        ValueError: If the shape is another.

    Example:

    >>> thumbnails(np.ones((1, 2, 128, 128, 3))).shape
    (1, 2, 64, 64, 3)
    """
    images = np.asarray(images)
    if images.ndim != 5 or images.shape[-1] not in (1, 3, 4):
        raise ValueError(
            "Images must have shape (groups, num_views, height, width, "
            "channels) with 1, 3 or 4 channels. "
            f"Received: images.shape={images.shape}"
        )
    factor = -(-max(images.shape[2:4]) // LARGEST_SIDE)
    sides = [max(side // factor, 1) for side in images.shape[2:4]]
    bytes_a_group = images.shape[1] * sides[0] * sides[1] * images.shape[-1]
    images = images[: max(MOST_BYTES // max(bytes_a_group, 1), 1)]
    if images.dtype == np.uint8 and factor == 1:
        return images.copy()
    scale = 255.0 if images.dtype in (np.uint8, bool) else None
    is_bool = images.dtype == bool
    images = images.astype("float32")
    if is_bool:
        scale = 1.0
    images = np.where(np.isfinite(images), images, 0.0)
    if factor > 1 and min(images.shape[2:4]) >= factor:
        height, width = (side * factor for side in sides)
        images = images[:, :, :height, :width]
        groups, views, _, _, channels = images.shape
        images = images.reshape(
            groups, views, sides[0], factor, sides[1], factor, channels
        ).mean(axis=(3, 5))
    if scale is not None:
        images = images / scale
    elif images.size and (images.min() < 0 or images.max() > 1):
        low, high = np.percentile(images, [1, 99], axis=(0, 1, 2, 3))
        images = (images - low) / np.maximum(high - low, 1e-12)
    return np.round(255 * np.clip(images, 0, 1)).astype("uint8")


def grid(pictures: Any, weights: Any) -> np.ndarray:
    """A row for each group: its views, and below each a bar for its weight.

    Args:
        pictures: Uint8 `(rows, columns, height, width, channels)`.
        weights: Shape `(rows, columns)`: width of the bars, from 0 to 1.

    Returns:
        Uint8 `(height, width, 3)`.

    Example:

    >>> grid(np.zeros((2, 3, 8, 8, 1), "uint8"), np.ones((2, 3))).shape
    (26, 30, 3)
    """
    pictures = np.asarray(pictures)[..., :3]
    if pictures.shape[-1] == 1:
        pictures = np.repeat(pictures, 3, axis=-1)
    rows, columns, height, width, _ = pictures.shape
    gap, bar = max(width // 16, 1), max(height // 10, 2)
    cell = np.full(
        (rows, columns, height + bar + 2 * gap + 1, width + 2 * gap, 3),
        255,
        "uint8",
    )
    cell[:, :, gap : gap + height, gap : gap + width] = pictures
    weights = np.nan_to_num(np.asarray(weights, dtype="float64"))
    filled = np.round(np.clip(weights, 0, 1) * width)
    is_filled = np.arange(width) < filled[..., None]
    colors = np.where(
        is_filled[..., None], np.array(_INK), np.array(_TRACK)
    ).astype("uint8")
    top = gap + height + 1
    cell[:, :, top : top + bar, gap : gap + width] = colors[:, :, None]
    cell = cell.transpose(0, 2, 1, 3, 4)
    return cell.reshape(rows * cell.shape[1], columns * cell.shape[3], 3)


def png(picture: Any) -> bytes:
    """A picture as a PNG file.

    Args:
        picture: Uint8 `(height, width, channels)`: 1 (grey), 3 or 4 (with
            transparency).

    Returns:
        The bytes of the file, the same for the same picture.

    Example:

    >>> png(np.zeros((2, 2, 3), "uint8"))[:4]
    b'\\x89PNG'
    """
    picture = np.ascontiguousarray(picture, dtype="uint8")
    height, width, channels = picture.shape
    color = {1: 0, 3: 2, 4: 6}[channels]
    rows = np.zeros((height, 1 + width * channels), "uint8")
    rows[:, 1:] = picture.reshape(height, -1)

    def chunk(kind, data):
        check = zlib.crc32(kind + data)
        return (
            struct.pack(">I", len(data))
            + kind
            + data
            + struct.pack(">I", check)
        )

    header = struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows.tobytes(), 1))
        + chunk(b"IEND", b"")
    )
