"""What augmented files hold, counted in one pass and said in words."""

import collections
import dataclasses
import random
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

import numpy as np

from keras_mmel.losses.soft_targets import REGRESSION_GAP
from keras_mmel.pages.words import count_words
from keras_mmel.pages.words import mark
from keras_mmel.text.sources.records import Record

# Names of the rows, each of which sums up a list of numbers: lengths,
_LENGTHS = ("words of an original", "words of a view", "tokens of an original")
# and shares and means.
_REPLACED = "words of a view that were replaced"
_OWN_LABEL = "originals that get their label"
_LABEL_KEPT = "views that get this label"
_AS_ORIGINAL = "views judged as their original"
_DISTANCE = "mean distance of view and original"


class ShownView(NamedTuple):
    """The original of an example, or one of its views, as it is shown.

    Attributes:
        number: The number of the view, 0 for the original.
        texts: For each text of the example a pair, the original's and its own.
        teacher: What the teacher says of it, or an empty string.
    """

    number: int
    texts: list[tuple[str, str]]
    teacher: str


class ShownExample(NamedTuple):
    """An example as it is shown.

    Attributes:
        heading: Its id and label, and what the teacher says of it.
        views: The original and its views, in this order.
    """

    heading: str
    views: list[ShownView]


@dataclasses.dataclass
class Findings:
    """What `inspect_records` found.

    Attributes:
        tables: In words: titles, each with rows of a name and a value.
        numbers: For programs: counts of examples, views and labels, and for
            each name what its values are; those of a label say whether a view
            keeps it.
        examples: The examples that are shown.
        missing_ids: Ids that were asked for and are not there.
    """

    tables: list[tuple[str, list[tuple[str, str]]]]
    numbers: dict[str, Any]
    examples: list[ShownExample]
    missing_ids: list[str]


def inspect_records(
    records: Iterable[Record],
    *,
    label_names: Sequence[str] | None = None,
    num_examples: int = 5,
    example_ids: Sequence[str] = (),
    seed: int = 0,
) -> Findings:
    """Counts what augmented records hold, and draws some to show.

    Args:
        records: As `keras_mmel.text.files.read_records` gives them.
        label_names: Names of the classes.
        num_examples: How many records to show, drawn without replacement.
        example_ids: Ids of the records to show instead.
        seed: Seed of the draw.

    Returns:
        The findings.

    Example:

    ```python
    from keras_mmel.text.files import read_records
    from keras_mmel.text.inspection import inspect_records

    findings = inspect_records(read_records("augmented/rte"))
    print(findings.tables)
    ```
    """
    num_views, labels = [], collections.Counter()
    values = collections.defaultdict(list)
    draw = random.Random(seed)
    # A dict keeps the order in which they were asked for.
    wanted: dict = {str(name): None for name in example_ids}
    drawn: dict = {}
    for number, record in enumerate(records):
        num_views.append(len(record.views))
        if isinstance(record.label, int):
            labels[record.label] += 1
        for name, value in (*_measured(record), *_judged(record)):
            values[name].append(value)
        if record.example_id in wanted:
            wanted[record.example_id] = record
        # Algorithm R: the first ones are drawn, later ones take their places.
        place = number
        if number >= num_examples:
            place = draw.randrange(number + 1)
        if place < num_examples:
            drawn[place] = (number, record)
    in_order = sorted(drawn.values(), key=lambda pair: pair[0])
    shown = [record for _, record in in_order]
    if wanted:
        shown = [record for record in wanted.values() if record is not None]
    numbers = {
        "examples": len(num_views),
        "views": sum(num_views),
        "labels": dict(labels),
        **{str(name): _sum_up(of_name) for name, of_name in values.items()},
    }
    return Findings(
        tables=_tables(numbers, num_views, label_names),
        numbers=numbers,
        examples=[_example(record, label_names) for record in shown],
        missing_ids=[name for name, record in wanted.items() if record is None],
    )


def _measured(record):
    """Yields what is counted in the texts of a record: names and values."""
    of_original, of_view, of_tokens = _LENGTHS
    yield of_original, _length(record.texts)
    if record.token_ids:
        yield of_tokens, len(record.token_ids)
    for view in record.views:
        yield of_view, _length(view.texts)
        yield _REPLACED, _share_replaced(record.texts, view.texts)


