"""Examples in CSV, TSV and JSONL files, against Python's csv and json."""

import csv
import io
import json

import hypothesis
import pytest
from hypothesis import strategies as st

from keras_mmel.text import files
from keras_mmel.text.files import InMemory
from keras_mmel.text.files import Record
from keras_mmel.text.files import View
from keras_mmel.text.sources.labels import describe_labels
from keras_mmel.text.sources.tables import BadFile
from keras_mmel.text.sources.tables import read_table

# Commas, quotes, line breaks, every Unicode line separator, empty texts.
ODD = ['a, "b"', "two\nlines", "\u2028 \u0085 \x1c", "", "\U0001f389", " x "]

# Any text that UTF-8 can hold.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def write_csv(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(
    st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=6),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["utf-8", "utf-8-sig"]),
)
def test_tables_are_read_as_they_were_written(
    tmp_path_factory, rows, end, encoding
):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator=end, quoting=csv.QUOTE_ALL)
    starts = []
    for row in (["a", "b"], *rows):
        # Lines are counted at line feeds, as editors do.
        starts.append(text.getvalue().count("\n") + 1)
        writer.writerow(row)
    path.write_bytes(text.getvalue().encode(encoding))
    table = read_table(path)
    assert [(row["a"], row["b"]) for row in table.rows] == rows
    assert [row.line for row in table.rows] == starts[1:]


