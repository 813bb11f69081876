"""Examples in CSV, TSV and JSONL files, against Python's csv and json."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from keras_mmel.text import sources
from keras_mmel.text.files import Record
from keras_mmel.text.files import View
from keras_mmel.text.sources.tables import Table

# Commas, quotes, line breaks, every Unicode line separator, empty texts.
ODD = ['a, "b"', "two\nlines", "\u2028 \u0085 \x1c", "", "\U0001f389", " x "]

# Any text that UTF-8 can hold.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def write_csv(path, rows, **options):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, **options).writerows(rows)
    return path


@settings(max_examples=60, deadline=None)
@given(
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
    table = Table(path)
    assert [(row["a"], row["b"]) for row in table.rows] == rows
    assert [row.line for row in table.rows] == starts[1:]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.dictionaries(TEXT, TEXT | st.none(), min_size=1), min_size=1)
)
def test_json_lines_are_read_as_they_were_written(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    lines = (json.dumps(row, ensure_ascii=False) + "\n\n" for row in rows)
    path.write_text("".join(lines), "utf-8")
    table = Table(path)
    assert table.rows == rows
    assert [row.line for row in table.rows] == list(range(1, 2 * len(rows), 2))


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_examples_of_a_file(tmp_path, kind):
    rows = [(f"k{i}", ODD[i % 6], str(i), i % 2) for i in range(20)]
    header = ("key", "one", "two", "label")
    path, read = tmp_path / f"x.{kind}", getattr(sources, f"from_{kind}")
    if kind == "csv":
        write_csv(path, [header, *rows])
    else:
        lines = (dict(zip(header, row, strict=True)) for row in rows)
        path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    source = read(path, ["one", "two"], "label", "key")
    expected = [Record(key, (a, b), label) for key, a, b, label in rows]
    assert (len(source), source.num_texts) == (20, 2)
    assert list(source.read(3, 99)) == expected[3:]
    assert source.records == expected


def test_rows_are_numbered_where_there_are_no_ids(tmp_path):
    path = write_csv(tmp_path / "x.tsv", [["t"], ["a"], ["b"]], delimiter="\t")
    expected = [Record("0", ("a",)), Record("1", ("b",))]
    assert sources.from_csv(path, "t").records == expected


def test_quotes_may_be_text(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text('t\tlabel\n"so\t1\nsaid"\t0\n')
    source = sources.from_csv(path, "t", "label", quoting="none")
    assert [one.texts[0] for one in source.records] == ['"so', 'said"']


def test_long_cells_are_read(tmp_path):
    """Python's csv stops at 131,072 characters by itself."""
    path = write_csv(tmp_path / "x.csv", [["t"], ["a" * 200_000]])
    (record,) = sources.from_csv(path, "t").records
    assert len(record.texts[0]) == 200_000


def test_description_changes_with_the_file_alone(tmp_path):
    one = write_csv(tmp_path / "x.csv", [["t"], ["a"]])
    (tmp_path / "y").mkdir()
    two = write_csv(tmp_path / "y" / "x.csv", [["t"], ["a"]])
    before = sources.from_csv(one, "t").describe()
    assert sources.from_csv(two, "t").describe() == before
    assert str(tmp_path) not in json.dumps(before)
    write_csv(two, [["t"], ["b"]])
    assert sources.from_csv(two, "t").describe() != before


# Views beside their original


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_list_of_views_in_a_column(tmp_path, kind):
    rows = [("a film", 1, ["one film", "a movie"]), ("bad, bad", 0, [])]
    path = tmp_path / f"w.{kind}"
    if kind == "csv":
        cells = [(text, y, json.dumps(views)) for text, y, views in rows]
        write_csv(path, [("t", "y", "v"), *cells])
    else:
        lines = (dict(zip("tyv", row, strict=True)) for row in rows)
        path.write_text("\n".join(map(json.dumps, lines)))
    source = getattr(sources, f"from_{kind}")(path, "t", "y", views="v")
    assert source.records == [
        Record(str(i), (text,), y, views=tuple(View((view,)) for view in views))
        for i, (text, y, views) in enumerate(rows)
    ]


def views_of(source):
    return [[view.texts for view in one.views] for one in source.records]


def test_a_column_for_each_view(tmp_path):
    rows = [("t", "aug1", "aug2"), ("a", "b", ""), ("c", "", ""), "efg"]
    path = write_csv(tmp_path / "w.csv", rows)
    source = sources.from_csv(path, "t", views=["aug1", "aug2"])
    assert views_of(source) == [[("b",)], [], [("f",), ("g",)]]


def test_views_of_pairs(tmp_path):
    cells = [[["a1", "b1"], ["a2", "b"]], ["e1", "f1"], [["a", "b"]] * 2, None]
    path = tmp_path / "w.jsonl"
    rows = [json.dumps({"p": "a", "q": "b", "v": cell}) for cell in cells]
    path.write_text("\n".join(rows))
    source = sources.from_jsonl(path, ["p", "q"], views="v")
    first = [("a1", "b1"), ("a2", "b")]
    assert views_of(source) == [first, [("e1", "f1")], [], []]
    assert source.notes[0].startswith("2 views are left out, equal to their or")


# Labels


