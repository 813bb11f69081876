"""Reports against counts made by hand, and what of them is printed."""

import collections
import random

import pytest

from keras_mmel.text.files import Record
from keras_mmel.text.files import View
from keras_mmel.text.inspection import inspect_records
from keras_mmel.text.inspection import to_html
from keras_mmel.text.inspection import to_terminal
from tests.pages.test_page import NASTY
from tests.pages.test_page import Reader


def record(name, texts, label, views, teacher=(), said=None):
    said = said or [()] * len(views)
    return Record(
        name,
        tuple(texts),
        label,
        (1, 2, 3),
        tuple(
            View(tuple(view), teacher=tuple(value))
            for view, value in zip(views, said, strict=True)
        ),
        tuple(teacher),
    )


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


def means(found):
    """Name -> (value, how many there are)."""
    both = found.shares | found.teacher
    return {name: (mean.value, mean.count) for name, mean in both.items()}


def test_texts_are_counted():
    found = inspect_records(RECORDS)
    assert found.views == {2: 1, 3: 1, 0: 1}
    assert found.lengths == {
        "words of an original": {4: 1, 2: 1, 1: 1},
        "words of a view": {4: 2, 2: 3},
        "tokens of an original": {3: 3},
    }
    shares = means(found)
    assert shares["words of a view that were replaced"] == pytest.approx(
        ((1 / 4 + 2 / 4 + 0 + 1 / 2 + 1 / 2) / 5, 5)
    )
    assert shares["words in which two views differ"] == pytest.approx(
        ((3 / 4 + 1 / 2 + 1 / 2 + 0) / 4, 4)
    )
    assert shares["examples with all views distinct"] == (2 / 3, 3)
    assert list(found.equal.values()) == [1, 1]
    assert found.labels == {1: 1, 0: 1, -1: 1}


def test_views_that_equal_the_original_several_times():
    views = [["a"], ["a"], ["a"], ["b"]]
    found = inspect_records([record("x", ["a"], None, views)])
    assert list(found.equal.values()) == [3, 0]
    assert means(found)["examples with all views distinct"] == (0, 1)
    assert not found.labels


@pytest.mark.parametrize(
    "texts, view, share",
    [
        (["a b c d"], ["a x c y"], 0.5),
        (["a b"], [""], 1),
        ([""], [""], 0),
        (["p", "q r s"], ["p", "q r t"], 0.25),
    ],
)
def test_shares_of_words(texts, view, share):
    found = inspect_records([record("x", texts, None, [view])])
    name = "words of a view that were replaced"
    assert means(found)[name] == (share, 1)


def test_classes_are_compared_with_the_teacher():
    found = inspect_records(RECORDS)
    # The hidden label of "c" takes no part, and "b" has no predictions.
    assert [(mean.value, mean.count) for mean in found.teacher.values()] == [
        (1, 1),
        (0.5, 2),
        (0.5, 2),
    ]
    assert not found.distance.count
    assert {k: v.value for k, v in found.by_class.items()} == {1: 0.5}


def test_values_are_compared_with_the_teacher():
    views = [["p", "r"], ["s", "q"]]
    said = [(2.5,), (3.0,)]
    made = record("a", ["p", "q"], 3.0, views, (3.5,), said)
    found = inspect_records([made])
    assert [mean.value for mean in found.teacher.values()] == [1, 1, 0.5]
    assert found.distance.value == pytest.approx(0.75)
    assert found.labels == {} and found.by_class == {}
    text = " ".join(to_terminal(found, "t").split())
    assert "views judged as their original, within 0.5 50.0% (1 of 2)" in text
    assert "mean distance of view and original 0.750" in text


def test_lengths_are_shown_by_their_quantiles():
    draw = random.Random(0)
    lengths = sorted(draw.randrange(1, 50) for _ in range(201))
    texts = [" ".join("a" * length) for length in lengths]
    found = inspect_records(record("x", [t], None, []) for t in texts)
    assert (
        f"mean {sum(lengths) / 201:.1f}, median {lengths[100]}, 95% up to "
        f"{lengths[190]}, {lengths[0]} to {lengths[-1]}"
    ) in " ".join(to_terminal(found, "t").split())


def many(count):
    return (record(str(i), ["t"], 0, []) for i in range(count))


def test_examples_are_drawn_evenly_and_repeatably():
    def shown(seed):
        report = inspect_records(many(10), num_examples=3, seed=seed)
        return [r.example_id for r in report.examples]

    assert shown(1) == shown(1)
    counts = collections.Counter(n for s in range(400) for n in shown(s))
    assert len(counts) == 10
    assert all(80 < count < 160 for count in counts.values())  # 120 expected
    for s in range(10):
        assert shown(s) == sorted(set(shown(s)))


def test_examples_can_be_asked_for():
    report = inspect_records(many(9), example_ids=["7", "x", "2"])
    assert [r.example_id for r in report.examples] == ["7", "2"]
    assert report.missing_ids == ["x"]
    assert "No example has the id 'x'." in to_terminal(report, "t")
    assert "No example has the id &#x27;x&#x27;." in to_html(report, "t")
    assert inspect_records(many(9), num_examples=0).examples == []
    assert len(inspect_records(many(2), num_examples=5).examples) == 2


def test_terminal_shows_numbers_and_marked_words():
    report = inspect_records(RECORDS)
    text = to_terminal(report, "augmented/x", label_names=["bad", "good"])
    assert "augmented/x" in text
    assert "one two [x] four  <good (1), 0.60>" in text
    assert "[y] two three [z]  <bad (0), 0.70>" in text
    assert "Example a, label good (1), teacher good (1), 0.80" in text
    lines = {" ".join(line.split()) for line in text.splitlines()}
    assert "examples with all views distinct 66.7%" in lines
    assert "views equal to their original 1" in lines
    assert "views that get this label 50.0% (1 of 2)" in lines
    colored = to_terminal(report, "x", color=True)
    assert "one two \x1b[1;33mx\x1b[0m four" in colored


def test_little_is_shown_as_well():
    for records in ([RECORDS[1]], []):
        found = inspect_records(records)
        for text in (to_terminal(found, "x"), to_html(found, "x")):
            assert "examples" in text
            assert "`keras-mmel label` adds them" in text


def test_texts_cannot_command_the_terminal():
    report = inspect_records([record(NASTY, [NASTY], 0, [["\x1b]0;x\x07"]])])
    text = to_terminal(report, NASTY)
    assert not set(text) & set("\x1b\u202e\x00\x07")
    assert "\\x1b[2J\\u202eabc\\x00" in text


def test_page_is_escaped_and_stands_alone():
    nasty = record(NASTY, [NASTY], 0, [["<b>x</b>"]], (1.0, 0.0), [(1.0, 0.0)])
    found = inspect_records([nasty, *RECORDS])
    text = to_html(found, NASTY, label_names=["<i>", "good"])
    page = Reader(text)
    assert not {"script", "b", "i", "link", "img"} & set(page.tags)
    assert {"x", "y", "z"} <= set(page.marked)
    assert "&lt;script&gt;alert(&quot;1&quot;)" in text
    assert "\x1b" not in text and "\x00" not in text
