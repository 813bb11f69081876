"""Batches of token ids out of a table, in tf.data."""

import dataclasses
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from keras_mmel.data import arguments
from keras_mmel.data.epochs import EpochCounter
from keras_mmel.data.epochs import count_passes
from keras_mmel.data.epochs import counter_from
from keras_mmel.data.epochs import numbered_passes
from keras_mmel.text.reading import view_choice
from keras_mmel.text.reading.token_table import TokenTable

# Lengths are padded to multiples of this. Fewer shapes would cost more: the
# sentences of some tasks have eleven tokens on average.
LENGTH_STEP = 4


@dataclasses.dataclass(frozen=True)
class Batching:
    """How examples come in batches.

    Attributes:
        batch_size: examples in a batch.
        seed: the seed of the run.
        shuffle: whether to shuffle; else the order is that of the table.
        window: batches among which examples are sorted by their length.
        drop_remainder: whether to leave out a last batch that is not full.
        epoch_counter: says which epoch is next.
    """

    batch_size: int
    seed: int
    shuffle: bool
    window: int
    drop_remainder: bool
    epoch_counter: EpochCounter

    @classmethod
    def checked(
        cls,
        batch_size: int,
        seed: int,
        shuffle: bool,
        window: int,
        drop_remainder: bool,
        initial_epoch: int,
        epoch_counter: EpochCounter | None,
    ) -> "Batching":
        """From the arguments of the readers, which may be wrong."""
        return cls(
            arguments.check_count("batch_size", batch_size, 1),
            arguments.check_count("seed", seed, None),
            shuffle,
            arguments.check_count("window", window, 1),
            drop_remainder,
            counter_from(initial_epoch, epoch_counter),
        )

    def count(self, examples: int) -> int:
        """How many batches `examples` make; an error where none."""
        if not self.drop_remainder:
            return -(-examples // self.batch_size)
        if self.batch_size > examples:
            raise ValueError(
                "`batch_size` must not exceed the number of examples while "
                "`drop_remainder` is True: there would be no batch. "
                f"Received: batch_size={self.batch_size}, {examples} examples"
            )
        return examples // self.batch_size


def make_batches(
    table: TokenTable, choose: Callable, finish: Callable, batching: Batching
) -> tf.data.Dataset:
    """Batches of chosen rows, a new choice in every pass.

    Args:
        table: the ids.
        choose: from the epoch to rows (examples, views) and whether they are
            real (examples, views), as int64 and bool tensors.
        finish: from the inputs, each (batch, views, length), the examples
            (batch,), the rows (batch, views) and whether they are real
            (batch, views) to an element of the dataset.
        batching: how they come in batches.

    Returns:
        A dataset of known size.

    Raises:
        ValueError: if there are too few examples for a batch.
    """
    examples, batch_size = len(table), batching.batch_size
    batches, counter = batching.count(examples), batching.epoch_counter
    lengths = tf.constant(_padded(table))
    keys = tf.constant(table.keys)
    inputs_of = _gatherer(table)

    @tf.autograph.experimental.do_not_convert
    def one_pass(epoch):
        rows, real = choose(epoch)
        padded = tf.reduce_max(tf.gather(lengths, rows), axis=1)
        if batching.shuffle:
            order, shown = view_choice.order_batches(
                padded, keys, batch_size, batching.window, batching.seed, epoch
            )
        else:
            order, shown = tf.range(examples), tf.range(batches)
        if batching.drop_remainder:
            # The last one is the one that is not full.
            shown = tf.boolean_mask(shown, shown < batches)

        @tf.autograph.experimental.do_not_convert
        def pick(batch):
            start = tf.cast(batch, tf.int32) * batch_size
            chosen = order[start : start + batch_size]
            if batching.drop_remainder:
                chosen = tf.ensure_shape(chosen, [batch_size])
            return (
                chosen,
                tf.gather(rows, chosen),
                tf.gather(real, chosen),
                tf.reduce_max(tf.gather(padded, chosen)),
            )

        return tf.data.Dataset.from_tensor_slices(shown).map(pick)

    @tf.autograph.experimental.do_not_convert
    def make(epoch, picked):
        chosen, rows, real, length = picked
        return epoch, finish(inputs_of(rows, length), chosen, rows, real)

    passes = numbered_passes(counter, one_pass)
    made = passes.map(make, num_parallel_calls=2, deterministic=True)
    dataset = count_passes(counter, made.prefetch(4), batches)
    options = tf.data.Options()
    options.deterministic = True
    options.experimental_distribute.auto_shard_policy = (
        tf.data.experimental.AutoShardPolicy.DATA
    )
    return dataset.with_options(options)


def _padded(table):
    """Lengths of the rows up to the next step, int64.

    Never more than the longest row: a model may have no further positions.
    """
    padded = -(-table.lengths // LENGTH_STEP) * LENGTH_STEP
    return np.minimum(padded, table.lengths.max())


def _gatherer(table):
    """A function from rows (batch, views) and a length to the inputs."""
    token_ids = tf.constant(table.token_ids)
    starts = tf.constant(table.starts[:-1])
    lengths = tf.constant(table.lengths)
    borders = tf.constant(table.borders.astype("int64"))
    last = max(len(table.token_ids) - 1, 0)

    def inputs_of(rows, length):
        places = tf.range(length, dtype=tf.int64)
        there = places < tf.gather(lengths, rows)[..., None]
        at = tf.minimum(tf.gather(starts, rows)[..., None] + places, last)
        second = there & (places >= tf.gather(borders, rows)[..., None])
        return {
            # What stands under padding is never seen; 0 is BERT's [PAD].
            "token_ids": tf.where(there, tf.gather(token_ids, at), 0),
            "segment_ids": tf.cast(second, tf.int32),
            "padding_mask": tf.cast(there, tf.int32),
        }

    return inputs_of
