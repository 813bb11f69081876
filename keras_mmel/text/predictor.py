"""Predictions of a classifier for a table of token ids."""

import keras
import numpy as np
import tensorflow as tf

from keras_mmel.text.first_token import FirstTokenClassifier
from keras_mmel.text.token_batches import LENGTH_STEP
from keras_mmel.text.token_table import TokenTable


class Predictor:
    """Predictions of a classifier for every row of a table.

    Rows are sorted by length and predicted in batches of one shape for each
    length; the prediction of a row does not depend on the others.

    Args:
        classifier: a `BertTextClassifier`. Weights that change later count.
        batch_size: rows in a batch.

    Example:

    ```python
    predict = Predictor(model)
    logits = predict(load_table(source, model.tokenizer))
    ```
    """

    def __init__(self, classifier: keras.Model, batch_size: int = 64):
        model = FirstTokenClassifier(classifier)
        self._batch_size = batch_size

        @tf.function(reduce_retracing=True)
        def logits(token_ids, segment_ids, padding_mask):
            inputs = {
                "token_ids": token_ids,
                "segment_ids": segment_ids,
                "padding_mask": padding_mask,
            }
            return tf.cast(model(inputs, training=False), tf.float32)

        shape = tf.TensorSpec((batch_size, None), tf.int32)
        self._logits = logits.get_concrete_function(shape, shape, shape)

    def __call__(self, table: TokenTable) -> np.ndarray:
        """Logits of every row, float32 (rows, classes)."""
        lengths = table.lengths
        order = np.argsort(lengths, kind="stable")
        found = None
        for start in range(0, len(order), self._batch_size):
            rows = order[start : start + self._batch_size]
            out = self._logits(*map(tf.constant, self._inputs(table, rows)))
            out = out.numpy()[: len(rows)]
            if found is None:
                found = np.empty((len(order), out.shape[1]), np.float32)
            found[rows] = out
        return found

    def _inputs(self, table, rows):
        """Three int32 arrays (batch_size, length), padded with [PAD] rows."""
        longest = int(table.lengths[rows].max())
        length = -(-longest // LENGTH_STEP) * LENGTH_STEP
        parts = np.zeros((3, self._batch_size, length), np.int32)
        # Rows that fill the batch up see one token: a mean of none is NaN.
        parts[2, len(rows) :, 0] = 1
        for place, row in enumerate(rows):
            start, stop = table.starts[row], table.starts[row + 1]
            size = stop - start
            parts[0, place, :size] = table.token_ids[start:stop]
            parts[1, place, table.borders[row] : size] = 1
            parts[2, place, :size] = 1
        return parts


def probabilities(logits: np.ndarray) -> np.ndarray:
    """Class probabilities, or the values where there is one output.

    Args:
        logits: (rows, classes) or (rows, 1).

    Returns:
        float32 of the same shape.
    """
    if logits.shape[1] == 1:
        return logits.astype("float32")
    shifted = logits.astype("float64") - logits.max(axis=1, keepdims=True)
    exponents = np.exp(shifted)
    return (exponents / exponents.sum(axis=1, keepdims=True)).astype("float32")