@hypothesis.settings(max_examples=30, deadline=None)
@hypothesis.given(
    st.lists(st.dictionaries(TEXT, TEXT | st.none(), min_size=1), min_size=1)
)
def test_json_lines_are_read_as_they_were_written(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    lines = (json.dumps(row, ensure_ascii=False) + "\n\n" for row in rows)
    path.write_text("".join(lines), "utf-8")
    table = read_table(path)
    assert table.rows == rows
    assert [row.line for row in table.rows] == list(range(1, 2 * len(rows), 2))


def write_jsonl(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_examples_of_a_file(tmp_path, kind):
    """Ids, pairs, labels and lists of views."""
    header = ("key", "one", "two", "label", "views")
    views = [[[f"{i}{j}", "x"] for j in range(i)] for i in range(7)]
    rows = [(f"k{i}", ODD[i % 6], str(i), i % 2, views[i]) for i in range(7)]
    if kind == "csv":
        cells = [(*row, json.dumps(views)) for *row, views in rows]
        path = write_csv(tmp_path / "x.csv", [header, *cells])
    else:
        lines = (dict(zip(header, row, strict=True)) for row in rows)
        path = write_jsonl(tmp_path / "x.jsonl", lines)
    read = getattr(files, f"from_{kind}")
    source = read(path, ["one", "two"], "label", "key", views="views")
    expected = [
        Record(key, (a, b), label, (), tuple(View(tuple(v)) for v in views))
        for key, a, b, label, views in rows
    ]
    assert (len(source), source.num_texts) == (7, 2)
    assert list(source.read(3, 99)) == expected[3:]
    assert source.records == expected


@pytest.mark.parametrize(
    ("text", "cells", "expected"),
    [
        ("t", {"v": "b", "w": ""}, [("b",)]),
        ("t", {"v": "b", "w": "c"}, [("b",), ("c",)]),
        ("t", {"v": ["b", "b", "a"], "w": "[]"}, [("b",)]),
        ("t", {"v": None, "w": ["c", "d"]}, [("c",), ("d",)]),
        (["t", "u"], {"v": ["b", "c"], "w": None}, [("b", "c")]),
        (["t", "u"], {"v": [["a", "a"], ["d", "a"]], "w": ""}, [("d", "a")]),
    ],
)
def test_views_stand_in_columns(tmp_path, text, cells, expected):
    row = {"t": "a", "u": "a"} | cells
    path = write_jsonl(tmp_path / "x.jsonl", [row])
    source = files.from_jsonl(path, text, views=["v", "w"])
    (record,) = source.records
    assert [view.texts for view in record.views] == expected
    left_out = [note for note in source.notes if "are left out, equal" in note]
    assert bool(left_out) == ("a" in str(cells))


def test_quotes_may_be_text(tmp_path):
    """And rows are numbered where there are no ids."""
    path = tmp_path / "x.tsv"
    path.write_text('t\tlabel\n"so\t1\nsaid"\t0\n')
    source = files.from_csv(path, "t", "label", quoting="none")
    expected = [Record("0", ('"so',), 1), Record("1", ('said"',), 0)]
    assert source.records == expected


def test_quoting_of_another_name_is_refused(tmp_path):
    path = write_csv(tmp_path / "x.csv", [["t"], ["a"]])
    with pytest.raises(ValueError, match="Received: quoting='None'"):
        files.from_csv(path, "t", quoting="None")


@pytest.mark.parametrize("place", ["record", "view"])
def test_pairs_and_single_texts_are_not_of_one_source(place):
    """The second sentences would be lost."""
    pair, single = ("a", "b"), ("c",)
    records = [Record("0", pair, 1), Record("1", single, 0)]
    if place == "view":
        records = [Record("0", single, 1, views=(View(pair),))]
    with pytest.raises(ValueError, match="all of them two"):
        InMemory(records, "class")


def test_long_cells_are_read(tmp_path):
    """Python's csv stops at 131,072 characters by itself."""
    path = write_csv(tmp_path / "x.csv", [["t"], ["a" * 200_000]])
    (record,) = files.from_csv(path, "t").records
    assert len(record.texts[0]) == 200_000


def test_description_changes_with_the_file_alone(tmp_path):
    one = write_csv(tmp_path / "x.csv", [["t"], ["a"]])
    (tmp_path / "y").mkdir()
    two = write_csv(tmp_path / "y" / "x.csv", [["t"], ["a"]])
    before = files.from_csv(one, "t").describe()
    assert files.from_csv(two, "t").describe() == before
    assert str(tmp_path) not in json.dumps(before)
    write_csv(two, [["t"], ["b"]])
    assert files.from_csv(two, "t").describe() != before


# Too many for classes.
FLOATS = [f"{i}.0" for i in range(21)]


def read_labels(tmp_path, cells, **options):
    rows = [["t", "y"], *(["x", cell] for cell in cells)]
    path = write_csv(tmp_path / "x.csv", rows)
    return files.from_csv(path, "t", "y", **options)


@pytest.mark.parametrize(
    ("cells", "kind", "names", "labels", "said"),
    [
        ("102", "class", None, [1, 0, 2], "3 classes: 0 1, 1 1, 2 1"),
        (["1.0", " 0.0", "1"], "class", None, [1, 0, 1], "2 classes: 0 1, 1 2"),
        (["1", "0.5", "3"], "value", None, [1.0, 0.5, 3.0], "from 0.5 to 3"),
        (["-1.0", "2"], "value", None, [-1.0, 2.0], "values from -1 to 2"),
        (FLOATS, "value", None, list(range(21)), "to 20"),
        (["pos ", "neg", " pos"], "class", ("neg", "pos"), [1, 0, 1], "pos 2"),
        ("lkjihgfedcba", "class", tuple("abcdefghijkl"), None, "j 1, ..."),
        (["", " ", ""], None, None, [None] * 3, "no labels"),
    ],
)
def test_kinds_of_labels(tmp_path, cells, kind, names, labels, said):
    source = read_labels(tmp_path, cells)
    assert (source.label_kind, source.label_names) == (kind, names)
    found = [example.label for example in source.records]
    assert labels is None or found == labels
    types = {"class": int, "value": float, None: type(None)}
    assert {type(label) for label in found} == {types[kind]}
    assert said in describe_labels(source)


@pytest.mark.parametrize(
    ("cells", "names", "labels"),
    [
        (["no", "yes"], ("yes", "no"), [1, 0]),
        (["1", "0.0"], ("yes", "no"), [1, 0]),
        (["2", "1"], ("1", "2"), [1, 0]),
        # As pandas writes a column that lacks some labels.
        (["2.0", "1.0"], ("1", "2", "3"), [1, 0]),
        (["1.0", "0"], ("1", "0"), [0, 1]),
        (["1.5", "1.0"], ("1.0", "1.5"), [1, 0]),
    ],
)
def test_label_names_may_be_given(tmp_path, cells, names, labels):
    source = read_labels(tmp_path, cells, label_names=names)
    assert source.label_names == names
    assert [example.label for example in source.records] == labels


@pytest.mark.parametrize("labels", [(2, 1), (2.0, 1.0)])
def test_labels_of_json_may_be_names_that_are_numbers(tmp_path, labels):
    """Counted from 1, for example."""
    path = write_jsonl(
        tmp_path / "x.jsonl", [{"t": "a", "y": y} for y in labels]
    )
    source = files.from_jsonl(path, "t", "y", label_names=["1", "2"])
    assert [example.label for example in source.records] == [1, 0]


@pytest.mark.parametrize(
    ("labels", "note"),
    [
        ("1212", "1 of 3 classes have no example, the first is 0: labels are"),
        (["0", "3"], "2 of 4 classes have no example, the first is 1:"),
        (["1999", "2019"], "2018 of 2020 classes have no example"),
        ("0102", None),
        (["1.5", "2"], None),
        (["-1.5", "2"], None),
        ("", None),
    ],
)
def test_classes_without_an_example_are_noted(tmp_path, labels, note):
    notes = read_labels(tmp_path, labels or [""]).notes
    assert [text[: len(note or "")] for text in notes] == (
        [note] if note else []
    )
    if note:
        names = sorted(set(labels))
        assert read_labels(tmp_path, labels, label_names=names).notes == ()


@pytest.mark.parametrize(
    ("labels", "why"),
    [(["-1.0", "1.0"], "some are negative;"), (FLOATS, "more than 20 differ")],
)
def test_whole_numbers_that_are_values_are_noted(tmp_path, labels, why):
    source = read_labels(tmp_path, labels)
    (note,) = source.notes
    assert source.label_kind == "value"
    assert note.startswith("labels are whole numbers") and why in note


def test_words_that_are_numbered_are_noted(tmp_path):
    """Unless their order was given."""
    (note,) = read_labels(tmp_path, ["good", "bad", "good"]).notes
    assert note.startswith(
        "labels are words, numbered in alphabetical order (0 bad, 1 good): "
    )
    (note,) = read_labels(tmp_path, "lkjihgfedcba").notes
    assert "(0 a, 1 b, " in note and "9 j, ...)" in note
    given = read_labels(tmp_path, ["good", "bad"], label_names=["bad", "good"])
    assert given.notes == ()


def test_empty_texts_are_noted(tmp_path):
    """As pandas writes a missing one."""
    path = write_csv(tmp_path / "x.csv", [["t", "u"], ["a", "b"], ["", "c"]])
    (note,) = files.from_csv(path, ["t", "u"]).notes
    assert note == "1 examples have an empty text, the first in line 3"
    assert files.from_csv(path, "u").notes == ()


def test_names_of_columns_may_have_spaces_around(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('"text", label \n"a film", 1\n')
    (record,) = files.from_csv(path, "text", "label").records
    assert (record.texts, record.label) == (("a film",), 1)


# What is wrong is named, with the line


CSV = {"text": "t", "label": "y"}
ID = {"text": "t", "id": "y"}
NAMES = CSV | {"label_names": ["p", "n"]}
STARS = CSV | {"label_names": ["1", "2"]}


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"", CSV, "line 1: no header"),
        (b"t,y\n", CSV, ": no rows"),
        (b"t,t\na,1\n", CSV, "line 1: two columns are called 't'"),
        (b"t,z\na,1\n", CSV, "line 1: no column 'y'; there are 't', 'z'"),
        (b"z,y\na,1\n", CSV, "line 1: no column 't'"),
        (b"t,z\na,1\n", ID, "line 1: no column 'y'"),
        (b"t,y\na,1\na\xff,1\n", CSV, "line 3: not UTF-8: byte 0xff"),
        (b"t,y\na,1\nb\n", CSV, "line 3: 1 columns where 2 are expected"),
        (b't,y\n"a"b,1\n', CSV, "line 2: not a row of a table"),
        (b't,y\n\n"a\nb\n', CSV, "line 3: not a row of a table.*to line 4"),
        (b"t,y\na,1\nb,x\n", CSV, "line 3: 'y' is a word where the rows befo"),
        (b"t,y\na,1\nb,\n", CSV, "line 3: 'y' is missing where"),
        (b"t,y\na,nan\n", CSV, "line 2: 'y' is no label"),
        (b"t,y\na,0\nb,-1\n", CSV, "line 3: 'y' must be a class.*without lab"),
        (b"t,y\na," + b"9" * 30, CSV, "line 2: 'y' is no label. Received: '9"),
        (b"t,y\na,w\n", NAMES, "line 2: 'y' is none of the label names p, n."),
        (b"t,y\na,2\n", NAMES, "line 2: 'y' is none of the label names"),
        # The place of "1" is no name for it.
        (b"t,y\na,0\n", STARS, "line 2: 'y' is none of the label names 1, 2."),
        (b"t,y\na,0.5\n", STARS, "line 2: 'y' is none of the label names"),
        (b"t,y\na,\n", ID, "line 2: 'y' must be a word or an integer"),
        (b"t,y\na,[\n", CSV | {"views": "y"}, "line 2: 'y' is no JSON list"),
        (
            b"t,y\na,['b']\n",
            CSV | {"views": "y"},
            "json.dumps .* pandas does n",
        ),
        (b"t,y\na, \n", CSV | {"views": "y"}, "line 2: an empty view"),
    ],
)
def test_bad_csv_is_named_with_its_line(tmp_path, content, options, message):
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    with pytest.raises(BadFile, match=f"x.csv.*{message}"):
        files.from_csv(path, **options)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"", {}, "no rows"),
        (b'{"t": "a"}\n{"u": "b"}\n', {}, "line 2: 't' is no text"),
        (b'{"t": "a"}\n{"t": 3}\n', {}, "line 2: 't' is no text. Received: 3"),
        (b'{"t": "a"}\n["b"]\n', {}, "line 2: a JSON object is expected"),
        (b'{"t": "a"}\n{"t": "b"\n', {}, "line 2: not JSON"),
        (b'{"t": "a"}\n{"t": "\xe9"}\n', {}, "line 2: not UTF-8: byte 0xe9"),
        (b'{"t": "a", "k": 1.5}\n', {"id": "k"}, "line 1: 'k' must be a word"),
        (b'{"t": "a", "k": true}\n', {"id": "k"}, "line 1: 'k' must be a word"),
        (b'{"t":"a","y":1}\n{"t":"b"}', {"label": "y"}, "line 2: 'y' is miss"),
        (b'{"t": "a"}\n\n{"t": "a"}', {"id": "t"}, "line 3: the id 'a'.* 1$"),
        (b'{"t":"a","y":[]}', {"label": "y"}, "line 1: 'y' is no label"),
        (b'{"t": "a", "v": [3]}', {"views": "v"}, "line 1: 'v' is no text"),
        (b'{"t": "a", "v": 3}', {"views": "v"}, "line 1: 'v' is no text"),
        (b'{"t": "a", "v": ["b", ""]}', {"views": "v"}, "1: an empty view"),
        (
            b'{"t": "a", "u": "a", "v": ["b", "c", "d"]}',
            {"text": ["t", "u"], "views": "v"},
            "line 1: 'v' must hold views of 2 texts. Received: 'b'",
        ),
    ],
)
def test_bad_jsonl_is_named_with_its_line(tmp_path, content, options, message):
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(BadFile, match=f"x.jsonl.*{message}"):
        files.from_jsonl(path, **{"text": "t"} | options)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"t": "a"}', "a JSON list of objects is expected"),
        ('[{"t": "a"}, 3]', "object 2: a JSON object is expected"),
        ('[{"t": "a"}', "not JSON"),
        ("[]", "no rows"),
    ],
)
def test_bad_json_list_is_named(tmp_path, content, message):
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(BadFile, match=rf"x\.json.*{message}"):
        read_table(path)


