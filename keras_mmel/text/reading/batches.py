"""Batches of token ids out of a table, in tf.data."""

import dataclasses
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from keras_mmel.counts import check_count
from keras_mmel.data import arguments
from keras_mmel.data import epochs
from keras_mmel.text.reading import view_choice
from keras_mmel.text.reading.gathering import gather
from keras_mmel.text.reading.token_table import TokenTable
from keras_mmel.text.sources.records import as_text

# Lengths are padded to multiples of this. Fewer shapes would cost more: the
# sentences of some tasks have eleven tokens on average.
LENGTH_STEP = 4
# BERT's [PAD]. Files know the fingerprint of their tokenizer, but not its ids:
# any id would do, since no model looks at what stands under padding.
PAD_ID = 0
# Examples whose rows are drawn at a time: what bounds the memory of a draw.
_PART = 8192


@dataclasses.dataclass
class Batching:
    """How examples come in batches: what the readers have in common.

    Attributes:
        batch_size: Examples in a batch.
        seed: The seed of the run.
        shuffle: Whether to shuffle; else the order is that of the table.
        window: Batches among which examples are sorted by their length.
        drop_remainder: Whether to leave out a last batch that is not full.
        epoch_counter: Says which epoch is next; `None` begins with the first.
    """

    batch_size: int
    seed: int
    shuffle: bool
    window: int
    drop_remainder: bool
    epoch_counter: epochs.EpochCounter | None

    def __post_init__(self):
        self.batch_size = check_count("batch_size", self.batch_size, 1)
        self.seed = check_count("seed", self.seed)
        self.window = check_count("window", self.window, 1)


def make_batches(
    table: TokenTable, choose: Callable, finish: Callable, batching: Batching
) -> tf.data.Dataset:
    """Makes batches of chosen rows, with a new choice in every pass.

    Args:
        table: The ids.
        choose: From the epoch and int64 numbers of examples (groups,) to rows
            (groups, views) and whether they are real (groups, views), as int64
            and bool tensors.
        finish: From the inputs, each (batch, views, length), the examples
            (batch,), the rows (batch, views) and whether they are real
            (batch, views) to an element of the dataset.
        batching: How they come in batches.

    Returns:
        A dataset of known size.

    Raises:
        ValueError: If there are too few examples for a batch.
    """
    examples, batch_size = len(table), batching.batch_size
    drop_remainder = batching.drop_remainder
    batches = arguments.count_batches(examples, batch_size, drop_remainder)
    counter = batching.epoch_counter or epochs.EpochCounter()
    inputs_of = gatherer(table)

    @tf.autograph.experimental.do_not_convert
    def one_pass(epoch):
        if batching.shuffle:
            lengths = _lengths_of_examples(table, choose, epoch)
            keys = gather(table.keys, tf.range(examples))
            order, shown = view_choice.order_batches(
                lengths, keys, batch_size, batching.window, batching.seed, epoch
            )
        else:
            order, shown = tf.range(examples), tf.range(batches)
        if drop_remainder:
            # The last one of the order is the one that is not full.
            shown = tf.boolean_mask(shown, shown < batches)

        @tf.autograph.experimental.do_not_convert
        def pick(batch):
            start = tf.cast(batch, tf.int32) * batch_size
            chosen = tf.cast(order[start : start + batch_size], tf.int64)
            size = batch_size if drop_remainder else None
            return tf.ensure_shape(chosen, [size])

        return tf.data.Dataset.from_tensor_slices(shown).map(pick)

    @tf.autograph.experimental.do_not_convert
    def make(epoch, chosen):
        # Anew, and the same: those of all examples would have to be held.
        rows, real = choose(epoch, chosen)
        return epoch, finish(inputs_of(rows), chosen, rows, real)

    # Picks are cheap and come from one thread; ids are gathered by two.
    picks = epochs.numbered_passes(counter, one_pass)
    elements = picks.map(make, num_parallel_calls=2, deterministic=True)
    return epochs.count_passes(counter, elements.prefetch(4), batches)


def _lengths_of_examples(table, choose, epoch):
    """To which length the rows of each example are padded in an epoch."""

    # A part at a time: ranks of all views would be as large as their ids.
    @tf.autograph.experimental.do_not_convert
    def part(start):
        numbers = tf.range(start, tf.minimum(start + _PART, len(table)))
        rows, _ = choose(epoch, numbers)
        spans = gather(table.starts, rows[..., None] + [0, 1])
        lengths = tf.reduce_max(spans[..., 1] - spans[..., 0], axis=1)
        return padded_lengths(lengths, longest)

    longest = _longest_row(table)
    parts = tf.data.Dataset.range(0, len(table), _PART).map(part)
    return parts.rebatch(len(table)).get_single_element()


def _longest_row(table):
    """The most tokens that a row has: over all rows, so to be asked once."""
    # In parts, here too: all lengths at once would be another array of rows.
    starts = range(0, len(table.borders), _PART)
    spans = (table.starts[start : start + _PART + 1] for start in starts)
    return max(np.diff(span).max() for span in spans)


def padded_lengths(lengths, longest: int):
    """The lengths to which rows are padded: multiples of 4.

    Args:
        lengths: Tokens of rows.
        longest: The most that a row has. A model may have no further
            positions, so none is padded beyond.
    """
    # Division rounds down, so of the negative it rounds up.
    return tf.minimum(-(-lengths // LENGTH_STEP) * LENGTH_STEP, longest)


def gatherer(table: TokenTable) -> Callable:
    """Makes a function from rows to a model's inputs.

    Args:
        table: The ids, which stay where they are.

    Returns:
        A function of rows, an integer tensor of any shape. It gives int32
        `token_ids`, `segment_ids` and `padding_mask`, each (*rows, length), of
        the padded length of the longest of them; of a table of texts, strings
        (*rows,), or a tuple of two.
    """
    if table.texts is not None:
        columns = table.texts
        return lambda rows: as_text(
            tuple(gather(column, rows) for column in columns)
        )
    last = max(len(table.token_ids) - 1, 0)
    longest = _longest_row(table)

    def inputs_of(rows):
        spans = gather(table.starts, rows[..., None] + [0, 1])
        starts, lengths = spans[..., :1], spans[..., 1:] - spans[..., :1]
        length = padded_lengths(tf.reduce_max(lengths), longest)
        places = tf.range(length, dtype=tf.int64)
        is_token = places < lengths
        # Padding reads on into the next row; only the last row has none.
        ids = gather(table.token_ids, tf.minimum(starts + places, last))
        borders = gather(table.borders, rows)[..., None]
        second = is_token & (places >= tf.cast(borders, tf.int64))
        return {
            "token_ids": tf.where(is_token, ids, PAD_ID),
            "segment_ids": tf.cast(second, tf.int32),
            "padding_mask": tf.cast(is_token, tf.int32),
        }

    return inputs_of
