"""How a record lies in a TFRecord file: the layout TFDS reads by itself.

The layout is that of a `tfds.features.FeaturesDict`: nested keys are joined
by slashes, and a list of lists is stored flat beside the lengths of its rows.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_mmel import extras
from keras_mmel.text.sources.records import NO_LABEL
from keras_mmel.text.sources.records import Record
from keras_mmel.text.sources.records import View
from keras_mmel.text.sources.records import check_label

_BYTES, _INTS, _FLOATS = "bytes_list", "int64_list", "float_list"
_TEXTS = ("text_a", "text_b")
_RAGGED = {"token_ids": _INTS, "positions": _INTS, "teacher": _FLOATS}


class Columns(NamedTuple):
    """Some records as columns.

    A row is an original or a view; those of a record stand next to each other,
    the original first.

    Attributes:
        example_ids: Of each record.
        labels: Of each record, or `None` for each.
        views: int64 (records,), rows of each record.
        token_ids: int32, row after row.
        lengths: int64 (rows,), how many of them each row has.
        teacher: float32, row after row.
        teacher_lengths: int64 (rows,).
        texts: Of each row, where they are wanted.
    """

    example_ids: list[str]
    labels: list
    views: np.ndarray
    token_ids: np.ndarray
    lengths: np.ndarray
    teacher: np.ndarray
    teacher_lengths: np.ndarray
    texts: Sequence[tuple[str, ...]] = ()


def features(label_kind: str | None, label_names: Sequence[str] | None = None):
    """Gives the TFDS features of the files.

    Args:
        label_kind: "class", "value" (regression) or `None` (no labels; -1 is
            stored).
        label_names: Names of the classes, where they have any.

    Returns:
        A `tfds.features.FeaturesDict` of

        - `example_id`, `text_a`, `text_b`: strings, `text_b` empty for single
          texts
        - `label`: int64, or float32 for regression
        - `token_ids`: (length,) int32, the original's ids
        - `teacher`: (classes,) float32, or (0,) before it was labelled
        - `views`: one row for each augmented view: `text_a`, `text_b`,
          `token_ids`, `positions` and `teacher`
    """
    tfds = extras.need("tensorflow_datasets", "datasets")
    if label_kind == "value":
        label = tfds.features.Scalar(np.float32)
    elif label_names:
        label = tfds.features.ClassLabel(names=list(label_names))
    else:
        label = tfds.features.Scalar(np.int64)
    ints = tfds.features.Sequence(np.int32)
    floats = tfds.features.Sequence(np.float32)
    text = tfds.features.Text()
    row = {"text_a": text, "text_b": text, "token_ids": ints, "teacher": floats}
    views = tfds.features.Sequence(row | {"positions": ints})
    return tfds.features.FeaturesDict(
        row | {"example_id": text, "label": label, "views": views}
    )


def encode(
    record: Record, label_kind: str | None, num_classes: int | None = None
) -> bytes:
    """Encodes a record as a `tf.train.Example`, always as the same bytes.

    Args:
        record: The record.
        label_kind: As in `features`.
        num_classes: Number of classes, where they have names.

    Returns:
        The serialized example.

    Raises:
        ValueError: If the record does not fit: not one or two texts, a label
            of another kind, views that are not like the original.
    """
    example = tf.train.Example()
    fields = example.features.feature

    def put(name, values, kind):
        values_list = getattr(fields[name], kind)
        # An empty list must still say of which kind it is.
        values_list.SetInParent()
        values_list.value.extend(values)

    views = record.views
    put("example_id", [record.example_id.encode()], _BYTES)
    check_label(record, label_kind, num_classes)
    label = NO_LABEL if label_kind is None else record.label
    put("label", [label], _FLOATS if label_kind == "value" else _INTS)
    put("token_ids", record.token_ids, _INTS)
    put("teacher", record.teacher, _FLOATS)
    original = _both_texts(record, record)
    augmented = [_both_texts(view, record) for view in views]
    for i, name in enumerate(_TEXTS):
        put(name, [original[i]], _BYTES)
        put(f"views/{name}", [texts[i] for texts in augmented], _BYTES)
    for name, kind in _RAGGED.items():
        rows = [getattr(view, name) for view in views]
        # TFDS's names of a ragged feature that is one level deep.
        key = f"views/{name}/ragged_"
        put(key + "row_lengths_0", map(len, rows), _INTS)
        put(key + "flat_values", itertools.chain.from_iterable(rows), kind)
    return example.SerializeToString(deterministic=True)


def decode(serialized: bytes, label_kind: str | None, num_texts: int) -> Record:
    """Decodes the record that `encode` made these bytes of.

    Args:
        serialized: A serialized `tf.train.Example`.
        label_kind: As in `features`.
        num_texts: 1, or 2 for pairs.

    Returns:
        The record; real numbers are those that float32 can hold.
    """
    fields = tf.train.Example.FromString(serialized).features.feature

    def get(name, kind):
        return tuple(getattr(fields[name], kind).value)

    def texts(prefix):
        columns = (get(prefix + name, _BYTES) for name in _TEXTS[:num_texts])
        return [
            tuple(text.decode() for text in row)
            for row in zip(*columns, strict=True)
        ]

    def rows(name, kind):
        values = iter(get(f"views/{name}/ragged_flat_values", kind))
        lengths = get(f"views/{name}/ragged_row_lengths_0", _INTS)
        return [tuple(itertools.islice(values, length)) for length in lengths]

    label = None
    if label_kind is not None:
        (label,) = get("label", _FLOATS if label_kind == "value" else _INTS)
    ragged = (rows(name, kind) for name, kind in _RAGGED.items())
    return Record(
        example_id=get("example_id", _BYTES)[0].decode(),
        texts=texts("")[0],
        label=label,
        token_ids=get("token_ids", _INTS),
        # `_RAGGED` has the fields of a view in their order.
        views=tuple(map(View, texts("views/"), *ragged)),
        teacher=get("teacher", _FLOATS),
    )


def decode_columns(
    serialized: Sequence[bytes], label_kind: str | None
) -> Columns:
    """Decodes many records at once, several times as fast as one by one.

    Args:
        serialized: What `encode` made, at least one.
        label_kind: As in `features`.

    Returns:
        What `decode` gives, as columns without the texts.
    """
    label = tf.float32 if label_kind == "value" else tf.int64
    fields = {
        "example_id": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], label),
    }
    dtypes = {"token_ids": tf.int64, "teacher": tf.float32}
    for name, dtype in dtypes.items():
        key = f"views/{name}/ragged_"
        rows = tf.io.RaggedFeature.RowLengths(key + "row_lengths_0")
        fields[name] = tf.io.RaggedFeature(dtype)
        fields["views/" + name] = tf.io.RaggedFeature(
            dtype, key + "flat_values", [rows]
        )
    parsed = tf.io.parse_example(serialized, fields)
    columns, none = [], [None] * len(serialized)
    for name in dtypes:
        original = parsed[name][:, None]
        rows = tf.concat([original, parsed["views/" + name]], axis=1)
        columns += [rows.flat_values.numpy(), rows.values.row_lengths().numpy()]
    ids, lengths, teacher, teacher_lengths = columns
    return Columns(
        [example_id.decode() for example_id in parsed["example_id"].numpy()],
        none if label_kind is None else parsed["label"].numpy().tolist(),
        rows.row_lengths().numpy().astype(np.int64),
        ids.astype(np.int32),
        lengths.astype(np.int64),
        teacher,
        teacher_lengths.astype(np.int64),
    )


def _both_texts(row, record):
    """Gives the texts of a record or a view as two byte strings."""
    texts = row.texts
    if len(texts) != len(record.texts) or len(texts) not in (1, 2):
        raise ValueError(
            f"Example {record.example_id!r} must have one or two texts, "
            f"and its views as many. Received: {texts!r}"
        )
    return [text.encode() for text in (*texts, "")[:2]]
