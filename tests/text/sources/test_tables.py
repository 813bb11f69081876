"""Long and wide forms, as users of nlpaug and TextAttack keep them."""

import csv
import json

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from keras_mmel.text import sources
from keras_mmel.text.sources.cells import parse_views


def write_csv(path, columns, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)
    return sources.open_table(path)


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return sources.open_table(path)


def facts(groups):
    return [(g.example_id, g.texts, g.label, g.views) for g in groups.groups()]


EXPECTED = [
    ("7", ("a film",), 1, (("one film",), ("a movie",))),
    ("x", ("bad, bad",), 0, ()),
    ("9", ("fine",), 1, (("good",),)),
]


# Long form


def test_rows_with_an_id_need_not_stand_together(tmp_path):
    """A table of originals and a table of views, one after the other."""
    originals = [(i, t[0], label) for i, t, label, _ in EXPECTED]
    views = [(i, v[0], label) for i, _, label, vs in EXPECTED for v in vs]
    table = write_csv(
        tmp_path / "long.csv", ["id", "text", "label"], originals + views
    )
    groups = sources.LongForm(table, ("text",), "label", id="id")
    assert facts(groups) == EXPECTED
    assert len(groups) == 3
    assert groups.group("x").texts == ("bad, bad",)
    assert [g.example_id for g in groups.groups(1, 3)] == ["x", "9"]


def test_rows_with_their_original_text(tmp_path):
    rows = [
        {"before": t[0], "after": v[0], "label": label}
        for _, t, label, views in EXPECTED
        for v in (*views, t)
    ]
    table = write_jsonl(tmp_path / "long.jsonl", rows)
    groups = sources.LongForm(table, ("after",), "label", original=("before",))
    assert facts(groups) == [
        (str(i), *rest) for i, (_, *rest) in enumerate(EXPECTED)
    ]
    assert [g.dropped for g in groups.groups()] == [1, 1, 1]


def test_pairs_in_long_form(tmp_path):
    rows = [("1", "a", "b", "yes"), ("1", "a2", "b", "yes")]
    rows += [("2", "c", "d", "no"), ("2", "c", "d2", "no")]
    table = write_csv(tmp_path / "l.csv", ["n", "p", "q", "label"], rows)
    groups = sources.LongForm(table, ("p", "q"), "label", id="n")
    assert groups.label_names == ("no", "yes")
    assert facts(groups) == [
        ("1", ("a", "b"), 1, (("a2", "b"),)),
        ("2", ("c", "d"), 0, (("c", "d2"),)),
    ]


def test_as_the_command_of_textattack_writes(tmp_path):
    """No ids; each original before its views, the other columns copied."""
    columns = ["label", "text"]
    originals = [(1, "a film"), (1, "a movie"), (0, "bad")]
    write_csv(tmp_path / "in.csv", columns, originals)
    rows = [
        (1, "a film"),
        (1, "a movie"),  # a view that equals the next original
        (1, "one film"),
        (1, "a movie"),
        (1, "the movie"),
        (0, "bad"),
    ]
    table = write_csv(tmp_path / "out.csv", columns, rows)
    groups = sources.AfterOriginals(
        table, sources.open_table(tmp_path / "in.csv"), ("text",), "label"
    )
    assert facts(groups) == [
        ("0", ("a film",), 1, (("a movie",), ("one film",))),
        ("1", ("a movie",), 1, (("the movie",),)),
        ("2", ("bad",), 0, ()),
    ]


# Wide form


@pytest.mark.parametrize("as_text", [str, json.dumps])
def test_a_list_of_views_in_a_cell(tmp_path, as_text):
    rows = [
        (i, t[0], label, as_text([v[0] for v in views]))
        for i, t, label, views in EXPECTED
    ]
    table = write_csv(tmp_path / "w.csv", ["id", "t", "y", "views"], rows)
    groups = sources.WideForm(table, ("t",), ("views",), "y", id="id")
    assert facts(groups) == EXPECTED


def test_a_column_for_each_view(tmp_path):
    rows = [("a", "b", ""), ("c", "", ""), ("e", "f", "g")]
    table = write_csv(tmp_path / "w.csv", ["text", "aug1", "aug2"], rows)
    groups = sources.WideForm(table, ("text",), ("aug1", "aug2"))
    assert facts(groups) == [
        ("0", ("a",), None, (("b",),)),
        ("1", ("c",), None, ()),
        ("2", ("e",), None, (("f",), ("g",))),
    ]


def test_pairs_in_wide_form(tmp_path):
    rows = [
        {"p": "a", "q": "b", "v": [["a1", "b1"], ["a2", "b"]]},
        {"p": "c", "q": "d", "v": [{"q": "d1", "p": "c"}]},
        {"p": "e", "q": "f", "v": ["e1", "f1"]},
        {"p": "g", "q": "h", "v": None},
    ]
    table = write_jsonl(tmp_path / "w.jsonl", rows)
    groups = sources.WideForm(table, ("p", "q"), ("v",))
    assert [g.views for g in groups.groups()] == [
        (("a1", "b1"), ("a2", "b")),
        (("c", "d1"),),
        (("e1", "f1"),),
        (),
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_printed_lists_are_read_back(views):
    assert parse_views(str(views)) == views
    assert parse_views(json.dumps(views)) == views


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("['a' 'b']", "a list without commas, as NumPy prints"),
        ("['a'\n 'b']", "a list without commas"),
        ("['a", "neither a JSON list nor a Python list"),
        ("[a, b]", "neither a JSON list nor a Python list"),
        (3, "a list of views is expected. Received: int"),
    ],
)
def test_lists_that_are_none(cell, message):
    with pytest.raises(ValueError, match=message):
        parse_views(cell)


