"""Columns in memory give what the same rows in a CSV file give."""

import csv

import numpy as np
import pytest

from keras_mmel.text import files
from keras_mmel.text import read_plain
from keras_mmel.text.files import InMemory
from keras_mmel.text.files import Record
from keras_mmel.text.files import View
from keras_mmel.text.files import from_columns
from keras_mmel.text.files import from_csv
from keras_mmel.text.files import from_jsonl

TEXTS = ["so good", "two\nlines", "an old\u2028film", ""]


class Frame:
    """What a DataFrame is asked for, without pandas."""

    def __init__(self, columns):
        self._columns = columns
        self.columns = tuple(columns)

    def __getitem__(self, name):
        return np.array(self._columns[name], object)


class NAType:
    """pandas.NA: no truth value, and equal to nothing."""

    def __eq__(self, other):
        raise TypeError("boolean value of NA is ambiguous")

    __hash__ = None


def containers(columns):
    """The columns in whatever holds them here."""
    yield columns
    yield Frame(columns)
    pyarrow = pytest.importorskip("pyarrow")
    yield pyarrow.table(columns)


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, 1, 0],
        [2.0, 0.0, 1.0, 2.0],
        [0.5, 1.5, 2.25, 3.0],
        ["good", "bad", "bad", "good"],
        [True, False, True, True],
        [float("nan")] * 4,
        None,
    ],
)
def test_labels_are_those_of_a_file(labels, tmp_path):
    cells = labels or [""] * 4
    shown = ["" if c != c else int(c) if c is True else c for c in cells]
    shown = [0 if c is False else c for c in shown]
    path = tmp_path / "rows.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = zip(TEXTS, TEXTS[::-1], shown, strict=True)
        csv.writer(file).writerows([("a", "b", "y"), *rows])
    label = "y" if labels else None
    expected = from_csv(path, ["a", "b"], label)
    columns = {"a": TEXTS, "b": TEXTS[::-1]} | ({"y": labels} if labels else {})
    for data in containers(columns):
        source = from_columns(data, ["a", "b"], label)
        assert source.records == expected.records
        assert source.label_kind == expected.label_kind
        assert source.label_names == expected.label_names
        # Another run goes on with the same data alone.
        other = dict(columns, a=[*TEXTS[:-1], "new"])
        assert source.describe() != from_columns(other, "a").describe()
        again = from_columns(data, ["a", "b"], label)
        assert source.describe() == again.describe()
        row = source.records[0]
        assert type(row.texts[0]) is str
        assert type(row.label) in (int, float, type(None))


def test_names_of_classes():
    class Dataset(dict):
        """A `datasets.Dataset` knows the names of its classes."""

        column_names = ("text", "y")

    class ClassLabel:
        names = ("bad", "good")

    data = Dataset(text=["a", "b"], y=[1, 1])
    data.features = {"text": None, "y": ClassLabel()}
    assert from_columns(data, "text", "y").label_names == ("bad", "good")
    assert from_columns(data, "text").label_names is None
    assert from_columns(data, "text", "y", ["bad", "good"]).label_names == (
        "bad",
        "good",
    )
    with pytest.raises(ValueError, match="those that `data` has.*'no', 'yes'"):
        from_columns(data, "text", "y", ["no", "yes"])
    source = from_columns(dict(data), "text", "y", ["no", "yes"])
    assert source.label_names == ("no", "yes")
    # Numbers of classes, also where their names are numbers.
    ClassLabel.names = ("1", "2")
    source = from_columns(data, "text", "y")
    assert [record.label for record in source.records] == [1, 1]
    for label in (-1, 2):
        data["y"] = [0, label]
        with pytest.raises(ValueError, match="row 2: 'y' must be a class"):
            from_columns(data, "text", "y")


@pytest.mark.parametrize(
    "names",
    [
        {0: "no", 1: "yes"},
        {"no", "yes"},
        "no",
        ["yes", "yes"],
        [0, 1],
        [],
        [["no"], ["yes"]],
        np.array([0, 1]),
    ],
)
def test_names_are_different_strings(names):
    """As those that `export_text_classifier` takes."""
    data = {"text": ["a", "b"], "y": [0, 1]}
    message = "`label_names` must be a list of different strings.*Received: "
    with pytest.raises(ValueError, match=message):
        from_columns(data, "text", "y", names)
    with pytest.raises(ValueError, match=message):
        InMemory([Record("0", ("a",), 0)], "class", names)


