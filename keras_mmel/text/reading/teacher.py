"""A teacher's predictions for originals and augmented views, into files."""

import dataclasses
import hashlib
import itertools
import os
from collections.abc import Callable
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_mmel.losses.soft_targets import REGRESSION_GAP
from keras_mmel.mmel_model import MMELModel
from keras_mmel.tasks import preprocessing
from keras_mmel.text.bert.networks import need_tensorflow
from keras_mmel.text.files import directory as directories
from keras_mmel.text.files import shards
from keras_mmel.text.files import writing
from keras_mmel.text.files.format import decode
from keras_mmel.text.files.reader import AugmentedFiles
from keras_mmel.text.reading import batches
from keras_mmel.text.reading import table_loading
from keras_mmel.text.reading.token_table import TokenTable
from keras_mmel.text.sources.records import Record
from keras_mmel.text.sources.records import as_text

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
    from_logits: bool | None = None,
) -> writing.Written:
    """Writes the files anew with a teacher's predictions.

    Every original and every view gets the teacher's class probabilities (the
    softmax of its logits), or its value where it has one output (regression).
    How many originals it gives their label is printed: a few more than chance
    would are a teacher whose classes have another order, or none at all.
    The ids in the files are used where the teacher has the tokenizer that
    made them, and they were cut no shorter than `max_length`; else its own
    tokenizer encodes the texts.

    A run that was stopped goes on when the same call is made again, as that
    of `write_augmented`.

    Args:
        directory: Directory of augmented files, with or without labels of a
            teacher.
        teacher: A classifier that was fine-tuned on the task: of
            `load_text_classifier`; of keras-hub, with its preprocessor; or any
            Keras model whose `predict` takes strings (of pairs, a tuple of
            two), with `from_logits`.
        out: Directory of the new files, another one.
        batch_size: Texts in a batch.
        max_length: Longest text or pair, special tokens included.
        shard: `(i, n)` to write the i-th of n parts only, counted from 0.
        progress: Whether to show a bar, and the line on the originals.
        from_logits: For a teacher that takes strings: whether its `predict`
            gives logits, not probabilities. `None` asks its `activation`.

    Returns:
        A `Written`, as `write_augmented` does.

    Raises:
        FileNotFoundError: If the directory holds no augmented examples.
        TypeError: If `teacher` takes no texts.
        RuntimeError: If it is of `load_text_classifier`, and Keras is not on
            TensorFlow.
        ValueError: If the teacher does not fit the labels in the files, or
            `out` belongs to a run with other settings or another teacher.

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
    teacher = teacher.model if isinstance(teacher, MMELModel) else teacher
    tokenizer: Any = getattr(teacher, "tokenizer", None)
    takes_text, encoder = tokenizer is None, None
    num_classes = getattr(teacher, "num_classes", None)
    if num_classes is not None:
        _check_outputs(num_classes, manifest)
    if takes_text:
        table_loading.check_for_no_ids(tokenizer, max_length)
        from_logits = _gives_logits(teacher, from_logits)
        outputs_of = text_predictor(teacher, batch_size)
        preprocessor = getattr(teacher, "preprocessor", None)
        facts = {
            "from_logits": from_logits,
            "max_length": getattr(preprocessor, "sequence_length", None),
        }
    else:
        need_tensorflow("labelling by a BERT of `load_text_classifier`")
        encoder = table_loading.encoder_for(manifest, tokenizer, max_length)
        from_logits = True
        outputs_of = predictor(teacher, batch_size)
        facts = {"tokenizer": tokenizer.fingerprint, "max_length": max_length}

    agrees: list[bool] = []

    def label(records: Iterator[Record]) -> Iterator[Record]:
        while block := list(itertools.islice(records, _BLOCK)):
            table = table_loading.make_table(
                block, encoder, max_length, as_text=takes_text
            )
            predictions = _as_predictions(outputs_of(table), from_logits)
            _check_outputs(predictions.shape[1], manifest)
            agrees.extend(_agreement(table, predictions))
            yield from _with_predictions(block, predictions)

    # Where two teachers differ in weights, `write_records` keeps their files
    # apart; where they do not, what they say must.
    facts["model"] = weights_hash(teacher)
    made = manifest.made | {"teacher": facts}
    _check_stored(out, files, made, label)
    agrees.clear()
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


def _check_stored(out, files, made, label):
    """Asks a teacher for a record that is in `out` already, if there is one."""
    if not (shards.as_path(out) / directories.MANIFEST).exists():
        return
    manifest = directories.read_manifest(out)
    if manifest.made != made:
        return  # `write_records` names what differs
    stored_records = writing.first_records(out, manifest)
    for name, numbers, stored in itertools.islice(stored_records, 1):
        (labelled,) = label(files.read(numbers.start, numbers.start + 1))
        record = decode(stored, manifest.label_kind, manifest.num_texts)
        has_as_many = len(labelled.teacher) == len(record.teacher)
        # Of another machine or precision they differ a little.
        if not has_as_many or not np.allclose(
            labelled.teacher, record.teacher, atol=1e-2
        ):
            raise ValueError(
                "`out` must be new, or of a run with the same teacher; name "
                "another one, or delete it to begin anew. Received: "
                f"{str(out)!r}, where another teacher made {name!r}"
            )


def _agreement(table, predictions):
    """For each original with a label, whether the teacher gives it that one."""
    if table.labels is None:
        return []
    predicted = predictions[table.first[:-1]]
    classes = predicted.shape[1]
    if table.labels.dtype.kind == "i" and table.labels.max() >= classes:
        raise ValueError(
            "`teacher` must have the classes of the labels, counted from 0: "
            "else read the texts anew with label_names=['1', '2', ...]. "
            f"Received: {classes} classes for the label {table.labels.max()}"
        )
    labels = predicted.argmax(1) if classes > 1 else predicted[:, 0]
    # As `keras-mmel inspect` counts; -1 is a class that is hidden.
    agrees = np.abs(labels - table.labels) <= REGRESSION_GAP
    return agrees[(table.labels >= 0) | (table.labels.dtype.kind == "f")]


def _as_predictions(outputs, from_logits):
    """Class probabilities (rows, classes), or values (rows, 1), float32."""
    outputs = np.asarray(outputs, "float64")
    if outputs.shape[-1] > 1:
        if from_logits:
            outputs = tf.nn.softmax(outputs).numpy()
        sums = outputs.sum(axis=-1)
        if outputs.min() < 0 or not np.allclose(sums, 1, atol=1e-3):
            raise ValueError(
                "`predict` of the teacher must give probabilities that sum to "
                f"1, or logits with `from_logits=True`. Received: {outputs[0]}"
            )
    return outputs.astype("float32")


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


def _check_outputs(outputs, manifest):
    names = manifest.label_names
    if manifest.label_kind == "value":
        fits, expected = outputs == 1, "one output (regression)"
    elif names is not None:
        fits = outputs != 1 and outputs == len(names)
        expected = f"{len(names)} classes"
    else:
        # Without labels in the files any teacher will do.
        fits = outputs != 1 or manifest.label_kind is None
        expected = "several classes (or, for values, the files are written "
        expected += "anew, of `InMemory(source.records, 'value')`)"
    if not fits:
        raise ValueError(
            f"`teacher` must have {expected}, as the labels in the files. "
            f"Received: a teacher with {outputs} outputs"
        )


def _gives_logits(teacher, from_logits):
    """Whether a teacher that takes strings says logits, not probabilities."""
    of_task = None
    if preprocessing.preprocess_of(teacher) is not None:
        linear, softmax = keras.activations.linear, keras.activations.softmax
        activation = getattr(teacher, "activation", None)
        of_task = {linear: True, softmax: False}.get(activation)
    if (
        from_logits is not None
        and of_task is not None
        and from_logits != of_task
    ):
        raise ValueError(
            "`from_logits` must be what the activation of `teacher` tells. "
            f"Received: from_logits={from_logits} with {teacher.activation}"
        )
    from_logits = of_task if from_logits is None else from_logits
    if from_logits is None:
        raise TypeError(
            "`teacher` must be a classifier of `load_text_classifier`, one "
            "of keras-hub with a preprocessor, and an activation that tells of "
            "logits, or, with `from_logits`, any that takes strings. "
            f"Received: {type(teacher).__module__}.{type(teacher).__name__}"
        )
    return from_logits


def text_predictor(
    classifier: keras.Model, batch_size: int
) -> Callable[[TokenTable], np.ndarray]:
    """Makes a function that predicts every text of a table.

    Args:
        classifier: A model whose `predict` takes strings.
        batch_size: Rows in a batch.

    Returns:
        As `predictor` does, of tables of texts.
    """
    # Prepares texts as the model itself, without a graph for each block.
    wrapper = MMELModel(classifier)

    def predict(table):
        texts = as_text(tuple(map(tf.constant, table.texts)))
        return wrapper.predict(texts, batch_size=batch_size, verbose=0)

    return predict


def predictor(
    classifier: keras.Model, batch_size: int
) -> Callable[[TokenTable], np.ndarray]:
    """Makes a function that predicts every row of a table.

    Rows are sorted by length and predicted in batches of one shape for each
    length; the prediction of a row does not depend on the others.

    Args:
        classifier: A `BertTextClassifier`.
        batch_size: Rows in a batch.

    Returns:
        A function from a table to what the model puts out for each row. It
        raises ValueError for a row that is longer than the model takes.
    """
    longest = classifier.backbone.max_sequence_length
    spec = tf.TensorSpec((batch_size, None), tf.int32)
    names = ("token_ids", "segment_ids", "padding_mask")

    @tf.function
    def outputs_of(inputs):
        return classifier(inputs, training=False)

    # By itself, as in `WordScorer`: no warning of the fifth in a process.
    traced = outputs_of.get_concrete_function(dict.fromkeys(names, spec))

    def predict(table):
        inputs_of = batches.gatherer(table)
        lengths = table.lengths
        if lengths.max() > longest:
            raise ValueError(
                f"`max_length` must be at most {longest} for these texts, the "
                "longest sequence that the teacher can take. "
                f"Received: a text of {lengths.max()} tokens"
            )
        lengths = batches.padded_lengths(lengths, lengths.max()).numpy()
        order = np.argsort(lengths, kind="stable")
        # A last batch that is not full is filled up with its last row.
        filled = np.pad(order, (0, -len(order) % batch_size), "edge")
        batched = filled.reshape(-1, batch_size)
        outputs = [traced(inputs_of(rows)) for rows in batched]
        return np.concatenate(outputs)[np.argsort(order)]

    return predict
