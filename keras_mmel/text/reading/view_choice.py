"""Which rows of a table an epoch shows, and in which batches.

Every choice is a hash of (seed, epoch, example id), so it does not depend on
shards, batches, threads or restarts.
"""

import tensorflow as tf

from keras_mmel.data.randomness import seeds
from keras_mmel.text.reading.gathering import gather
from keras_mmel.text.reading.token_table import TokenTable


def choose_groups(
    table: TokenTable, num_views: int, seed: int, epoch, examples
) -> tuple[tf.Tensor, tf.Tensor]:
    """Draws the rows of groups: the original and views of its pool.

    Args:
        table: The ids.
        num_views: Size of a group.
        seed: The seed of the run.
        epoch: A scalar.
        examples: (groups,), int64 numbers of examples.

    Returns:
        Rows (groups, num_views), the original first, and whether they are
        real; what is not repeats the original.
    """
    spans = gather(table.first, examples[:, None] + [0, 1])
    original = spans[:, :1]
    pool = spans[:, 1] - spans[:, 0] - 1
    # As many places as a group has, where no example has so many views.
    places = tf.range(tf.maximum(tf.reduce_max(pool), num_views - 1))
    is_view = places < pool[:, None]
    keys = gather(table.keys, examples)[:, None]
    ranks = seeds.ranks(seed, seeds.VIEWS, epoch, keys, places)
    # Padding comes last, behind all that can be drawn.
    ranks = tf.where(is_view, ranks, tf.int64.max)
    drawn = tf.argsort(ranks, axis=1, stable=True)[:, : num_views - 1]
    real = is_view[:, : num_views - 1]
    rows = tf.where(real, original + 1 + tf.cast(drawn, tf.int64), original)
    rows = tf.concat([original, rows], axis=1)
    real = tf.pad(real, [[0, 0], [1, 0]], constant_values=True)
    rows = tf.ensure_shape(rows, [None, num_views])
    return rows, tf.ensure_shape(real, [None, num_views])


def choose_one(
    table: TokenTable, num_views: int, seed: int, epoch, examples
) -> tuple[tf.Tensor, tf.Tensor]:
    """Draws one row of every example: all of a group in `num_views` epochs.

    Args:
        table: The ids.
        num_views: How many views of an example have a turn, as in a group.
        seed: The seed of the run.
        epoch: A scalar.
        examples: (groups,), int64 numbers of examples.

    Returns:
        Rows (groups, 1), and that they are real.
    """
    # A cycle draws one group, and each of its epochs shows one row of it.
    cycle, turn = epoch // num_views, epoch % num_views
    rows, real = choose_groups(table, num_views, seed, cycle, examples)
    places = tf.range(num_views, dtype=tf.int64)
    keys = gather(table.keys, examples)[:, None]
    ranks = seeds.ranks(seed, seeds.TURNS, cycle, keys, places)
    ranks = tf.where(real, ranks, tf.int64.max)
    order = tf.argsort(ranks, axis=1, stable=True)
    # A small group begins anew within the cycle.
    count = tf.reduce_sum(tf.cast(real, tf.int64), axis=1)
    place = tf.gather(order, (turn % count)[:, None], batch_dims=1)
    rows = tf.gather(rows, place, batch_dims=1)
    return rows, tf.ones_like(rows, tf.bool)


def order_batches(lengths, keys, batch_size: int, window: int, seed, epoch):
    """Draws an order of the examples, and of batches of like lengths.

    The examples are shuffled and cut into windows of `window` batches; within
    a window they are sorted by length, which keeps padding small, and the
    batches are shuffled among all.

    Args:
        lengths: (examples,), padded lengths.
        keys: (examples,), hashes of the examples' ids.
        batch_size: Examples in a batch.
        window: Batches in a window; 1 turns the sorting off.
        seed: The seed of the run.
        epoch: A scalar.

    Returns:
        The order (examples,), whose consecutive `batch_size` are a batch, and
        the order in which the batches are shown (batches,), a last one that is
        not full included.
    """
    ranks = seeds.ranks(seed, seeds.SHUFFLE, epoch, keys)
    shuffled = tf.argsort(ranks, stable=True)
    count = tf.size(shuffled)
    if window > 1:
        windows = tf.range(count) // (batch_size * window)
        length = tf.cast(tf.gather(lengths, shuffled), tf.int64)
        # One number that sorts by the window first and then by the length.
        keys = tf.cast(windows, tf.int64) * (tf.reduce_max(length) + 1) + length
        shuffled = tf.gather(shuffled, tf.argsort(keys, stable=True))
    batches = tf.range(-(-count // batch_size), dtype=tf.int64)
    ranks = seeds.ranks(seed, seeds.SHUFFLE, epoch, seeds.BATCHES, batches)
    return shuffled, tf.argsort(ranks, stable=True)
