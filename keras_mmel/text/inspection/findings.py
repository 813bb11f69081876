"""What augmented files hold, counted in one pass and said in words."""

import dataclasses
import random
from collections import Counter
from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Sequence

import numpy as np

from keras_mmel.pages.words import count_words
from keras_mmel.pages.words import mark
from keras_mmel.text.sources.records import Record

# Two values of a regression that differ by more are said to disagree, as in
# section 4.2 of the paper.
FAR = 0.5


@dataclasses.dataclass
class Findings:
    """What `inspect_records` found, in words.

    Attributes:
        tables: Titles, each with rows of a name and a value.
        examples: Headings, each with a row for the original and its views: the
            number of the view, pairs of the original's text and its own, and
            what the teacher says.
        missing_ids: Ids that were asked for and are not there.
    """

    tables: list[tuple[str, list[tuple[str, str]]]]
    examples: list[tuple[str, list[tuple[str, list[tuple[str, str]], str]]]]
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

    found = inspect_records(read_records("augmented/rte"))
    print(found.tables)
    ```
    """
    counts = _Counts()
    draw = random.Random(seed)
    wanted: dict = {str(name): None for name in example_ids}
    drawn: list = []
    for number, record in enumerate(records):
        counts.add_texts(record)
        counts.add_teacher(record)
        if record.example_id in wanted:
            wanted[record.example_id] = record
        if len(drawn) < num_examples:
            drawn.append((number, record))
        else:
            place = draw.randrange(number + 1)  # algorithm R
            if place < num_examples:
                drawn[place] = (number, record)
    shown = [record for _, record in sorted(drawn, key=lambda pair: pair[0])]
    if wanted:
        shown = [record for record in wanted.values() if record is not None]
    return Findings(
        counts.tables(label_names),
        [_example(record, label_names) for record in shown],
        [name for name, record in wanted.items() if record is None],
    )


class _Counts:
    """Sums over records, by the names under which they are shown."""

    def __init__(self):
        self.views = Counter()
        self.lengths = defaultdict(Counter)
        self.labels = Counter()
        # Of each share and mean, by its name or the class that it is of.
        self.totals, self.sizes = Counter(), Counter()

    def see(self, name, value):
        self.totals[name] += value
        self.sizes[name] += 1

    def add_texts(self, record):
        original = record.texts
        views = [view.texts for view in record.views]
        self.views[len(views)] += 1
        self.lengths["words of an original"][_length(original)] += 1
        if len(record.token_ids):
            self.lengths["tokens of an original"][len(record.token_ids)] += 1
        for view in views:
            self.lengths["words of a view"][_length(view)] += 1
            share = _other_words(original, view)
            self.see("words of a view that were replaced", share)

    def add_teacher(self, record):
        label, own = record.label, record.teacher
        if isinstance(label, int):
            self.labels[label] += 1
        if not own:
            return
        is_value = len(own) == 1
        # -1 is a label that is hidden, as in the test sets of GLUE.
        is_known = label is not None and (is_value or label >= 0)
        said = own[0] if is_value else own.index(max(own))
        if is_known:
            agrees = abs(said - label) <= FAR
            self.see("originals that get their label", agrees)
        for theirs in (view.teacher for view in record.views if view.teacher):
            of_view = theirs[0] if is_value else theirs.index(max(theirs))
            distance = abs(of_view - said)
            self.see("views judged as their original", distance <= FAR)
            if is_value:
                self.see("mean distance of view and original", distance)
            if is_known:
                agrees = abs(of_view - label) <= FAR
                self.see("views that get this label", agrees)
                if not is_value:
                    self.see(label, agrees)

    def tables(self, label_names):
        fewest, most = min(self.views, default=0), max(self.views, default=0)
        each = (
            f"{fewest} to {most} of an" if fewest < most else f"{most} of each"
        )
        views = self.lengths["words of a view"].total()
        lengths = ("words of an original", "words of a view")
        replaced = "words of a view that were replaced"
        teacher = (
            "originals that get their label",
            "views that get this label",
            "views judged as their original",
        )
        tables = {
            "Size": [
                ("examples", f"{self.views.total()}"),
                ("views", f"{views}, {each} example"),
            ],
            "Lengths": [
                (name, _spread(self.lengths[name]))
                for name in (*lengths, "tokens of an original")
                if self.lengths[name]
            ],
            "Views": [(replaced, self._share(replaced))],
            "Teacher": [
                ("teacher", "no predictions; `keras-mmel label` adds them")
            ],
        }
        distance = "mean distance of view and original"
        if any(self.sizes[name] for name in teacher):
            near = f", within {FAR}" if self.sizes[distance] else ""
            rows = [(f"{name}{near}", self._of(name)) for name in teacher]
            if self.sizes[distance]:
                mean = self.totals[distance] / self.sizes[distance]
                rows.append((distance, f"{mean:.3f}"))
            tables["Teacher"] = rows
        classes = sorted(name for name in self.sizes if isinstance(name, int))
        if classes:
            tables["Views with the label of their original, by label"] = [
                (_name(label, label_names), self._of(label))
                for label in classes
            ]
        if self.labels:
            tables["Labels"] = [
                (_name(label, label_names), f"{count} examples")
                for label, count in sorted(self.labels.items())
            ]
        return list(tables.items())

    def _share(self, name):
        if not self.sizes[name]:
            return "-"
        return f"{100 * self.totals[name] / self.sizes[name]:.1f}%"

    def _of(self, name):
        share, size = self._share(name), self.sizes[name]
        return f"{share} ({self.totals[name]} of {size})" if size else share


def _length(texts):
    return sum(map(count_words, texts))


def _other_words(first, second):
    """The share of the words of `second` that `first` has not there."""
    words = _length(second)
    if not words:
        return float(_length(first) > 0)
    pairs = zip(first, second, strict=True)
    return sum(differs for a, b in pairs for _, differs in mark(a, b)) / words


def _spread(counts):
    values = np.repeat(list(counts), list(counts.values()))
    median, most = np.percentile(values, [50, 95], method="inverted_cdf")
    return (
        f"mean {values.mean():.1f}, median {median}, 95% up to {most}, "
        f"{values.min()} to {values.max()}"
    )


def _example(record, label_names):
    label = _name(record.label, label_names)
    heading = f"Example {record.example_id}, label {label}"
    if said := _prediction(record.teacher, label_names):
        heading += f", teacher {said}"
    rows = [("", list(zip(record.texts, record.texts, strict=True)), "")]
    for number, view in enumerate(record.views, start=1):
        pairs = list(zip(record.texts, view.texts, strict=True))
        said = _prediction(view.teacher, label_names)
        rows.append((f"{number}", pairs, said))
    return heading, rows


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
    best = max(values)
    return f"{_name(values.index(best), label_names)}, {best:.2f}"
