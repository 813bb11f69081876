import csv
import json

import pytest

from keras_mmel.text.files import Example
from keras_mmel.text.files import from_csv
from keras_mmel.text.files import from_jsonl

# Commas, quotes, line breaks, every Unicode line separator, empty texts.
ODD = ['a, "b"', "two\nlines", "\u2028 \u0085 \x1c", "", "\U0001f389", " x "]


def write_csv(path, rows, **options):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, **options).writerows(rows)
    return path


def rows_of(length):
    for number in range(length):
        yield f"k{number}", ODD[number % 6], str(number), number % 2


def everything(source):
    return list(source.read(0, len(source)))


@pytest.mark.parametrize("length", [1, 63, 64, 65, 200])
def test_csv_from_any_place_on(tmp_path, length):
    header = ("key", "one", "two", "label")
    path = write_csv(tmp_path / "x.csv", [header, *rows_of(length)])
    source = from_csv(path, ["one", "two"], "label", "key")
    expected = [Example(k, (a, b), c) for k, a, b, c in rows_of(length)]
    assert len(source) == length
    assert everything(source) == expected
    for start, stop in ((0, 1), (length - 1, length), (63, 129), (5, 999)):
        assert list(source.read(start, stop)) == expected[start:stop]


@pytest.mark.parametrize("length", [1, 200])
def test_jsonl_from_any_place_on(tmp_path, length):
    path = tmp_path / "x.jsonl"
    with open(path, "w", encoding="utf-8") as file:
        for key, one, two, label in rows_of(length):
            row = {"key": key, "one": one, "two": two, "label": label}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    source = from_jsonl(path, ["one", "two"], "label", "key")
    expected = [Example(k, (a, b), c) for k, a, b, c in rows_of(length)]
    assert everything(source) == expected
    assert list(source.read(63, 70)) == expected[63:70]


def test_rows_are_numbered_where_there_are_no_ids(tmp_path):
    path = write_csv(tmp_path / "x.tsv", [["t"], ["a"], ["b"]], delimiter="\t")
    expected = [Example("0", ("a",)), Example("1", ("b",))]
    assert everything(from_csv(path, "t")) == expected