@pytest.mark.parametrize(
    ("cells", "kind", "names", "labels"),
    [
        (["1", "0", "2"], "class", None, [1, 0, 2]),
        (["1.0", " 0.0", "1"], "class", None, [1, 0, 1]),
        (["1", "0.5", "2"], "value", None, [1.0, 0.5, 2.0]),
        (["-1.0", "1.0", "2"], "value", None, [-1.0, 1.0, 2.0]),
        ([f"{i}.0" for i in range(21)], "value", None, list(range(21))),
        (["pos ", "neg", " pos"], "class", ["neg", "pos"], [1, 0, 1]),
        (["", " ", ""], None, None, [None] * 3),
    ],
)
def test_kinds_of_labels(tmp_path, cells, kind, names, labels):
    rows = [["t", "y"], *([f"text {i}", y] for i, y in enumerate(cells))]
    path = write_csv(tmp_path / "x.csv", rows)
    source = sources.from_csv(path, "t", "y")
    assert source.label_kind == kind
    assert source.label_names == (names and tuple(names))
    found = [example.label for example in source.records]
    assert found == labels
    types = {"class": int, "value": float, None: type(None)}
    assert {type(label) for label in found} == {types[kind]}


@pytest.mark.parametrize(
    ("words", "names", "labels"),
    [
        (["no", "yes"], ["yes", "no"], [1, 0]),
        (["1", "0.0"], ["yes", "no"], [1, 0]),
        (["2", "1"], ["1", "2"], [1, 0]),
    ],
)
def test_label_names_may_be_given(tmp_path, words, names, labels):
    rows = [["t", "y"], *([word, word] for word in words)]
    path = write_csv(tmp_path / "x.csv", rows)
    source = sources.from_csv(path, "t", "y", label_names=names)
    assert source.label_names == tuple(names)
    assert [example.label for example in source.records] == labels


@pytest.mark.parametrize(
    ("labels", "names", "said"),
    [
        ([1, 0, 1], "ab", "2 classes: a 1, b 2"),
        ([2, 0], None, "3 classes: 0 1, 1 0, 2 1"),
        ([0.5, 5.0], None, "values from 0.5 to 5"),
        ([None], None, "no labels"),
        ([0], [f"c{i}" for i in range(12)], "12 classes: c0 1, c1 0, "),
    ],
)
def test_labels_are_described(tmp_path, labels, names, said):
    rows = [{"t": "x", "y": label} for label in labels]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    source = sources.from_jsonl(path, "t", "y")
    source.label_names = names
    assert sources.describe_labels(source).startswith(said)


# What is wrong is named, with the line


CSV = {"text": "t", "label": "y"}
ID = {"text": "t", "id": "y"}
NAMES = CSV | {"label_names": ["p", "n"]}


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
        (b"t,y\na,q\n\nb,q\n", ID, "line 4: the id 'q' for the second"),
        (b't,y\n"a\nb",q\nb,q\n', ID, "it is that of line 2"),
        (b"t,y\na,\n", ID, "line 2: 'y' must be a word or an integer"),
        (b"t,y\na,[\n", CSV | {"views": "y"}, "line 2: 'y' is no JSON list"),
        (b"t,y\na, \n", CSV | {"views": "y"}, "line 2: an empty view"),
    ],
)
def test_bad_csv_is_named_with_its_line(tmp_path, content, options, message):
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    with pytest.raises(sources.BadFile, match=f"x.csv.*{message}"):
        sources.from_csv(path, **options)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"", {}, "no rows"),
        (b'{"t": "a"}\n{"u": "b"}\n', {}, "line 2: 't' is no text"),
        (b'{"t": "a"}\n{"t": 3}\n', {}, "line 2: 't' is no text. Received: 3"),
        (b'{"t": "a"}\n["b"]\n', {}, "line 2: a JSON object is expected"),
        (b'{"t": "a"}\n{"t": "b"\n', {}, "line 2: not JSON"),
        (b'{"t": "a"}\n{"t": "\xe9"}\n', {}, "line 2: not UTF-8: byte 0xe9"),
        (b'{"t": "a\\ud800"}\n', {}, "line 1: 't' holds half a character"),
        (b'{"t": "a", "k": 1.5}\n', {"id": "k"}, "line 1: 'k' must be a word"),
        (b'{"t": "a", "k": true}\n', {"id": "k"}, "line 1: 'k' must be a word"),
        (b'{"t":"a","k":7}\n{"t":"b","k":"7"}', {"id": "k"}, "the id '7' for"),
        (b'{"t":"a","y":1}\n{"t":"b"}', {"label": "y"}, "line 2: 'y' is miss"),
        (b'{"t":"a","y":[]}', {"label": "y"}, "line 1: 'y' is no label"),
        (b'{"t": "a", "v": [3]}', {"views": "v"}, "line 1: 'v' is no text"),
        (b'{"t": "a", "v": 3}', {"views": "v"}, "line 1: 'v' is no text"),
        (b'{"t": "a", "v": ["b", ""]}', {"views": "v"}, "1: an empty view"),
        (
            b'{"t": "a", "v": ["b", "c", "d"]}',
            {"text": ["t", "t"], "views": "v"},
            "line 1: 'v' must hold views of 2 texts. Received: 'b'",
        ),
    ],
)
def test_bad_jsonl_is_named_with_its_line(tmp_path, content, options, message):
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(sources.BadFile, match=f"x.jsonl.*{message}"):
        sources.from_jsonl(path, **{"text": "t"} | options)


@pytest.mark.parametrize("text", [[], ["t", "y", "t"]])
def test_one_or_two_texts(tmp_path, text):
    path = write_csv(tmp_path / "x.csv", [["t", "y"], ["a", "b"]])
    with pytest.raises(ValueError, match="`text` must name one or two"):
        sources.from_csv(path, text)


def test_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"x\.csv"):
        sources.from_csv(tmp_path / "x.csv", "t")
