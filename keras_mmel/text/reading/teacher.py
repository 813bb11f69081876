"""A teacher's predictions for originals and augmented views, into files."""

import dataclasses
import hashlib
import itertools
import os
from collections.abc import Callable
from collections.abc import Iterator

import keras
import numpy as np
import tensorflow as tf

from keras_mmel.text.files.directory import read_manifest
from keras_mmel.text.files.records import Record
from keras_mmel.text.files.rewriting import rewrite
from keras_mmel.text.reading.batches import LENGTH_STEP
from keras_mmel.text.reading.token_table import TokenTable
from keras_mmel.text.reading.token_table import has_ids_of
from keras_mmel.text.reading.token_table import make_table

# Records labelled at a time: enough for full batches of each length.
_BLOCK = 512


def label_augmented(
    directory: str | os.PathLike,
    teacher: keras.Model,
    out: str | os.PathLike,
    *,
    batch_size: int = 64,
    max_length: int = 128,
    shard: tuple[int, int] | None = None,
    progress: bool | Callable[[int, int], None] = True,
):
    """Write the files anew with a teacher's predictions.

    Every original and every view gets the teacher's class probabilities (the
    softmax of its logits), or its value where it has one output (regression).
    The ids in the files are used where the teacher has the tokenizer that
    made them; else its own tokenizer encodes the texts.

    A run that was stopped goes on when the same call is made again, as that
    of `write_augmented`.

    Args:
        directory: of augmented files, with or without labels of a teacher.
        teacher: a `BertTextClassifier` that was fine-tuned on the task.
        out: of the new files; another directory.
        batch_size: texts in a batch.
        max_length: longest text or pair, special tokens included.
        shard: `(i, n)` to write the i-th of n parts only, counted from 0.
        progress: as of `write_augmented`.

    Returns:
        A `Written`, as `write_augmented` does.

    Raises:
        FileNotFoundError: if the directory holds no augmented examples.
        ValueError: if the teacher does not fit the labels in the files, or
            `out` belongs to a run with other settings.

    Example:

    ```python
    teacher = keras.saving.load_model("teacher.keras")
    keras_mmel.text.label_augmented("rte", teacher, "rte_labelled")
    ```

    Source: section 3.3 of Yi et al. 2021.
    """
    manifest = read_manifest(directory)
    tokenizer = getattr(teacher, "tokenizer", None)
    if tokenizer is None:
        raise TypeError(
            "`teacher` must be a BertTextClassifier with its tokenizer. "
            f"Received: {type(teacher).__name__}"
        )
    _check_outputs(teacher, manifest)
    use_stored = has_ids_of(tokenizer, manifest.made)
    predict = Predictor(teacher, batch_size)

    def label(records: Iterator[Record]) -> Iterator[Record]:
        while block := list(itertools.islice(records, _BLOCK)):
            table = make_table(
                block,
                tokenizer,
                max_length=max_length,
                stored_ids=use_stored,
            )
            rows = iter(probabilities(predict(table)).tolist())
            for record in block:
                own = tuple(next(rows))
                views = tuple(
                    dataclasses.replace(view, teacher=tuple(next(rows)))
                    for view in record.views
                )
                yield dataclasses.replace(record, teacher=own, views=views)

    made = {
        "teacher": {
            "model": weights_hash(teacher),
            "tokenizer": tokenizer.fingerprint,
            "max_length": max_length,
        }
    }
    return rewrite(
        directory, out, label, made=made, shard=shard, progress=progress
    )


def weights_hash(model: keras.Model) -> str:
    """32 hex digits that change with the weights of a model."""
    digest = hashlib.blake2b(digest_size=16)
    for weight in model.weights:
        array = weight.numpy()
        digest.update(repr((weight.path, array.shape)).encode())
        digest.update(np.ascontiguousarray(array))
    return digest.hexdigest()


def _check_outputs(teacher, manifest):
    outputs = getattr(teacher, "num_classes", None)
    names = manifest.label_names
    regression = manifest.label_kind == "value"
    wrong = (
        (regression and outputs != 1)
        or (manifest.label_kind == "class" and outputs == 1)
        or (names is not None and outputs != len(names))
    )
    if wrong:
        expected = "one output (regression)"
        if not regression:
            expected = f"{len(names)} classes" if names else "several classes"
        raise ValueError(
            f"`teacher` must have {expected}, as the labels in the files. "
            f"Received: a teacher with {outputs} outputs"
        )


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
        self._batch_size = batch_size

        @tf.function(reduce_retracing=True)
        def logits(token_ids, segment_ids, padding_mask):
            inputs = {
                "token_ids": token_ids,
                "segment_ids": segment_ids,
                "padding_mask": padding_mask,
            }
            return tf.cast(classifier(inputs, training=False), tf.float32)

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
