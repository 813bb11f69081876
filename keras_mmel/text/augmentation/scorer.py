"""The most likely words at a masked position, decided without noise.

Single precision adds about 2e-5 of noise to a logit, and the noise changes
with the batch, the padding and the compiler. Where the decision is closer than
`CLOSE`, it is therefore taken again in double precision. So the words do not
depend on how the rows were batched.
"""

import contextlib
import dataclasses
import functools
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from keras_mmel.text.augmentation.encoder import Dense
from keras_mmel.text.augmentation.encoder import Encoder
from keras_mmel.text.augmentation.encoder import encode_at

# Logits: 25 times the noise that was measured in single precision.
CLOSE = 5e-4
# Logits that agree to so many decimals in double precision are equal, and the
# word with the lower id goes first.
_EQUAL_DECIMALS = 9
# Rows that go through the network in double precision at a time: a single one
# of a short text costs 2.5 times as much at the size of BERT-base.
_EXACT_ROWS = 16
# Words of a chunk: the best of each are found first, by a vectorized maximum.
_CHUNK = 128


@dataclasses.dataclass(frozen=True)
class Rows:
    """Sequences to look at, each at one position.

    Attributes:
        token_ids: (rows, longest) int32, padded with any valid id.
        segment_ids: (rows, longest) int32.
        lengths: (rows,) int32.
        positions: (rows,) int32.
    """

    token_ids: np.ndarray
    segment_ids: np.ndarray
    lengths: np.ndarray
    positions: np.ndarray

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """The four of them, as `encode_at` takes them."""
        return self.token_ids, self.segment_ids, self.lengths, self.positions

    def take(self, indices: np.ndarray | list[int]) -> "Rows":
        """Some of the rows, without the padding that they do not need."""
        longest = self.lengths[indices].max()
        return Rows(
            self.token_ids[indices, :longest],
            self.segment_ids[indices, :longest],
            self.lengths[indices],
            self.positions[indices],
        )


@dataclasses.dataclass(frozen=True)
class Ranked:
    """The most likely words of each row, the most likely first.

    Attributes:
        token_ids: (rows, count) ids.
        log_probs: (rows, count) log-probabilities among the allowed words.
        close: (rows,) whether noise may have changed `token_ids`.
    """

    token_ids: np.ndarray
    log_probs: np.ndarray
    close: np.ndarray


