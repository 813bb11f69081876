"""Rows of tables, against Python's csv and json on the whole file."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from keras_mmel.text.sources import BadFile
from keras_mmel.text.sources import JsonLinesFile
from keras_mmel.text.sources import TableFile
from keras_mmel.text.sources import open_table
from keras_mmel.text.sources.problems import Problems

# Any text that UTF-8 can hold; csv itself cannot hold a lone "\r" unquoted.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def read_all(table, limit=1):
    problems = Problems(table.path, limit)
    records = list(table.records(problems))
    problems.raise_any()
    return records


def read_each(table, records):
    """Each row by its place, the last first; and all from each place on."""
    rows = [record.row for record in records]
    for number, record in enumerate(records):
        assert list(table.records_from(record.offset)) == rows[number:]
    with open(table.path, "rb") as file:
        return [table.record_at(file, r.offset) for r in reversed(records)]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(TEXT, TEXT), max_size=6),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_tables_are_read_as_they_were_written(
    tmp_path_factory, rows, end, mark
):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerow(["a", "b"])
    writer.writerows(rows)
    encoding = "utf-8-sig" if mark else "utf-8"
    path.write_bytes(text.getvalue().encode(encoding))
    table = TableFile(path)
    records = read_all(table)
    expected = [{"a": a, "b": b} for a, b in rows]
    assert [r.row for r in records] == expected
    assert read_each(table, records) == expected[::-1]
    # Lines are counted at line feeds, as editors do.
    before = text.getvalue()
    for record in records:
        assert (
            record.line
            == before.encode(encoding)[: record.offset].count(b"\n") + 1
        )


@settings(max_examples=30, deadline=None)
@given(st.lists(st.dictionaries(TEXT, TEXT | st.none(), min_size=1)))
def test_json_lines_are_read_as_they_were_written(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_text("".join(json.dumps(row) + "\n\n" for row in rows))
    table = JsonLinesFile(path)
    records = read_all(table)
    assert [r.row for r in records] == rows
    assert [r.line for r in records] == list(range(1, 2 * len(rows), 2))
    assert read_each(table, records) == rows[::-1]


def write(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data)
    return open_table(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "line 1: no header"),
        (b"a,a\n1,2\n", "line 1: two columns are called 'a'"),
        (b"a,b\n1,2\n1,2,3\n", "line 3: 3 columns where 2 are expected"),
        (b"a,b\n1,\xff\n", "line 2: not UTF-8: byte 0xff at position 2"),
        (b'a,b\n1,"x"y\n', "line 2: not a row of a table"),
        (b'a,b\n1,"x\ny\nz', r"\(the row goes on to line 4\); where quotes"),
    ],
)
def test_bad_lines_of_tables_are_named(tmp_path, data, message):
    with pytest.raises(BadFile, match=message):
        table = write(tmp_path, "bad.csv", data)
        assert table.columns
        read_all(table)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"a": 1}\n{"a": \n', "line 2: not JSON"),
        (b"[1, 2]\n", r"line 1: a JSON object is expected. Received: \[1, 2\]"),
        (b'{"a": "\xff"}\n', "line 1: not UTF-8: byte 0xff at position 7"),
    ],
)
def test_bad_lines_of_json_are_named(tmp_path, data, message):
    with pytest.raises(BadFile, match=message):
        read_all(write(tmp_path, "bad.jsonl", data))


def test_reading_goes_on_after_a_bad_line(tmp_path):
    data = b"a,b\n1,\xff\n2,3\n4\n5,6\n"
    table = write(tmp_path, "bad.csv", data)
    problems = Problems(table.path, 20)
    rows = [record.row["a"] for record in table.records(problems)]
    assert rows == ["2", "5"]
    assert [line for line, _ in problems.found] == [2, 4]


def test_quotes_may_be_part_of_the_text(tmp_path):
    path = tmp_path / "plain.tsv"
    path.write_text('a\tb\n"so\tit" is\n')
    (record,) = read_all(open_table(path, "none"))
    assert record.row == {"a": '"so', "b": 'it" is'}


def test_a_file_that_changed_is_noticed(tmp_path):
    table = write(tmp_path, "a.csv", b"a,b\n1,2\n")
    (record,) = read_all(table)
    table.path.write_bytes(b"a,b\n1\n")
    with pytest.raises(BadFile, match="changed while it was read"):
        read_each(table, [record])