def _judged(record):
    """Yields what the teacher's predictions come to: names, or the class."""
    if not record.teacher:
        return
    label, is_value = record.label, len(record.teacher) == 1
    # -1 is a label that is hidden, as in the test sets of GLUE.
    is_known = label is not None and (is_value or label >= 0)
    original = _decision(record.teacher)
    # Classes agree where they are the same: below the gap of values.
    if is_known:
        yield _OWN_LABEL, abs(original - label) <= REGRESSION_GAP
    for view in record.views:
        if not view.teacher:
            continue
        decision = _decision(view.teacher)
        distance = abs(decision - original)
        yield _AS_ORIGINAL, distance <= REGRESSION_GAP
        if is_value:
            yield _DISTANCE, distance
        if is_known:
            agrees = abs(decision - label) <= REGRESSION_GAP
            yield _LABEL_KEPT, agrees
            if not is_value:
                yield label, agrees


def _sum_up(values):
    median, most = np.percentile(values, [50, 95], method="inverted_cdf")
    return {
        "count": len(values),
        "mean": float(np.mean(values)),
        "median": float(median),
        "95%": float(most),
        "smallest": float(min(values)),
        "largest": float(max(values)),
    }


def _tables(numbers, num_views, label_names):
    """The numbers in words."""
    fewest, most = min(num_views, default=0), max(num_views, default=0)
    each = f"{most} of each" if fewest == most else f"{fewest} to {most} of an"
    labels = [
        (label, _name(label, label_names))
        for label in sorted(numbers["labels"])
    ]
    tables = {
        "Size": [
            ("examples", f"{numbers['examples']}"),
            ("views", f"{numbers['views']}, {each} example"),
        ],
        "Lengths": [
            (name, _spread(numbers[name]))
            for name in _LENGTHS
            if name in numbers
        ],
        "Views": [(_REPLACED, _percent(numbers.get(_REPLACED)))],
        "Teacher": _teacher_rows(numbers),
        "Views with the label of their original, by label": [
            (name, _percent_of(numbers[str(label)]))
            for label, name in labels
            if str(label) in numbers
        ],
        "Labels": [
            (name, f"{numbers['labels'][label]} examples")
            for label, name in labels
        ],
    }
    return [(title, rows) for title, rows in tables.items() if rows]


def _teacher_rows(numbers):
    names = (_OWN_LABEL, _LABEL_KEPT, _AS_ORIGINAL)
    if not any(name in numbers for name in names):
        return [("teacher", "no predictions; `keras-mmel label` adds them")]
    rows = [(name, _percent_of(numbers.get(name))) for name in names]
    if _DISTANCE not in numbers:
        return rows
    near = [(f"{name}, within {REGRESSION_GAP}", share) for name, share in rows]
    return [*near, (_DISTANCE, f"{numbers[_DISTANCE]['mean']:.3f}")]


def _spread(summary):
    """Says what lengths are, which are whole numbers."""
    return (
        "mean {mean:.1f}, median {median:.0f}, 95% up to {95%:.0f}, "
        "{smallest:.0f} to {largest:.0f}".format(**summary)
    )


def _percent(summary):
    return f"{100 * summary['mean']:.1f}%" if summary else "-"


def _percent_of(summary):
    """Says a share with the counts that it is made of."""
    if not summary:
        return "-"
    count = summary["count"]
    number = round(summary["mean"] * count)
    return f"{_percent(summary)} ({number} of {count})"


def _length(texts):
    return sum(map(count_words, texts))


def _share_replaced(original, view):
    """The share of the words of `view` that `original` has not there."""
    words = _length(view)
    if not words:
        return float(_length(original) > 0)
    pairs = zip(original, view, strict=True)
    replaced = sum(differs for pair in pairs for _, differs in mark(*pair))
    return replaced / words


def _decision(prediction):
    """The most likely class, or the value, that a teacher gives."""
    if len(prediction) == 1:
        return prediction[0]
    return prediction.index(max(prediction))


def _example(record, label_names):
    label = _name(record.label, label_names)
    heading = f"Example {record.example_id}, label {label}"
    if record.teacher:
        heading += f", teacher {_prediction(record.teacher, label_names)}"
    views = []
    for number, row in enumerate((record, *record.views)):
        pairs = list(zip(record.texts, row.texts, strict=True))
        # The teacher's word on the original stands in the heading.
        teacher = _prediction(row.teacher, label_names) if number else ""
        views.append(ShownView(number, pairs, teacher))
    return ShownExample(heading, views)


def _name(label, label_names):
    """What a label is called, with its number where it has a name."""
    if label is None:
        return "none"
    if not isinstance(label, int):
        return f"{label:.4g}"
    if not label_names or not 0 <= label < len(label_names):
        return str(label)
    name = label_names[label]
    return name if name == str(label) else f"{name} ({label})"


def _prediction(values, label_names):
    if not values:
        return ""
    if len(values) == 1:
        return f"{values[0]:.2f}"
    return f"{_name(_decision(values), label_names)}, {max(values):.2f}"
