import pytest
import tensorflow as tf

from keras_mmel.text.files import Record
from keras_mmel.text.files import View
from keras_mmel.text.files import format

LABELS = {"class": 2, "value": 0.25, None: None}


def records(label):
    pair = ("na\u00efve \U0001f389", "")
    views = (
        View(("x", "y"), (5, 6, 7), (1,), (0.25, 0.75)),
        View(("u", "v"), (5,), (), ()),
    )
    yield Record("a", pair, label, (1, 2), views, (0.5, 0.5))
    yield Record("b", pair, label)


def as_dict(record):
    """The record as TFDS would be given it."""

    def row(one, *names):
        a, b = one.texts
        names = ("token_ids", "teacher", *names)
        return {"text_a": a, "text_b": b} | {n: getattr(one, n) for n in names}

    label = -1 if record.label is None else record.label
    views = [row(view, "positions") for view in record.views]
    return row(record, "example_id") | {"label": label, "views": views}


@pytest.mark.parametrize("kind", LABELS)
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


@pytest.mark.parametrize("kind", LABELS)
def test_decode_gives_back_what_was_encoded(kind):
    for record in records(LABELS[kind]):
        assert format.decode(format.encode(record, kind), kind, 2) == record
    one = Record("a", ("x",), LABELS[kind], (), (View(("y",)),))
    assert format.decode(format.encode(one, kind), kind, 1) == one


@pytest.mark.parametrize(
    ("label", "kind"),
    [(0.5, "class"), (True, "class"), (None, "class"), ("1", "value")]
    + [(1, None), (3, "class"), (-2, "class")],
)
def test_label_of_another_kind_is_refused(label, kind):
    num_classes = 3 if kind == "class" else None
    with pytest.raises(ValueError, match="label of example 'a'.*Received"):
        format.encode(Record("a", ("x",), label), kind, num_classes)


def test_wrong_number_of_texts_is_refused():
    records = [Record("a", texts, 0) for texts in (("x", "y", "z"), ())]
    views = (View(("y", "z")),)
    for record in (Record("a", ("x",), 0, views=views), *records):
        with pytest.raises(ValueError, match="'a' must have one or two texts"):
            format.encode(record, "class")
