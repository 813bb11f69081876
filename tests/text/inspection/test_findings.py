"""Reports against counts made by hand, and what of them is printed."""

import collections
import itertools

import pytest

from keras_mmel.text import files
from keras_mmel.text.inspection import inspect_records
from keras_mmel.text.inspection import to_html
from keras_mmel.text.inspection import to_terminal
from tests.pages.test_page import NASTY
from tests.pages.test_page import Reader


def record(name, texts, label, views, teacher=(), said=()):
    both = itertools.zip_longest(views, said, fillvalue=())
    views = tuple(
        files.View(tuple(v), teacher=tuple(value)) for v, value in both
    )
    ids = (1, 2, 3)
    return files.Record(name, tuple(texts), label, ids, views, tuple(teacher))


RECORDS = [
    record(
        "a",
        ["one two three four"],
        1,
        [["one two x four"], ["y two three z"]],
        (0.2, 0.8),
        [(0.4, 0.6), (0.7, 0.3)],
    ),
    record("b", ["five six"], 0, [["five six"], ["five x"], ["five x"]]),
    record("c", ["seven"], -1, [], (0.9, 0.1)),
]


def numbers(records, **settings):
    """What is said under each name."""
    found = inspect_records(records, **settings)
    return {name: value for _, rows in found.tables for name, value in rows}


def test_texts_are_counted():
    assert numbers(RECORDS) == {
        "examples": "3",
        "views": "5, 0 to 3 of an example",
        "words of an original": "mean 2.3, median 2, 95% up to 4, 1 to 4",
        "words of a view": "mean 2.8, median 2, 95% up to 4, 2 to 4",
        "tokens of an original": "mean 3.0, median 3, 95% up to 3, 3 to 3",
        # (1/4 + 2/4 + 0 + 1/2 + 1/2) / 5
        "words of a view that were replaced": "35.0%",
        # The hidden label of "c" takes no part, "b" has no predictions.
        "originals that get their label": "100.0% (1 of 1)",
        "views that get this label": "50.0% (1 of 2)",
        "views judged as their original": "50.0% (1 of 2)",
        # By label the share of views comes first, then how many examples.
        "1": "1 examples",
        "0": "1 examples",
        "-1": "1 examples",
    }
    tables = dict(inspect_records(RECORDS).tables)
    by_class = tables["Views with the label of their original, by label"]
    assert by_class == [("1", "50.0% (1 of 2)")]


def test_no_teacher_and_as_many_views_of_each():
    found = numbers([record("x", ["a"], None, [["b"], ["c"]])])
    assert found["views"] == "2, 2 of each example"
    assert found["teacher"].endswith("`keras-mmel label` adds them")


@pytest.mark.parametrize(
    "texts, view, share",
    [
        (["a b c d"], ["a x c y"], "50.0%"),
        (["a b"], [""], "100.0%"),
        ([""], [""], "0.0%"),
        (["p", "q r s"], ["p", "q r t"], "25.0%"),
    ],
)
def test_shares_of_words(texts, view, share):
    found = numbers([record("x", texts, None, [view])])
    assert found["words of a view that were replaced"] == share


def test_values_are_compared_with_the_teacher():
    views, said = [["p", "r"], ["s", "q"]], [(2.5,), (3.0,)]
    found = numbers([record("a", ["p", "q"], 3.0, views, (3.5,), said)])
    near = ", within 0.5"
    assert found[f"originals that get their label{near}"] == "100.0% (1 of 1)"
    assert found[f"views that get this label{near}"] == "100.0% (2 of 2)"
    assert found[f"views judged as their original{near}"] == "50.0% (1 of 2)"
    assert found["mean distance of view and original"] == "0.750"
    assert "3" not in found


def many(count):
    return (record(str(i), ["t"], 0, []) for i in range(count))


def ids(records, **settings):
    """Ids of the examples that are shown."""
    found = inspect_records(records, **settings)
    return [example.heading.split()[1][:-1] for example in found.examples]


def test_examples_are_drawn_evenly_and_repeatably():
    def shown(seed):
        return ids(many(10), num_examples=3, seed=seed)

    assert shown(1) == shown(1)
    counts = collections.Counter(n for s in range(400) for n in shown(s))
    assert len(counts) == 10
    assert all(80 < count < 160 for count in counts.values())  # 120 expected
    for s in range(10):
        assert shown(s) == sorted(set(shown(s)))


def test_examples_can_be_asked_for():
    wanted = {"example_ids": ["7", "x", "2"]}
    assert ids(many(9), **wanted) == ["7", "2"]
    assert inspect_records(many(9), **wanted).missing_ids == ["x"]
    assert ids(many(9), num_examples=0) == []
    assert len(ids(many(2), num_examples=5)) == 2


def test_an_example_is_shown_with_its_views():
    shown = inspect_records(RECORDS, example_ids=["a"]).examples[0]
    assert shown.heading == "Example a, label 1, teacher 1, 0.80"
    original = "one two three four"
    assert [view.number for view in shown.views] == [0, 1, 2]
    assert [view.teacher for view in shown.views] == ["", "1, 0.60", "0, 0.70"]
    assert shown.views[0].texts == [(original, original)]
    assert shown.views[2].texts == [(original, "y two three z")]


def test_terminal_shows_numbers_and_marked_words():
    found = inspect_records(RECORDS, label_names=["bad", "good"])
    text = to_terminal(found, "augmented/x")
    assert "augmented/x" in text
    assert "one two [x] four  <good (1), 0.60>" in text
    assert "[y] two three [z]  <bad (0), 0.70>" in text
    assert "Example a, label good (1), teacher good (1), 0.80" in text
    lines = {" ".join(line.split()) for line in text.splitlines()}
    assert "words of a view that were replaced 35.0%" in lines
    assert "good (1) 50.0% (1 of 2)" in lines
    colored = to_terminal(found, "x", color=True)
    assert "one two \x1b[1;33mx\x1b[0m four" in colored
    empty = inspect_records([])
    for text in (to_terminal(empty, "x"), to_html(empty, "x")):
        assert "examples" in text


def test_texts_cannot_command_the_terminal():
    report = inspect_records([record(NASTY, [NASTY], 0, [["\x1b]0;x\x07"]])])
    text = to_terminal(report, NASTY)
    assert not set(text) & set("\x1b\u202e\x00\x07")
    assert "\\x1b[2J\\u202eabc\\x00" in text


def test_page_is_escaped_and_stands_alone():
    nasty = record(NASTY, [NASTY], 0, [["<b>x</b>"]], (1.0, 0.0), [(1.0, 0.0)])
    found = inspect_records([nasty, *RECORDS], label_names=["<i>", "good"])
    text = to_html(found, NASTY)
    page = Reader(text)
    assert not {"script", "b", "i", "link", "img"} & set(page.tags)
    assert {"x", "y", "z"} <= set(page.marked)
    assert "&lt;script&gt;alert(&#34;1&#34;)" in text
    assert "\x1b" not in text and "\x00" not in text
