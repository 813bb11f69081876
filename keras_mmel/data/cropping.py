"""Random crops of padded images and horizontal flips, a batch at a time."""

from collections.abc import Callable

import tensorflow as tf

from keras_mmel.counts import check_count
from keras_mmel.data import arguments
from keras_mmel.data.randomness import seeds as seeds_lib

# Augmented views for which the table of `_cut` costs less than it saves.
_TABLE_FROM = 4


def crop_and_flip(padding: int = 4, flip: bool = True) -> Callable:
    """Augments images by a random crop after zero padding and a random flip.

    Every view draws its row and column uniformly from 0 to 2 * padding and is
    mirrored with probability 1/2, all independent. A whole batch is done at
    once and keeps its dtype, so leave images uint8 until after the views are
    made: those that are standardized before are padded with gray.

    Args:
        padding: Pixels of zeros added on each side before the crop; smaller
            than the image.
        flip: Whether to mirror half of the views from left to right.

    Returns:
        An augmentation for `group_views`, of images (height, width, channels)
        of one size; with `augment_labels`, also of masks (height, width) or
        (height, width, channels), a nest of them.

    Raises:
        TypeError: If `padding` is no integer.
        ValueError: If `padding` is negative.

    Example:

    ```python
    augment = keras_mmel.data.crop_and_flip(padding=4)
    images = np.zeros((2, 32, 32, 3), "uint8")
    seeds = np.arange(20, dtype="int32").reshape(2, 5, 2)
    augment(images, seeds).shape  # (2, 5, 32, 32, 3)
    ```

    Reference:
        He, Zhang, Ren, Sun: [Deep Residual Learning for Image Recognition](
        https://arxiv.org/abs/1512.03385), section 4.2.
    """
    padding = check_count("padding", padding, 0)

    def augment(images, *labels_and_seeds):
        *labels, seeds = labels_and_seeds
        images = arguments.single_images(
            "crop_and_flip", images, "padding", padding
        )
        seeds = tf.convert_to_tensor(seeds, tf.int32)
        draws = draw_crops(seeds, padding, flip)

        def of_mask(mask):
            mask = tf.convert_to_tensor(mask)
            channels = mask[..., None] if mask.shape.rank == 3 else mask
            if channels.shape[:3] != images.shape[:3]:
                raise ValueError(
                    "`crop_and_flip` moves labels that are masks of the height "
                    "and width of the image. Others need a function, "
                    "`per_view(f)` of f(image, label, seed). "
                    f"Received: y with shape {tuple(mask.shape[1:])}"
                )
            views = _cut(channels, *draws, padding)
            return views[..., 0] if mask.shape.rank == 3 else views

        views = _cut(images, *draws, padding)
        masks = [tf.nest.map_structure(of_mask, label) for label in labels]
        return (views, *masks) if labels else views

    return augment


def draw_crops(seeds: tf.Tensor, padding: int, flip: bool) -> tuple:
    """Draws where each view is cut and whether it is mirrored.

    One integer holds all three, so that every combination is equally likely.

    Args:
        seeds: (batch, views, 2) int32.
        padding: Pixels added on each side.
        flip: Whether half of the views are mirrored.

    Returns:
        Rows and columns, int32 in [0, 2 * padding], and flips, bool; each
        (batch, views).
    """
    size = 2 * padding + 1
    number = seeds_lib.draw(seeds, size * size * (2 if flip else 1))
    rows = number // size % size
    return rows, number % size, number // (size * size) > 0


def _cut(images, rows, columns, flips, padding):
    """Views (batch, views, height, width, channels) of zero-padded images.

    Few views are gathered pixel by pixel. For more, every horizontal position
    of every row is written out, as cut and mirrored. A view is then whole rows
    of that table: 32 copies of 96 bytes for a CIFAR image in place of 1,024
    copies of 3.
    """
    margins = [[0, 0], [padding, padding], [padding, padding], [0, 0]]
    padded = tf.pad(images, margins)
    batch, (height, width, channels) = tf.shape(padded)[0], padded.shape[1:]
    number = tf.range(batch)[:, None]
    down = rows[..., None] + tf.range(height - 2 * padding)
    if rows.shape[1] < _TABLE_FROM:
        across = tf.range(width - 2 * padding)
        across = tf.where(flips[..., None], across[::-1], across)
        across += columns[..., None]
        index = (number[..., None] * height + down)[..., None] * width
        index += across[:, :, None]
        return tf.gather(tf.reshape(padded, [-1, channels]), index)
    positions = 2 * padding + 1
    row_size = (width - 2 * padding) * channels
    both = tf.stack([padded, tf.reverse(padded, [2])], axis=1)
    both = tf.reshape(both, [batch, 2, height, width * channels])
    starts = [position * channels for position in range(positions)]
    table = tf.stack([both[..., s : s + row_size] for s in starts], axis=1)
    # In the mirrored row, the same pixels start as far from the other end.
    columns = tf.where(flips, 2 * padding - columns, columns)
    block = 2 * (number * positions + columns) + tf.cast(flips, tf.int32)
    index = block[..., None] * height + down
    views = tf.gather(tf.reshape(table, [-1, row_size]), index)
    shape = [batch, rows.shape[1], height - 2 * padding, -1, channels]
    return tf.reshape(views, shape)