@pytest.mark.parametrize("kind", ["U", "O"])
def test_names_may_be_an_array(kind):
    data = {"text": ["a", "b"], "y": ["yes", "no"]}
    source = from_columns(data, "text", "y", np.array(["no", "yes"], kind))
    assert source.label_names == ("no", "yes")
    assert {type(name) for name in source.label_names} == {str}
    assert [record.label for record in source.records] == [1, 0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"text": ["a"]}, "dict: no column 'y'; there are 'text'"),
        ({"text": [], "y": []}, "of one length, not empty"),
        ({"text": ["a", "b"], "y": [1]}, "of one length"),
        ({"text": ["a", None], "y": [1, 0]}, "row 2: 'text' is no text"),
        ({"text": ["a", float("nan")], "y": [1, 0]}, "row 2: 'text' is no"),
        ({"text": ["a", "b"], "y": [1, NAType()]}, "row 2: 'y' is missing"),
        ({"text": ["a", "b"], "y": [1, [2]]}, "row 2: 'y' is no label"),
        ({"text": ["a"], "y": [-1]}, "counted from 0.*InMemory.records, 'val"),
        ({"train": {}, "test": {}}, "there are 'train', 'test'"),
        ({"text": "abc", "y": [0, 1, 1]}, "'text' must be a list.*: 'abc'"),
        ({"text": ["a", "b\ud83d"], "y": [0, 1]}, "valid Unicode.*example '1'"),
        ({"text": ["a", "b"], "y": "01"}, "'y' must be a list"),
    ],
)
def test_what_is_wrong_is_named(data, message):
    with pytest.raises(ValueError, match=message):
        from_columns(data, "text", "y")


def test_a_name_of_two_columns():
    """As pandas.concat gives; which of them is meant nobody knows."""
    data = Frame({"text": ["a"], "y": [0]})
    data.columns = ("text", "y", "text")
    with pytest.raises(ValueError, match="two columns are called 'text'"):
        from_columns(data, "text", "y")


def test_who_should_come_by_another_door(tmp_path):
    with pytest.raises(TypeError, match="`data` must have columns.*list"):
        from_columns([("a", 1)], "text")
    for read in (from_csv, from_jsonl):
        with pytest.raises(TypeError, match="from_columns.*Received: Frame"):
            read(Frame({"text": TEXTS}), "text")
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"PAR1\xa4")
    with pytest.raises(ValueError, match="rows.parquet, .*from_columns"):
        from_csv(path, "text")


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (Record(7, ("a",)), r"str\(7\).*Received: Record\(example_id=7"),
        (Record("7", "ab"), "tuple of one string.*'7', texts='ab'"),
        (Record("7", ("a", "b", "c")), "tuple of one string"),
        (Record("7", (b"a",)), "tuple of one string"),
        (Record("7", ("a",), views=(View("b"),)), "Received: .*texts='b'"),
        (("7", ("a",)), "`from_columns`.*Received: "),
    ],
)
def test_records_that_are_none(record, message):
    with pytest.raises(TypeError, match=message):
        InMemory([record])


@pytest.mark.parametrize(
    ("texts", "view"), [("b\ud83d", "a"), ("a", "b\udc00")]
)
def test_texts_that_no_file_can_hold(texts, view):
    record = Record("7", (texts,), views=(View((view,)),))
    with pytest.raises(ValueError, match="valid Unicode.*example '7' with"):
        InMemory([Record("6", ("a",)), record])


@pytest.mark.parametrize(
    ("kind", "names", "label", "received"),
    [
        ("class", ("bad", "good"), 5, "of 2 classes. Received: 5"),
        ("class", ("bad", "good"), -2, "Received: -2"),
        ("class", None, 0.5, "'class'. Received: 0.5"),
        ("class", None, True, "Received: True"),
        ("class", None, None, "Received: None"),
        ("value", None, float("nan"), "'value'. Received: nan"),
    ],
)
def test_labels_that_no_record_has(kind, names, label, received):
    """As they would be refused when they are written."""
    records = [Record("0", ("a",), -1), Record("1", ("b",), label)]
    if kind != "class":
        records = records[1:]
    with pytest.raises(ValueError, match=f"label of example '1'.*{received}"):
        InMemory(records, kind, names)


def test_integers_may_be_values():
    """A reader would take them for classes."""
    source = from_columns({"t": ["a", "b"], "y": [1, 0]}, "t", "y")
    values = InMemory(source.records, "value")
    _, labels = next(iter(read_plain(values, as_text=True)))
    assert labels.dtype == "float32" and labels.numpy().tolist() == [1.0, 0.0]


def test_a_source_like_any_other(tmp_path):
    source = from_columns({"text": ["a", "b"], "y": [0, 1]}, "text", "y")
    files.write_augmented(tmp_path, source, progress=False)
    assert [r.example_id for r in files.read_records(tmp_path)] == ["0", "1"]
