import math

import numpy as np
import pytest
import tensorflow as tf

from keras_mmel.text.files import Record
from keras_mmel.text.files import View
from keras_mmel.text.files import format

LABELS = {"class": 2, "value": 0.25, None: None}


def records(label):
    pair = ("na\u00efve \U0001f389", "")
    views = (
        View(("x", "y"), (5, 6, 7), (1,), -1.5, (0.25, 0.75)),
        View(("u", "v"), (5,), (), 0.0, ()),
    )
    yield Record("a", pair, label, (1, 2), views, (0.5, 0.5))
    yield Record("b", pair, label)


def as_dict(record):
    """The record as TFDS would be given it."""

    def texts(pair):
        return {"text_a": pair[0], "text_b": pair[1]}

    names = ("token_ids", "positions", "log_prob", "teacher")
    return texts(record.texts) | {
        "example_id": record.example_id,
        "label": -1 if record.label is None else record.label,
        "token_ids": record.token_ids,
        "teacher": record.teacher,
        "views": [
            texts(view.texts) | {name: getattr(view, name) for name in names}
            for view in record.views
        ],
    }


@pytest.mark.parametrize("kind", format.LABEL_KINDS)
def test_layout_is_that_of_tfds(kind):
    names = ("no", "maybe", "yes") if kind == "class" else None
    features = format.features(kind, names)
    for record in records(LABELS[kind]):
        encoded = features.encode_example(as_dict(record))
        expected = tf.train.Example.FromString(
            features.serialize_example(encoded)
        )
        found = tf.train.Example.FromString(format.encode(record, kind))
        assert found == expected


@pytest.mark.parametrize("kind", format.LABEL_KINDS)
def test_decode_gives_back_what_was_encoded(kind):
    for record in records(LABELS[kind]):
        assert format.decode(format.encode(record, kind), kind, 2) == record


def test_decode_of_single_texts():
    record = Record("a", ("x",), 0, (), (View(("y",), log_prob=-1.0),))
    assert format.decode(format.encode(record, "class"), "class", 1) == record


def test_unknown_log_prob_stays_unknown():
    record = Record("a", ("x",), 0, (), (View(("y",)),))
    read = format.decode(format.encode(record, "class"), "class", 1)
    assert math.isnan(read.views[0].log_prob)


def test_tfds_gives_names_of_classes():
    features = format.features("class", ("no", "yes"))
    assert features["label"].names == ["no", "yes"]
    assert format.features("value")["label"].np_dtype == np.float32


@pytest.mark.parametrize(
    ("label", "kind"),
    [(0.5, "class"), (True, "class"), (None, "class"), ("1", "value")]
    + [(1, None)],
)
def test_label_of_another_kind_is_refused(label, kind):
    with pytest.raises(ValueError, match="label of example 'a'.*Received"):
        format.encode(Record("a", ("x",), label), kind)


@pytest.mark.parametrize(
    "record",
    [
        Record("a", ("x",), 0, views=(View(("y", "z")),)),
        Record("a", ("x", "y", "z"), 0),
        Record("a", (), 0),
    ],
)
def test_wrong_number_of_texts_is_refused(record):
    with pytest.raises(ValueError, match="'a' must have one or two texts"):
        format.encode(record, "class")


def test_label_without_a_name_is_refused():
    hidden = format.encode(Record("a", ("x",), -1), "class", 2)
    assert format.decode(hidden, "class", 1).label == -1
    for label in (2, -2):
        with pytest.raises(ValueError, match="'a' must be below 2, the number"):
            format.encode(Record("a", ("x",), label), "class", 2)


def test_id_that_is_no_string_is_refused():
    with pytest.raises(TypeError, match="must be a string. Received: 7"):
        format.encode(Record(7, ("x",), 0), "class")
