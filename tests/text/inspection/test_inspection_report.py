"""Reports against counts made by hand, and what of them is printed."""

import collections
import html.parser
import random

import pytest

from keras_mmel.text.files import Record
from keras_mmel.text.files import View
from keras_mmel.text.inspection import inspect_records
from keras_mmel.text.inspection import to_html
from keras_mmel.text.inspection import to_terminal
from keras_mmel.text.inspection.counts import Histogram


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


def test_texts_are_counted():
    report = inspect_records(RECORDS)
    assert (report.num_examples, report.num_views) == (3, 5)
    assert (report.views.least, report.views.most) == (0, 3)
    assert report.words.mean == pytest.approx((4 + 2 + 1) / 3)
    assert report.tokens.mean == 3
    assert report.replaced.value == pytest.approx(
        (1 / 4 + 2 / 4 + 0 + 1 / 2 + 1 / 2) / 5
    )
    assert report.apart.value == pytest.approx((3 / 4 + 1 / 2 + 1 / 2 + 0) / 4)
    assert report.equal_to_original == 1
    assert report.equal_to_another == 1
    assert report.distinct_groups.value == pytest.approx(2 / 3)
    assert report.labels == {1: 1, 0: 1, -1: 1}


def test_views_that_equal_the_original_several_times():
    views = [["a"], ["a"], ["a"], ["b"]]
    report = inspect_records([record("x", ["a"], None, views)])
    assert (report.equal_to_original, report.equal_to_another) == (3, 0)
    assert report.distinct_groups.value == 0
    assert not report.has_labels


def test_classes_are_compared_with_the_teacher():
    report = inspect_records(RECORDS)
    assert report.has_teacher and not report.is_regression
    # The hidden label of "c" takes no part, and "b" has no predictions.
    assert (report.teacher_labels.value, report.teacher_labels.count) == (1, 1)
    assert (report.view_labels.value, report.view_labels.count) == (0.5, 2)
    assert (report.view_agrees.value, report.view_agrees.count) == (0.5, 2)
    assert {k: v.value for k, v in report.by_class.items()} == {1: 0.5}


def test_values_are_compared_with_the_teacher():
    report = inspect_records(
        [
            record(
                "a",
                ["p", "q"],
                3.0,
                [["p", "r"], ["s", "q"]],
                (3.5,),
                [(2.5,), (3.0,)],
            )
        ]
    )
    assert report.is_regression
    assert report.teacher_labels.value == 1
    assert report.view_labels.value == 1
    assert report.view_agrees.value == 0.5
    assert report.view_distance.value == pytest.approx(0.75)
    assert report.labels == {} and report.by_class == {}
    assert report.replaced.value == 0.5


def test_quantiles():
    values = [random.Random(0).randrange(50) for _ in range(201)]
    histogram = Histogram()
    for value in values:
        histogram.add(value)
    assert histogram.quantile(0.5) == sorted(values)[100]
    assert histogram.quantile(1) == max(values)
    assert Histogram().quantile(0.5) is None and Histogram().mean is None


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


def test_without_a_teacher_the_way_to_one_is_named():
    report = inspect_records([RECORDS[1]])
    assert "`keras-mmel label` adds them" in to_terminal(report, "x")
    assert "`keras-mmel label` adds them" in to_html(report, "x")


def test_no_examples_and_no_views():
    report = inspect_records([])
    assert "examples" in to_terminal(report, "x")
    assert "examples" in to_html(report, "x")


NASTY = '<script>alert("1")</script> & \x1b[2J\u202eabc\x00 \u00a0'


def test_texts_cannot_command_the_terminal():
    report = inspect_records([record(NASTY, [NASTY], 0, [["\x1b]0;x\x07"]])])
    text = to_terminal(report, NASTY)
    assert not set(text) & set("\x1b\u202e\x00\x07")
    assert "\\x1b[2J\\u202eabc\\x00" in text


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.marked, self.open = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "mark":
            self.marked.append(data)


def test_page_is_escaped_and_stands_alone():
    nasty = record(NASTY, [NASTY], 0, [["<b>x</b>"]], (1.0, 0.0), [(1.0, 0.0)])
    report = inspect_records([nasty, *RECORDS])
    text = to_html(report, NASTY, label_names=["<i>", "good"])
    page = Page()
    page.feed(text)
    assert page.open == []
    assert not {"script", "b", "i", "link", "img"} & set(page.tags)
    assert "http" not in text.replace('http-equiv="', "")
    assert "\x1b" not in text and "\x00" not in text
    assert {"x", "y", "z"} <= set(page.marked)
    assert "&lt;script&gt;alert(&quot;1&quot;)" in text
    text.encode("utf-8")