def test_arguments_that_name_nothing(tmp_path):
    path = tmp_path / "x.csv"
    with pytest.raises(FileNotFoundError, match=r"x\.csv"):
        files.from_csv(path, "t")
    write_csv(path, [["t", "y"], ["a", "b"]])
    for text in ([], ["t", "y", "t"], ["t", "t"]):
        with pytest.raises(ValueError, match="`text` must name one column"):
            files.from_csv(path, text)


def test_rows_that_quotes_join_are_noted(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text('text\tlabel\n"one\t1\ntwo"\t0\nthree\t1\n')
    source = files.from_csv(path, "text", "label")
    (note,) = source.notes
    assert note.startswith("1 examples have tabs and line breaks")
    assert "the first in line 2" in note


def test_a_number_with_an_underscore_is_a_word(tmp_path):
    rows = [["t", "label"], ["a", "1_0"], ["b", "10"]]
    path = write_csv(tmp_path / "x.csv", rows)
    with pytest.raises(ValueError, match="is a number where"):
        files.from_csv(path, "t", "label")


@pytest.mark.parametrize("description", [None, {"file": "reviews.csv"}])
def test_records_in_memory_are_told_apart(description):
    """Also where what their maker says of them is the same."""
    one, same, other = (
        InMemory([Record("0", (text,))], description=description).describe()
        for text in "aab"
    )
    assert one == same != other
    assert one.items() >= (description or {}).items()
