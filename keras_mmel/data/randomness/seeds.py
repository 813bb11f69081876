"""Random numbers that depend on what they are for, not on when they are drawn.

Every number is a hash of (seed, epoch, example, view). Nothing else enters,
so threads, batch sizes and restarts cannot change it. The hash is the
finalizer of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom
number generators", OOPSLA 2014), applied once per part of the key: it is
elementwise, so the seeds of a whole batch cost a few operations.
"""

import contextlib
import itertools
from collections.abc import Iterator

import keras
import tensorflow as tf

_GAMMA = 0x9E3779B97F4A7C15
_MASK = 0xFFFFFFFFFFFFFFFF

# Parts of the key that keep draws for different purposes apart: all streams of
# the package, each number for good.
VIEWS = 1  # the seeds of views; which views of a text a group takes
SHUFFLE = 2  # the order of the examples
TURNS = 3  # which view of a text an epoch of single views shows
BATCHES = 4  # the order of batches that are sorted by length
POOL = 5  # which views of a pool an epoch takes


def _uint64(value) -> tf.Tensor:
    if isinstance(value, int):
        return tf.constant(value & _MASK, tf.uint64)
    return tf.cast(value, tf.uint64)


def _mix(z: tf.Tensor) -> tf.Tensor:
    """Returns the SplitMix64 hash of `z + gamma`, elementwise, in uint64."""
    z += _uint64(_GAMMA)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        shifted = tf.bitwise.right_shift(z, _uint64(shift))
        z = tf.bitwise.bitwise_xor(z, shifted) * _uint64(factor)
    return tf.bitwise.bitwise_xor(z, tf.bitwise.right_shift(z, _uint64(31)))


def fold(key, *parts) -> tf.Tensor:
    """Hashes `parts` into `key`, one after the other.

    Args:
        key: An int or an integer tensor.
        *parts: Ints or integer tensors.

    Returns:
        A uint64 tensor of the shape that key and parts broadcast to.
    """
    key = _mix(_uint64(key))
    for part in parts:
        key = _mix(key + _uint64(part))
    return key


def view_seeds(seed: int, epoch, example_ids, view_ids) -> tf.Tensor:
    """Returns one seed per view, for the `tf.random.stateless_*` functions.

    Args:
        seed: The seed of the run.
        epoch: A scalar.
        example_ids: (batch,), the position of each example in the dataset.
        view_ids: (views,), the position of each view in its group, or
            (batch, views) where every example has its own.

    Returns:
        (batch, views, 2) int32.
    """
    # (views,) broadcasts to (batch, views).
    keys = fold(seed, VIEWS, epoch, tf.expand_dims(example_ids, 1), view_ids)
    return tf.bitcast(keys, tf.int32)


def drawn_from(
    pool: int, count: int, seed: int, epoch, example_ids
) -> tf.Tensor:
    """Draws `count` of `pool` places for each example, none of them twice.

    Args:
        pool: How many places there are.
        count: How many are drawn, at most `pool`.
        seed: The seed of the run.
        epoch: A scalar.
        example_ids: (batch,), the position of each example in the dataset.

    Returns:
        (batch, count) int32 from 0 to `pool` - 1, in ascending order.
    """
    places = tf.range(pool, dtype=tf.int64)
    order = ranks(seed, POOL, epoch, tf.expand_dims(example_ids, 1), places)
    drawn = tf.argsort(order, axis=1, stable=True)[:, :count]
    return tf.sort(drawn, axis=1)


def ranks(key, *parts) -> tf.Tensor:
    """Returns random numbers to sort by, made as `fold` makes its hashes.

    Args:
        key: An int or an integer tensor.
        *parts: Ints or integer tensors.

    Returns:
        An int64 tensor of the shape that key and parts broadcast to. None is
        negative, and none is the largest int64, which is left for what is to
        be sorted last.
    """
    keys = tf.bitwise.right_shift(fold(key, *parts), _uint64(2))
    return tf.cast(keys, tf.int64)


def draw(seeds: tf.Tensor, bound: int) -> tf.Tensor:
    """Draws an integer in [0, bound) from each seed.

    Args:
        seeds: (..., 2) int32, as `view_seeds` returns them.
        bound: How many values there are. A value is more likely than another
            by less than bound / 2**64.

    Returns:
        (...,) int32.
    """
    keys = fold(tf.bitcast(seeds, tf.uint64), 0)
    return tf.cast(keys % _uint64(bound), tf.int32)


@contextlib.contextmanager
def seeded(layer: keras.Layer, seed: tf.Tensor) -> Iterator[Iterator[int]]:
    """Lets every seed generator of a layer draw from `seed`, while tracing.

    Each draw of a call gets its own number, whichever generator asks, so that
    two layers do not draw the same.

    Args:
        layer: Which is called within the block.
        seed: Of the view, (2,) int32.

    Yields:
        The numbers of the draws that are still to come.
    """
    draw_numbers = itertools.count()
    key = tf.bitcast(seed, tf.uint64)

    def next_seed(ordered=True):
        draw_seed = fold(key, next(draw_numbers))
        return tf.cast(tf.bitcast(draw_seed, tf.int32), tf.int64)

    generators = {
        value
        for sublayer in layer._flatten_layers()
        for value in keras.tree.flatten(vars(sublayer))
        if isinstance(value, keras.random.SeedGenerator)
    }
    # An attribute of the generator hides the method of its class.
    for generator in generators:
        generator.next = next_seed
    try:
        yield draw_numbers
    finally:
        for generator in generators:
            del generator.next
