"""What augmented files hold, counted in one pass."""

import dataclasses
import itertools
import random
from collections import Counter
from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Sequence

from keras_mmel.pages.words import count_words
from keras_mmel.pages.words import mark
from keras_mmel.text.files.records import Record

# Two values of a regression that differ by more are said to disagree, as in
# section 4.2 of the paper.
FAR = 0.5


@dataclasses.dataclass
class Mean:
    """A running mean; a share is one of zeros and ones."""

    total: float = 0.0
    count: int = 0

    def add(self, value: float) -> None:
        """Sees one more number."""
        self.total += value
        self.count += 1

    @property
    def value(self) -> float:
        """The mean, NaN where nothing was seen."""
        return self.total / self.count if self.count else float("nan")


def _named(kind: type, *names: str):
    return dataclasses.field(
        default_factory=lambda: {name: kind() for name in names}
    )


@dataclasses.dataclass
class Findings:
    """What `inspect_records` found.

    Attributes:
        views: How many examples have how many views, the original not counted.
        lengths: How often each length occurs; of a pair in both texts, and of
            tokens with the special ones, where token ids are stored.
        shares: How different views are from their original and each other.
        equal: Number of views with a text that their example has already.
        teacher: How often the teacher gives an original and its views their
            label, and views the class of their original. Values of a
            regression agree that differ by 0.5 at most.
        distance: Mean distance of the teacher's values for view and original;
            nothing is seen where it predicts classes.
        by_class: For each label, the share of views that the teacher gives
            this label.
        labels: How often each class occurs as a label.
        examples: Records to show.
        missing_ids: Ids that were asked for and are not there.
    """

    views: Counter[int] = dataclasses.field(default_factory=Counter)
    lengths: dict[str, Counter[int]] = _named(
        Counter,
        "words of an original",
        "words of a view",
        "tokens of an original",
    )
    shares: dict[str, Mean] = _named(
        Mean,
        "words of a view that were replaced",
        "words in which two views differ",
        "examples with all views distinct",
    )
    equal: dict[str, int] = _named(
        int, "views equal to their original", "views equal to another view"
    )
    teacher: dict[str, Mean] = _named(
        Mean,
        "originals that get their label",
        "views that get this label",
        "views judged as their original",
    )
    distance: Mean = dataclasses.field(default_factory=Mean)
    by_class: dict[int, Mean] = dataclasses.field(
        default_factory=lambda: defaultdict(Mean)
    )
    labels: Counter[int] = dataclasses.field(default_factory=Counter)
    examples: list[Record] = dataclasses.field(default_factory=list)
    missing_ids: list[str] = dataclasses.field(default_factory=list)


def inspect_records(
    records: Iterable[Record],
    *,
    num_examples: int = 5,
    example_ids: Sequence[str] = (),
    seed: int = 0,
) -> Findings:
    """Counts what augmented records hold, and draws some to show.

    Args:
        records: As `keras_mmel.text.files.read_records` gives them.
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
    print(found.distinct_groups.value)
    ```
    """
    found = Findings()
    draw = random.Random(seed)
    wanted: dict[str, Record | None] = dict.fromkeys(map(str, example_ids))
    drawn = []
    for number, record in enumerate(records):
        _count_texts(found, record)
        _count_teacher(found, record)
        if record.example_id in wanted:
            wanted[record.example_id] = record
        if len(drawn) < num_examples:
            drawn.append((number, record))
        else:
            place = draw.randrange(number + 1)  # algorithm R
            if place < num_examples:
                drawn[place] = (number, record)
    if wanted:
        found.examples = [r for r in wanted.values() if r is not None]
        found.missing_ids = [name for name, r in wanted.items() if r is None]
    else:
        drawn.sort(key=lambda pair: pair[0])
        found.examples = [record for _, record in drawn]
    return found


def _count_texts(found, record):
    original = record.texts
    views = [view.texts for view in record.views]
    found.views[len(views)] += 1
    found.lengths["words of an original"][_length(original)] += 1
    if len(record.token_ids):
        found.lengths["tokens of an original"][len(record.token_ids)] += 1
    for view in views:
        found.lengths["words of a view"][_length(view)] += 1
        share = _other_words(original, view)
        found.shares["words of a view that were replaced"].add(share)
    for pair in itertools.combinations(views, 2):
        found.shares["words in which two views differ"].add(_other_words(*pair))
    same = views.count(original)
    doublets = len(views) - len(set(views)) - max(0, same - 1)
    found.equal["views equal to their original"] += same
    found.equal["views equal to another view"] += doublets
    is_distinct = not same and not doublets
    found.shares["examples with all views distinct"].add(is_distinct)


def _length(texts):
    return sum(map(count_words, texts))


def _other_words(first, second):
    """The share of the words of `second` that `first` has not there."""
    words = _length(second)
    if not words:
        return float(_length(first) > 0)
    pairs = zip(first, second, strict=True)
    return sum(differs for a, b in pairs for _, differs in mark(a, b)) / words


def _count_teacher(found, record):
    label, own = record.label, record.teacher
    if isinstance(label, int):
        found.labels[label] += 1
    if not own:
        return
    is_value = len(own) == 1
    # -1 is a label that is hidden, as in the test sets of GLUE.
    is_known = label is not None and (is_value or label >= 0)
    said = own[0] if is_value else own.index(max(own))
    if is_known:
        agrees = abs(said - label) <= FAR
        found.teacher["originals that get their label"].add(agrees)
    for theirs in (view.teacher for view in record.views if view.teacher):
        of_view = theirs[0] if is_value else theirs.index(max(theirs))
        distance = abs(of_view - said)
        found.teacher["views judged as their original"].add(distance <= FAR)
        if is_value:
            found.distance.add(distance)
        if is_known:
            agrees = abs(of_view - label) <= FAR
            found.teacher["views that get this label"].add(agrees)
            if not is_value:
                found.by_class[label].add(agrees)