class WordScorer:
    """Ranks the words that may be filled in by a masked LM.

    Args:
        encoder: the masked LM.
        allowed: ids of the words that may be filled in, ascending.
        jit_compile: whether XLA compiles the network. The number of rows and
            their length are then rounded up to a few static shapes.
        static_rows: the row counts to round up to, ascending.
    """

    def __init__(
        self,
        encoder: Encoder,
        allowed: np.ndarray,
        jit_compile: bool = False,
        static_rows: tuple[int, ...] = (16, 64),
    ):
        self.allowed = np.asarray(allowed, "int64")
        decoder = Dense(
            tf.gather(encoder.decoder.kernel, self.allowed, axis=1),
            tf.gather(encoder.decoder.bias, self.allowed),
        )
        self.encoder = dataclasses.replace(encoder, decoder=_pad(decoder))
        self.longest = int(encoder.positions.shape[0])
        self.jit_compile = jit_compile
        self.static_rows = static_rows
        table = tf.TensorSpec((None, None), tf.int32)
        column = tf.TensorSpec((None,), tf.int32)
        signature = (table, table, column, column)
        self._exact = tf.function(
            self._exact_logits, input_signature=signature, autograph=False
        )
        self._signature = signature
        self._functions = {}

    def rank(self, rows: Rows, count: int) -> Ranked:
        """The `count` most likely words of each row, in single precision."""
        number = len(rows.lengths)
        wanted = min(count + 1, len(self.allowed))
        with _full_single_precision():
            found = self._function(wanted)(*self._inputs(rows))
        logits, indices, totals = (part.numpy()[:number] for part in found)
        logits = logits.astype("float64")
        close = (-np.diff(logits, axis=1) < CLOSE).any(axis=1)
        return Ranked(
            self.allowed[indices[:, :count]],
            logits[:, :count] - totals[:, None],
            close,
        )

    def rank_exactly(self, rows: Rows, count: int) -> Ranked:
        """The same in double precision."""
        found = []
        for start in range(0, len(rows.lengths), _EXACT_ROWS):
            stop = min(start + _EXACT_ROWS, len(rows.lengths))
            part = rows.take(np.arange(start, stop))
            logits = self._exact(*part.arrays).numpy()
            found += [self._ranked(row, count) for row in logits]
        ids, log_probs = map(np.stack, zip(*found, strict=True))
        return Ranked(ids, log_probs, np.zeros(len(ids), bool))

    def _ranked(self, logits, count):
        logits = logits[: len(self.allowed)]
        order = np.argsort(-np.round(logits, _EQUAL_DECIMALS), kind="stable")
        order = order[:count]
        top = logits.max()
        total = top + np.log(np.exp(logits - top).sum())
        return self.allowed[order], logits[order] - total

    def _function(self, count):
        if count not in self._functions:
            self._functions[count] = tf.function(
                functools.partial(self._rank_step, count=count),
                # Shapes stay open without XLA: one trace serves all of them.
                input_signature=None if self.jit_compile else self._signature,
                jit_compile=self.jit_compile,
                autograph=False,
            )
        return self._functions[count]

    def _rank_step(self, token_ids, segment_ids, lengths, positions, count):
        decoder = self.encoder.decoder
        x = encode_at(
            self.encoder,
            token_ids,
            segment_ids,
            lengths,
            positions,
            packed=not self.jit_compile,
        )
        logits = tf.matmul(x, decoder.kernel) + decoder.bias
        best, indices = _top(logits, count)
        shifted = tf.exp(logits - best[:, :1])
        totals = best[:, 0] + tf.math.log(tf.reduce_sum(shifted, axis=1))
        return best, indices, totals

    def _exact_logits(self, token_ids, segment_ids, lengths, positions):
        encoder = self.encoder.cast("float64")
        x = encode_at(
            encoder, token_ids, segment_ids, lengths, positions, packed=True
        )
        return tf.matmul(x, encoder.decoder.kernel) + encoder.decoder.bias

    def _inputs(self, rows):
        if not self.jit_compile:
            return rows.arrays
        number, longest = rows.token_ids.shape
        more = [size for size in self.static_rows if size >= number]
        below = (more[0] if more else number) - number
        wide = min(-(-longest // 8) * 8, self.longest) - longest
        table = ((0, below), (0, wide))
        return (
            tf.constant(np.pad(rows.token_ids, table)),
            tf.constant(np.pad(rows.segment_ids, table)),
            # A row of padding sees one token, so that nothing divides by 0.
            tf.constant(np.pad(rows.lengths, (0, below), constant_values=1)),
            tf.constant(np.pad(rows.positions, (0, below))),
        )


def rank_surely(
    rank: Callable[[Rows, int], Ranked],
    rank_exactly: Callable[[Rows, int], Ranked],
    rows: Rows,
    count: int,
) -> Ranked:
    """`rank`, with the close rows ranked anew by `rank_exactly`."""
    ranked = rank(rows, count)
    close = np.flatnonzero(ranked.close)
    if len(close):
        exact = rank_exactly(rows.take(close), count)
        ranked.token_ids[close] = exact.token_ids
        ranked.log_probs[close] = exact.log_probs
        ranked.close[close] = False
    return ranked


def _top(logits, count):
    """Values and indices of the largest logits, by chunks where that pays."""
    words = logits.shape[1]
    chunks = words // _CHUNK
    if chunks < 4 * count:
        return tf.math.top_k(logits, count)
    # The largest `count` lie in the `count` chunks with the largest maxima.
    table = tf.reshape(logits, [-1, chunks, _CHUNK])
    _, chosen = tf.math.top_k(tf.reduce_max(table, axis=2), count)
    table = tf.gather(table, chosen, batch_dims=1)
    best, places = tf.math.top_k(tf.reshape(table, [-1, count * _CHUNK]), count)
    chunk = tf.gather(chosen, places // _CHUNK, batch_dims=1)
    return best, chunk * _CHUNK + places % _CHUNK


def _pad(decoder):
    """Add words that are never chosen, up to a whole number of chunks."""
    more = -decoder.kernel.shape[1] % _CHUNK
    return Dense(
        tf.pad(decoder.kernel, [[0, 0], [0, more]]),
        tf.pad(decoder.bias, [[0, more]], constant_values=-1e9),
    )


@contextlib.contextmanager
def _full_single_precision():
    """Switch off TensorFloat-32: its noise is far above `CLOSE`."""
    before = tf.config.experimental.tensor_float_32_execution_enabled()
    tf.config.experimental.enable_tensor_float_32_execution(False)
    try:
        yield
    finally:
        tf.config.experimental.enable_tensor_float_32_execution(before)