def test_quotes_may_be_text(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text('t\tlabel\n"so\t1\nsaid"\t0\n')
    source = from_csv(path, "t", "label", quoting="none")
    assert [e.texts[0] for e in everything(source)] == ['"so', 'said"']


@pytest.mark.parametrize(
    ("cells", "kind", "names", "labels"),
    [
        (["1", "0", "-1"], "class", None, [1, 0, -1]),
        (["1", "0.5", "2"], "value", None, [1.0, 0.5, 2.0]),
        (["pos", "neg", "pos"], "class", ("neg", "pos"), [1, 0, 1]),
        (["", "", ""], None, None, [None] * 3),
    ],
)
def test_kinds_of_labels(tmp_path, cells, kind, names, labels):
    rows = [["t", "y"], *([f"text {i}", y] for i, y in enumerate(cells))]
    source = from_csv(write_csv(tmp_path / "x.csv", rows), "t", "y")
    assert (source.label_kind, source.label_names) == (kind, names)
    found = [example.label for example in everything(source)]
    assert found == labels
    assert list(map(type, found)) == list(map(type, labels))


def test_given_names_of_labels(tmp_path):
    path = write_csv(tmp_path / "x.csv", [["t", "y"], ["a", "b"], ["c", "z"]])
    source = from_csv(path, "t", "y", label_names=("z", "b"))
    assert source.label_names == ("z", "b")
    assert [example.label for example in everything(source)] == [1, 0]


def test_description_changes_with_the_file_alone(tmp_path):
    one = write_csv(tmp_path / "x.csv", [["t"], ["a"]])
    (tmp_path / "y").mkdir()
    two = write_csv(tmp_path / "y" / "x.csv", [["t"], ["a"]])
    before = from_csv(one, "t").describe()
    assert from_csv(two, "t").describe() == before
    assert str(tmp_path) not in json.dumps(before)
    write_csv(two, [["t"], ["b"]])
    assert from_csv(two, "t").describe() != before


BAD_CSV = [
    (b"t,y\na,1\n", {"text": "u"}, "line 1: no column 'u'; there are 't', 'y'"),
    (b"t,y\na,1\n", {"label": "u"}, "line 1: no column 'u'"),
    (b"t,y\na,1\n", {"id": "u"}, "line 1: no column 'u'"),
    (b"t,y\na,1\n\xff,1\n", {}, "line 3: not UTF-8: byte 0xff at position 0"),
    (b"t,y\na,1\nb\n", {}, "line 3: 1 columns where 2 are expected"),
    (b"t,y\na,1\nb,x\n", {}, "line 3: 'y' is a word where"),
    (b"t,y\na,1\nb,\n", {}, "line 3: 'y' is missing where"),
    (b"t,y\na,q\n\nb,q\n", {"id": "y"}, "line 4: the id 'q' for the second"),
    (b't,y\n"a\nb",q\nb,q\n', {"id": "y"}, "it is that of line 2"),
    (b"t,y\na,\n", {"id": "y"}, "line 2: 'y' must be a word or an integer"),
    (b"t,y\n", {}, "x.csv: no rows"),
    (b"", {}, "line 1: no header"),
    (b't,y\n"a,1\n', {}, "line 2: not a row of a table"),
]


@pytest.mark.parametrize(("content", "options", "message"), BAD_CSV)
def test_bad_csv_is_named_with_its_line(tmp_path, content, options, message):
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    options = {"text": "t", "label": None if "id" in options else "y"} | options
    with pytest.raises(ValueError) as error:
        from_csv(path, **options)
    assert "x.csv" in str(error.value)
    assert message in str(error.value)


BAD_JSONL = [
    (b'{"t": "a"}\n{"u": "b"}\n', {}, "line 2: no 't'"),
    (b'{"t": "a"}\n{"t": 3}\n', {}, "line 2: 't' is no text"),
    (b'{"t": "a"}\n["b"]\n', {}, "line 2: a JSON object is expected"),
    (b'{"t": "a"}\n{"t": "b"\n', {}, "line 2: not JSON"),
    (b'{"t": "a"}\n{"t": "\xe9"}\n', {}, "line 2: not UTF-8: byte 0xe9"),
    (b'{"t": "a\\ud800"}\n', {}, "line 1: 't' holds half a character"),
    (b'{"t": "a", "k": 1.5}\n', {"id": "k"}, "line 1: 'k' must be a word"),
    (b'{"t":"a","k":7}\n{"t":"b","k":"7"}\n', {"id": "k"}, "the id '7' for"),
    (b'{"t":"a","y":1}\n{"t":"b"}\n', {"label": "y"}, "line 2: no 'y'"),
    (b'{"t": "a"}\n', {"text": "u"}, "line 1: no column 'u'"),
    (b"", {}, "no"),
]


@pytest.mark.parametrize(("content", "options", "message"), BAD_JSONL)
def test_bad_jsonl_is_named_with_its_line(tmp_path, content, options, message):
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(ValueError) as error:
        from_jsonl(path, **{"text": "t"} | options)
    assert "x.jsonl" in str(error.value)
    assert message in str(error.value)


def test_all_bad_lines_are_named(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"t,y\na,1\n\xff,1\nb\nc,2\n\xfe,1\n")
    with pytest.raises(ValueError, match=r"line 3.*line 4.*line 6"):
        from_csv(path, "t", "y")


@pytest.mark.parametrize("text", [[], ["t", "y", "t"]])
def test_one_or_two_texts(tmp_path, text):
    path = write_csv(tmp_path / "x.csv", [["t", "y"], ["a", "b"]])
    with pytest.raises(ValueError, match="`text` must name one or two"):
        from_csv(path, text)


def test_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"x\.csv"):
        from_csv(tmp_path / "x.csv", "t")
