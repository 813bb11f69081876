"""A row a view, as users of nlpaug and TextAttack keep them."""

import pytest

from keras_mmel.text import files
from keras_mmel.text.sources.tables import BadFile
from tests.text.sources.test_tables import write_csv

EXPECTED = [
    ("7", ("a film",), 1, [("one film",), ("a movie",)]),
    ("x", ("bad, bad",), 0, []),
    ("9", ("fine",), 1, [("good",)]),
]


def facts(source):
    return [
        (r.example_id, r.texts, r.label, [view.texts for view in r.views])
        for r in source.records
    ]


def test_rows_with_an_id_need_not_stand_together(tmp_path):
    """A table of originals and a table of views, one after the other."""
    originals = [(i, t[0], label) for i, t, label, _ in EXPECTED]
    views = [(i, v[0], label) for i, _, label, vs in EXPECTED for v in vs]
    path = write_csv(tmp_path / "l.csv", [("id", "t", "y"), *originals, *views])
    assert facts(files.from_long(path, "t", "y", id="id")) == EXPECTED


def test_rows_with_their_original_text(tmp_path):
    rows = [
        (t[0], v[0], label)
        for _, t, label, views in EXPECTED
        for v in (*views, t)
    ]
    path = write_csv(tmp_path / "l.csv", [("before", "after", "y"), *rows])
    source = files.from_long(path, "after", "y", original="before")
    assert facts(source) == [
        (str(i), *rest) for i, (_, *rest) in enumerate(EXPECTED)
    ]
    (note,) = source.notes
    assert note.startswith("3 views are left out")


def test_pairs_in_long_form(tmp_path):
    path = tmp_path / "l.jsonl"
    path.write_text(
        '{"n": 1, "p": "a", "q": "b", "y": "yes"}\n'
        '{"n": 1, "p": "a2", "q": "b", "y": "yes"}\n'
        '{"n": 2, "p": "c", "q": "d", "y": "no"}\n'
    )
    source = files.from_long(path, ["p", "q"], "y", id="n")
    assert source.label_names == ("no", "yes")
    assert facts(source) == [
        ("1", ("a", "b"), 1, [("a2", "b")]),
        ("2", ("c", "d"), 0, []),
    ]


LONG = {"text": "t", "label": "y", "id": "i"}
BY_Y = {"text": "t", "id": "i", "original": "y"}


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (["1a0", "1b1"], LONG, "line 3: label '1', but '0' in line 2"),
        (["1a0", "2bw"], LONG, "line 3: 'y' is a word"),
        (["1a0", "1 0"], LONG, "line 3: an empty view"),
        ([" a0"], LONG, "line 2: 'i' must be a word or an integer"),
        (["1a0"], LONG | {"text": "z"}, "line 1: no column 'z'"),
        (["1ax", "1by"], BY_Y, "line 3: another original than in line 2"),
    ],
)
def test_bad_lines_are_named(tmp_path, rows, options, message):
    path = write_csv(tmp_path / "l.csv", ["ity", *rows])
    with pytest.raises(BadFile, match=f"l.csv.*{message}"):
        files.from_long(path, **options)


def test_groups_need_something_to_tell_them_apart(tmp_path):
    path = write_csv(tmp_path / "l.csv", ["t", "a"])
    with pytest.raises(ValueError, match="by `id` or by `original`"):
        files.from_long(path, "t")