# Labels


@pytest.mark.parametrize(
    ("words", "labels"),
    [
        (["1", "-1"], [1, -1]),
        (["1", "2.5"], [1.0, 2.5]),
        (["b", "a"], [1, 0]),
        (["", ""], [None, None]),
    ],
)
def test_kinds_of_labels(tmp_path, words, labels):
    rows = [(str(i), word) for i, word in enumerate(words)]
    table = write_csv(tmp_path / "w.csv", ["text", "y"], rows)
    read = [
        g.label
        for g in sources.LongForm(table, ("text",), "y", id="text").groups()
    ]
    assert read == labels
    assert [type(x) for x in read] == [type(x) for x in labels]


@pytest.mark.parametrize(
    ("words", "names", "labels"),
    [
        (["no", "yes"], ["yes", "no"], [1, 0]),
        (["1", "-1", "0"], ["yes", "no"], [1, -1, 0]),
        (["2", "1"], ["1", "2"], [1, 0]),
    ],
)
def test_label_names_may_be_given(tmp_path, words, names, labels):
    rows = [(str(i), word) for i, word in enumerate(words)]
    table = write_csv(tmp_path / "w.csv", ["text", "y"], rows)
    groups = sources.LongForm(
        table, ("text",), "y", id="text", label_names=names
    )
    assert [g.label for g in groups.groups()] == labels


# What is wrong is named


LONG = dict(text=("t",), label="y", id="i")


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([("1", "a", 0), ("1", "b", 1)], LONG, "line 3: label '1', but '0'"),
        ([("1", "a", 0), ("2", "b", "")], LONG, "line 3: 'y' is missing"),
        ([("1", "a", 0), ("2", "b", "w")], LONG, "line 3: 'y' is a word"),
        ([("1", "a", "nan")], LONG, "line 2: 'y' is no label"),
        ([("", "a", 0)], LONG, "line 2: 'i' must be a word or an integer"),
        ([("1", "a", 0), ("1", " ", 0)], LONG, "line 3: an empty view"),
        ([("1", "a", 0)], LONG | {"text": ("z",)}, "line 1: no column 'z'"),
        ([], LONG, "no rows"),
        (
            [("1", "a", 0)],
            LONG | {"label_names": ["p", "n"], "label": "t"},
            "'t' is none of the label names p, n",
        ),
        (
            [("1", "a", 2)],
            LONG | {"label_names": ["p", "n"]},
            "'y' is none of the label names p, n. Received: '2'",
        ),
        (
            [("1", "a", "x"), ("1", "b", "y")],
            dict(text=("t",), id="i", original=("y",)),
            "line 3: another original than in line 2",
        ),
    ],
)
def test_bad_lines_of_the_long_form(tmp_path, rows, options, message):
    table = write_csv(tmp_path / "l.csv", ["i", "t", "y"], rows)
    with pytest.raises(sources.BadFile, match=f"l.csv.*{message}"):
        sources.LongForm(table, **options)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"i": 1, "t": "b", "v": []}, "line 2: id '1' stands also in line 1"),
        ({"i": 2, "t": 5, "v": []}, "line 2: 't' is no text. Received: 5"),
        ({"i": 2, "v": []}, "line 2: no 't'"),
        ({"i": 2, "t": "b", "v": [3]}, "line 2: 'v' is no text"),
        ({"i": 2, "t": "b", "v": ["c", None]}, r"'v\[2\]' is no text"),
        ({"i": 2, "t": "b", "v": ["c", ""]}, r"empty view: nothing in 'v\[2\]"),
        ({"i": 2, "t": "b", "v": "['c' 'd']"}, "line 2: 'v': a list without"),
        ({"i": True, "t": "b", "v": []}, "line 2: 'i' must be a word or"),
        ({"i": 2, "t": "\ud800", "v": []}, "line 2: 't' holds half a char"),
    ],
)
def test_bad_lines_of_the_wide_form(tmp_path, row, message):
    good = {"i": 1, "t": "a", "v": ["b"]}
    table = write_jsonl(tmp_path / "w.jsonl", [good, row])
    with pytest.raises(sources.BadFile, match=message):
        sources.WideForm(table, ("t",), ("v",), id="i")


def test_views_of_a_pair_must_be_pairs(tmp_path):
    row = {"p": "a", "q": "b", "v": ["a1", "a2", "a3"]}
    table = write_jsonl(tmp_path / "w.jsonl", [row])
    with pytest.raises(sources.BadFile, match="a list of two texts"):
        sources.WideForm(table, ("p", "q"), ("v",))


def test_left_out_originals_are_noticed(tmp_path):
    write_csv(tmp_path / "in.csv", ["text"], [["a"]])
    table = write_csv(tmp_path / "out.csv", ["text"], [["b"], ["c"]])
    originals = sources.open_table(tmp_path / "in.csv")
    with pytest.raises(sources.BadFile, match="were the originals left out"):
        sources.AfterOriginals(table, originals, ("text",))


def test_groups_need_something_to_tell_them_apart(tmp_path):
    table = write_csv(tmp_path / "l.csv", ["text"], [["a"]])
    with pytest.raises(ValueError, match="by `id`, by `original`, or by"):
        sources.LongForm(table, ("text",))
