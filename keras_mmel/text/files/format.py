"""How a record lies in a TFRecord file: the layout TFDS reads by itself.

The layout is that of a `tfds.features.FeaturesDict`: nested keys are joined
by slashes, and a list of lists is stored flat beside the lengths of its rows.
"""

import numbers
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from keras_mmel import extras
from keras_mmel.text.files.records import Record
from keras_mmel.text.files.records import View

LABEL_KINDS = ("class", "value", None)
"""Integer classes, real values (regression), or no labels at all."""

NO_LABEL = -1
"""Stored as the label where there is none, as GLUE does."""

_RAGGED = ("token_ids", "positions", "teacher")


def features(label_kind: str | None, label_names: Sequence[str] | None = None):
    """The TFDS features of the files.

    Args:
        label_kind: "class", "value" (regression) or `None` (no labels; -1 is
            stored).
        label_names: names of the classes, where they have any.

    Returns:
        A `tfds.features.FeaturesDict` of

        - `example_id`, `text_a`, `text_b`: strings, `text_b` empty for single
          texts
        - `label`: int64, or float32 for regression
        - `token_ids`: (length,) int32, the original's ids
        - `teacher`: (classes,) float32, or (0,) before it was labelled
        - `views`: one row for each augmented view: `text_a`, `text_b`,
          `token_ids`, `positions`, `log_prob` and `teacher`
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
    view = {
        "text_a": text,
        "text_b": text,
        "token_ids": ints,
        "positions": ints,
        "log_prob": tfds.features.Scalar(np.float32),
        "teacher": floats,
    }
    return tfds.features.FeaturesDict(
        {
            "example_id": text,
            "text_a": text,
            "text_b": text,
            "label": label,
            "token_ids": ints,
            "teacher": floats,
            "views": tfds.features.Sequence(view),
        }
    )


def encode(
    record: Record, label_kind: str | None, num_classes: int | None = None
) -> bytes:
    """A record as a serialized `tf.train.Example`, always the same bytes.

    Args:
        record: the record.
        label_kind: as in `features`.
        num_classes: number of classes, where they have names.

    Returns:
        The bytes.

    Raises:
        ValueError: if the record does not fit: not one or two texts, a label
            of another kind, views that are not like the original.
        TypeError: if the id is no string.
    """
    if not isinstance(record.example_id, str):
        raise TypeError(
            "The id of an example must be a string. "
            f"Received: {record.example_id!r}"
        )
    example = tf.train.Example()
    fields = example.features.feature
    _put_texts(fields, "", [record.texts], record)
    fields["example_id"].bytes_list.value.append(record.example_id.encode())
    label = _check_label(record, label_kind, num_classes)
    if label_kind == "value":
        fields["label"].float_list.value.append(label)
    else:
        fields["label"].int64_list.value.append(label)
    fields["token_ids"].int64_list.value.extend(record.token_ids)
    fields["teacher"].float_list.value.extend(record.teacher)
    views = record.views
    _put_texts(fields, "views/", [view.texts for view in views], record)
    fields["views/log_prob"].float_list.value.extend(v.log_prob for v in views)
    for name in _RAGGED:
        rows = [getattr(view, name) for view in views]
        key = f"views/{name}/ragged_"
        lengths = fields[key + "row_lengths_0"].int64_list.value
        lengths.extend(map(len, rows))
        flat = fields[key + "flat_values"]
        kind = flat.float_list if name == "teacher" else flat.int64_list
        # An empty list must still say of which kind it is.
        kind.SetInParent()
        for row in rows:
            kind.value.extend(row)
    for name in ("text_a", "text_b"):
        fields[f"views/{name}"].bytes_list.SetInParent()
    for name in ("teacher", "views/log_prob"):
        fields[name].float_list.SetInParent()
    for name in (
        "token_ids",
        *(f"views/{n}/ragged_row_lengths_0" for n in _RAGGED),
    ):
        fields[name].int64_list.SetInParent()
    return example.SerializeToString(deterministic=True)


def decode(serialized: bytes, label_kind: str | None, num_texts: int) -> Record:
    """The record that `encode` made these bytes of.

    Args:
        serialized: a serialized `tf.train.Example`.
        label_kind: as in `features`.
        num_texts: 1, or 2 for pairs.

    Returns:
        The record; real numbers are those that float32 can hold.
    """
    fields = tf.train.Example.FromString(serialized).features.feature
    columns = ("text_a", "text_b")[:num_texts]
    ragged = {name: _rows(fields, name) for name in _RAGGED}
    texts = [fields[f"views/{name}"].bytes_list.value for name in columns]
    log_probs = fields["views/log_prob"].float_list.value
    views = tuple(
        View(
            tuple(column[i].decode() for column in texts),
            ragged["token_ids"][i],
            ragged["positions"][i],
            log_probs[i],
            ragged["teacher"][i],
        )
        for i in range(len(log_probs))
    )
    label = fields["label"]
    if label_kind == "value":
        label = label.float_list.value[0]
    else:
        label = label.int64_list.value[0]
    return Record(
        fields["example_id"].bytes_list.value[0].decode(),
        tuple(fields[name].bytes_list.value[0].decode() for name in columns),
        None if label_kind is None else label,
        tuple(fields["token_ids"].int64_list.value),
        views,
        tuple(fields["teacher"].float_list.value),
    )


def example_id(serialized: bytes) -> str:
    """The id of the record that `encode` made these bytes of."""
    fields = tf.train.Example.FromString(serialized).features.feature
    return fields["example_id"].bytes_list.value[0].decode()


def _check_label(record, label_kind, num_classes):
    """The label as it is stored."""
    label = record.label
    rule = {"class": "an integer", "value": "a number", None: "None"}
    rule = rule[label_kind]
    if label_kind is None:
        if label is None:
            return NO_LABEL
    elif not isinstance(label, bool | np.bool_):
        if label_kind == "value" and isinstance(label, numbers.Real):
            return float(label)
        if label_kind == "class" and isinstance(label, numbers.Integral):
            if num_classes is None or NO_LABEL <= label < num_classes:
                return int(label)
            rule = f"below {num_classes}, the number of `label_names`"
    raise ValueError(
        f"The label of example {record.example_id!r} must be {rule}. "
        f"Received: {label!r}"
    )


def _put_texts(fields, prefix, rows, record):
    num_texts = len(record.texts)
    for texts in rows:
        if len(texts) != num_texts or num_texts not in (1, 2):
            raise ValueError(
                f"Example {record.example_id!r} must have one or two texts, "
                f"and its views as many. Received: {texts!r}"
            )
    for i, name in enumerate(("text_a", "text_b")):
        fields[prefix + name].bytes_list.value.extend(
            (texts[i] if i < num_texts else "").encode() for texts in rows
        )


def _rows(fields, name):
    flat = fields[f"views/{name}/ragged_flat_values"]
    values = (flat.float_list if name == "teacher" else flat.int64_list).value
    rows, start = [], 0
    for length in fields[f"views/{name}/ragged_row_lengths_0"].int64_list.value:
        rows.append(tuple(values[start : start + length]))
        start += length
    return rows
