"""The most likely words at a masked position."""

import numpy as np
import tensorflow as tf

from keras_mmel.text.augmentation.encoder import Dense
from keras_mmel.text.augmentation.encoder import Encoder
from keras_mmel.text.augmentation.encoder import encode_at
from keras_mmel.text.augmentation.encoder import product

# Words of a chunk. `top_k` over a whole vocabulary is slow: the best chunks are
# found first, by a vectorized maximum of each.
_CHUNK = 128


class WordScorer:
    """Ranks the words that may be filled in by a masked LM.

    Args:
        encoder: The masked LM.
        allowed: Ids of the words that may be filled in, ascending.
    """

    def __init__(self, encoder: Encoder, allowed: np.ndarray):
        self.allowed = np.asarray(allowed, "int64")
        decoder = encoder.decoder
        # Words that are never chosen, up to a whole number of chunks.
        padding = -len(self.allowed) % _CHUNK
        kernel = tf.gather(decoder.kernel, self.allowed, axis=1)
        bias = tf.gather(decoder.bias, self.allowed)
        self.decoder = Dense(
            tf.pad(kernel, [[0, 0], [0, padding]]),
            tf.pad(bias, [[0, padding]], constant_values=-1e9),
        )
        self.encoder = encoder
        table = tf.TensorSpec((None, None), tf.int32)
        column = tf.TensorSpec((None,), tf.int32)
        count = tf.TensorSpec((), tf.int32)
        # Shapes stay open: one trace serves all of them. It is asked for by
        # itself, since TensorFlow counts those that calls make, of all scorers
        # of a process, and warns of the fifth.
        signature = (table, table, column, column, count)
        function = tf.function(self._best, autograph=False)
        self._step = function.get_concrete_function(*signature)

    def __reduce__(self):
        # For other processes: a traced function cannot be sent, and is traced
        # there anew.
        return type(self), (self.encoder, self.allowed)

    def rank(
        self,
        token_ids: np.ndarray,
        segment_ids: np.ndarray,
        lengths: np.ndarray,
        positions: np.ndarray,
        count: int,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Finds the most likely words of rows, each at one position.

        Args:
            token_ids: (rows, longest) int32, padded with any valid id.
            segment_ids: (rows, longest) int32.
            lengths: (rows,) int32.
            positions: (rows,) int32.
            count: How many words of each row.

        Returns:
            (rows, count) ids, the most likely first, and their
            log-probabilities among the allowed words; all of these where
            `count` is larger.
        """
        count = min(count, len(self.allowed))
        best, indices, totals = self._step(
            token_ids, segment_ids, lengths, positions, count
        )
        log_probs = best.numpy().astype("float64") - totals.numpy()[:, None]
        return self.allowed[indices.numpy()], log_probs

    def _best(self, token_ids, segment_ids, lengths, positions, count):
        """The largest logits, their words, and the log of the softmax's sum."""
        x = encode_at(self.encoder, token_ids, segment_ids, lengths, positions)
        logits = product(x, self.decoder.kernel) + self.decoder.bias
        best, indices = top(logits, count)
        # The largest logit is taken out, so that no exponential overflows.
        shifted = tf.exp(logits - best[:, :1])
        totals = best[:, 0] + tf.math.log(tf.reduce_sum(shifted, axis=1))
        return best, indices, totals


def top(logits: tf.Tensor, count: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Finds the largest logits of each row, by chunks.

    Args:
        logits: (rows, words), a whole number of chunks of 128.
        count: How many to find, at most `words`.

    Returns:
        Values and indices, each (rows, count), the largest first.
    """
    chunks = logits.shape[1] // _CHUNK
    # The largest `count` lie in the `count` chunks with the largest maxima.
    num_chosen = tf.minimum(count, chunks)
    table = tf.reshape(logits, [-1, chunks, _CHUNK])
    _, chosen = tf.math.top_k(tf.reduce_max(table, axis=2), num_chosen)
    table = tf.gather(table, chosen, batch_dims=1)
    candidates = tf.reshape(table, [-1, num_chosen * _CHUNK])
    best, places = tf.math.top_k(candidates, count)
    chunk = tf.gather(chosen, places // _CHUNK, batch_dims=1)
    return best, chunk * _CHUNK + places % _CHUNK
