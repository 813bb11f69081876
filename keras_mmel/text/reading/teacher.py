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

from keras_mmel.losses.soft_targets import REGRESSION_GAP
from keras_mmel.text.files import writing
from keras_mmel.text.files.reader import AugmentedFiles
from keras_mmel.text.reading import batches
from keras_mmel.text.reading import token_table
from keras_mmel.text.sources.records import Record

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
    progress: bool = True,
) -> writing.Written:
    """Writes the files anew with a teacher's predictions.

    Every original and every view gets the teacher's class probabilities (the
    softmax of its logits), or its value where it has one output (regression).
    How many originals it gives their label is printed: a few more than chance
    would are a teacher whose classes have another order, or none at all.
    The ids in the files are used where the teacher has the tokenizer that
    made them; else its own tokenizer encodes the texts.

    A run that was stopped goes on when the same call is made again, as that
    of `write_augmented`.

    Args:
        directory: Directory of augmented files, with or without labels of a
            teacher.
        teacher: A `BertTextClassifier` that was fine-tuned on the task.
        out: Directory of the new files, another one.
        batch_size: Texts in a batch.
        max_length: Longest text or pair, special tokens included.
        shard: `(i, n)` to write the i-th of n parts only, counted from 0.
        progress: Whether to show a bar, and the line on the originals.

    Returns:
        A `Written`, as `write_augmented` does.

    Raises:
        FileNotFoundError: If the directory holds no augmented examples.
        TypeError: If `teacher` has no tokenizer.
        ValueError: If the teacher does not fit the labels in the files, or
            `out` belongs to a run with other settings.

    Example:

    ```python
    teacher = keras.saving.load_model("teacher.keras")
    keras_mmel.text.label_augmented("rte", teacher, "rte_labelled")
    ```

    Reference:
        Yi et al.: Reweighting Augmented Samples by Minimizing the Maximal
        Expected Loss, section 3.3.
    """
    files = AugmentedFiles(directory)
    manifest = files.manifest
    tokenizer = getattr(teacher, "tokenizer", None)
    if tokenizer is None:
        raise TypeError(
            "`teacher` must be a BertTextClassifier with its tokenizer. "
            f"Received: {type(teacher).__name__}"
        )
    _check_outputs(teacher, manifest)
    encoder = token_table.encoder_for(manifest, tokenizer)
    predict = predictor(teacher, batch_size)
    agrees: list[bool] = []

    def label(records: Iterator[Record]) -> Iterator[Record]:
        while block := list(itertools.islice(records, _BLOCK)):
            table = token_table.make_table(block, encoder, max_length)
            predictions = predict(table)
            agrees.extend(_agreement(table, predictions))
            yield from _with_predictions(block, predictions)

    # Two teachers' files differ in this, and so never mix in one directory.
    made = manifest.made | {
        "teacher": {
            "model": weights_hash(teacher),
            "tokenizer": tokenizer.fingerprint,
            "max_length": max_length,
        }
    }
    written = writing.write_records(
        out,
        files,
        label,
        made=made,
        num_shards=manifest.num_shards,
        shard=shard,
        split=manifest.split,
        progress=progress,
    )
    if progress and agrees:
        print(
            f"The teacher agrees with the labels of {sum(agrees)} of "
            f"{len(agrees)} originals, {100 * np.mean(agrees):.1f} %.",
            flush=True,
        )
    return written


def _agreement(table, predictions):
    """For each original with a label, whether the teacher gives it that one."""
    if table.labels is None:
        return []
    said = predictions[table.first[:-1]]
    classes = said.shape[1]
    if table.labels.dtype.kind == "i" and table.labels.max() >= classes:
        raise ValueError(
            "`teacher` must have the classes of the labels, which are counted "
            "from 0; where they are counted from 1 read the texts anew with "
            "label_names=['1', '2', ...]. Received: a teacher of "
            f"{classes} classes for the label {table.labels.max()}"
        )
    said = said.argmax(1) if classes > 1 else said[:, 0]
    # As `keras-mmel inspect` counts; -1 is a class that is hidden.
    agrees = np.abs(said - table.labels) <= REGRESSION_GAP
    return agrees[(table.labels >= 0) | (table.labels.dtype.kind == "f")]


def _with_predictions(records, predictions):
    """Records and their views with the rows that belong to each."""
    rows = iter(predictions.tolist())
    for record in records:
        # In the order of the table: the original, then its views.
        own = tuple(next(rows))
        views = tuple(
            dataclasses.replace(view, teacher=tuple(next(rows)))
            for view in record.views
        )
        yield dataclasses.replace(record, teacher=own, views=views)


def weights_hash(model: keras.Model) -> str:
    """32 hex digits that change with the weights of a model."""
    # Paths and shapes keep apart what has the same bytes in another order.
    digest = hashlib.blake2b(digest_size=16)
    for weight in model.weights:
        array = weight.numpy()
        digest.update(repr((weight.path, array.shape)).encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _check_outputs(teacher, manifest):
    outputs = getattr(teacher, "num_classes", None)
    names = manifest.label_names
    if manifest.label_kind == "value":
        fits, expected = outputs == 1, "one output (regression)"
    elif names is not None:
        fits = outputs != 1 and outputs == len(names)
        expected = f"{len(names)} classes"
    else:
        # Without labels in the files any teacher will do.
        fits = outputs != 1 or manifest.label_kind is None
        expected = "several classes"
    if not fits:
        raise ValueError(
            f"`teacher` must have {expected}, as the labels in the files. "
            f"Received: a teacher with {outputs} outputs"
        )


def predictor(
    classifier: keras.Model, batch_size: int
) -> Callable[[token_table.TokenTable], np.ndarray]:
    """Makes a function that predicts every row of a table.

    Rows are sorted by length and predicted in batches of one shape for each
    length; the prediction of a row does not depend on the others.

    Args:
        classifier: A `BertTextClassifier`.
        batch_size: Rows in a batch.

    Returns:
        A function from a table to class probabilities, float32
        (rows, classes), or to values (rows, 1).
    """
    spec = tf.TensorSpec((batch_size, None), tf.int32)
    names = ("token_ids", "segment_ids", "padding_mask")

    @tf.function
    def outputs_of(inputs):
        outputs = classifier(inputs, training=False)
        if outputs.shape[-1] == 1:
            return tf.cast(outputs, tf.float32)
        probabilities = tf.nn.softmax(tf.cast(outputs, tf.float64))
        return tf.cast(probabilities, tf.float32)

    # By itself, as in `WordScorer`: no warning of the fifth in a process.
    traced = outputs_of.get_concrete_function(dict.fromkeys(names, spec))

    def predict(table):
        inputs_of = batches.gatherer(table)
        lengths = batches.padded_lengths(table)
        order = np.argsort(lengths, kind="stable")
        predictions = []
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            # A batch that is not full is filled up with its last row.
            full = np.pad(rows, (0, batch_size - len(rows)), "edge")
            inputs = inputs_of(full, lengths[rows[-1]])
            predictions.append(traced(inputs)[: len(rows)])
        return np.concatenate(predictions)[np.argsort(order)]

    return predict
