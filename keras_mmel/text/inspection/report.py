"""Statistics of augmented records, in one pass and in bounded memory."""

import collections.abc
import dataclasses
import itertools
import random

from keras_mmel.text.files.records import Record
from keras_mmel.text.inspection.counts import Histogram
from keras_mmel.text.inspection.counts import Mean
from keras_mmel.text.inspection.words import count_words
from keras_mmel.text.inspection.words import share_of_other_words

# Two values of a regression that differ by more are said to disagree, as in
# section 4.2 of the paper.
FAR = 0.5


@dataclasses.dataclass
class Report:
    """What `inspect_records` found.

    Attributes:
        views: how many views the examples have, the original not counted.
        words: lengths of the originals in words; of a pair in both texts.
        view_words: lengths of the views in words.
        tokens: lengths of the originals in tokens with the special ones,
            where token ids are stored.
        replaced: share of the words of a view that its original has not.
        apart: share of words in which two views of an example differ.
        equal_to_original: views with the text of their original.
        equal_to_another: views with the text of an earlier view.
        distinct_groups: share of examples all of whose views are different
            from each other and from the original.
        labels: how often each label occurs; of numbers nothing.
        has_labels: whether any example has a label.
        is_regression: whether the teacher predicts a value.
        teacher_labels: share of originals that the teacher gives their label
            (regression: differs by 0.5 at most).
        view_labels: the same of the views.
        view_agrees: share of views that the teacher gives the same class as
            their original (regression: differs by 0.5 at most).
        view_distance: regression: mean distance of the teacher's values for
            view and original.
        by_class: for each label, the share of views that the teacher gives
            this label, and how many views there are.
        examples: records to show.
        missing_ids: ids that were asked for and are not there.
    """

    views: Histogram = dataclasses.field(default_factory=Histogram)
    words: Histogram = dataclasses.field(default_factory=Histogram)
    view_words: Histogram = dataclasses.field(default_factory=Histogram)
    tokens: Histogram = dataclasses.field(default_factory=Histogram)
    replaced: Mean = dataclasses.field(default_factory=Mean)
    apart: Mean = dataclasses.field(default_factory=Mean)
    equal_to_original: int = 0
    equal_to_another: int = 0
    distinct_groups: Mean = dataclasses.field(default_factory=Mean)
    labels: dict[int, int] = dataclasses.field(default_factory=dict)
    has_labels: bool = False
    is_regression: bool = False
    teacher_labels: Mean = dataclasses.field(default_factory=Mean)
    view_labels: Mean = dataclasses.field(default_factory=Mean)
    view_agrees: Mean = dataclasses.field(default_factory=Mean)
    view_distance: Mean = dataclasses.field(default_factory=Mean)
    by_class: dict[int, Mean] = dataclasses.field(default_factory=dict)
    examples: list[Record] = dataclasses.field(default_factory=list)
    missing_ids: list[str] = dataclasses.field(default_factory=list)

    @property
    def num_examples(self) -> int:
        """Number of examples."""
        return len(self.views)

    @property
    def num_views(self) -> int:
        """Number of views, the originals not counted."""
        return len(self.view_words)

    @property
    def has_teacher(self) -> bool:
        """Whether the teacher's predictions are there."""
        return bool(self.teacher_labels.count or self.view_agrees.count)


def inspect_records(
    records: collections.abc.Iterable[Record],
    *,
    num_examples: int = 5,
    example_ids: collections.abc.Sequence[str] = (),
    seed: int = 0,
) -> Report:
    """Count what augmented records hold, and draw some to show.

    Args:
        records: as `keras_mmel.text.files.read_records` gives them.
        num_examples: how many records to show, drawn without replacement.
        example_ids: ids of the records to show instead.
        seed: seed of the draw.

    Returns:
        The report.

    Example:

    ```python
    from keras_mmel.text.files import read_records
    from keras_mmel.text.inspection import inspect_records

    report = inspect_records(read_records("augmented/rte"))
    print(report.distinct_groups.value)
    ```
    """
    report = Report()
    draw = random.Random(seed)
    wanted = {str(name): None for name in example_ids}
    drawn = []
    for number, record in enumerate(records):
        _count_texts(report, record)
        _count_teacher(report, record)
        if wanted:
            if record.example_id in wanted:
                wanted[record.example_id] = record
        elif len(drawn) < num_examples:
            drawn.append((number, record))
        elif num_examples:
            place = draw.randrange(number + 1)  # algorithm R
            if place < num_examples:
                drawn[place] = (number, record)
    drawn.sort(key=lambda pair: pair[0])
    report.examples = [record for _, record in drawn]
    if wanted:
        report.examples = [r for r in wanted.values() if r is not None]
        report.missing_ids = [name for name, r in wanted.items() if r is None]
    return report


def _count_texts(report, record):
    original = record.texts
    views = [view.texts for view in record.views]
    report.views.add(len(views))
    report.words.add(sum(map(count_words, original)))
    if len(record.token_ids):
        report.tokens.add(len(record.token_ids))
    for view in views:
        report.view_words.add(sum(map(count_words, view)))
        report.replaced.add(_other_words(original, view))
    for first, second in itertools.combinations(views, 2):
        report.apart.add(_other_words(first, second))
    same = views.count(original)
    doublets = len(views) - len(set(views)) - max(0, same - 1)
    report.equal_to_original += same
    report.equal_to_another += doublets
    report.distinct_groups.add(not same and not doublets)


def _other_words(first, second):
    """`share_of_other_words` over both texts of a pair, by their lengths."""
    if len(first) == len(second) == 1:
        return share_of_other_words(first[0], second[0])
    pairs = list(itertools.zip_longest(first, second, fillvalue=""))
    lengths = [count_words(b) for _, b in pairs]
    total = sum(lengths)
    if not total:
        return 0.0
    shares = (share_of_other_words(a, b) for a, b in pairs)
    return sum(s * n for s, n in zip(shares, lengths, strict=True)) / total


def _count_teacher(report, record):
    label = record.label
    if label is not None:
        report.has_labels = True
        if isinstance(label, int):
            report.labels[label] = report.labels.get(label, 0) + 1
    own = list(record.teacher)
    if not own:
        return
    report.is_regression |= len(own) == 1
    # -1 is a label that is hidden, as in the test sets of GLUE.
    is_known = label is not None and (len(own) == 1 or label >= 0)
    if is_known:
        report.teacher_labels.add(_says(own, label))
    for view in record.views:
        theirs = list(view.teacher)
        if not theirs:
            continue
        if len(own) == 1:
            report.view_distance.add(abs(theirs[0] - own[0]))
            report.view_agrees.add(abs(theirs[0] - own[0]) <= FAR)
        else:
            report.view_agrees.add(_class(theirs) == _class(own))
        if is_known:
            agrees = _says(theirs, label)
            report.view_labels.add(agrees)
            if len(own) > 1:
                report.by_class.setdefault(int(label), Mean()).add(agrees)


def _says(prediction, label):
    if len(prediction) == 1:
        return abs(prediction[0] - label) <= FAR
    return _class(prediction) == label


def _class(probabilities):
    return max(range(len(probabilities)), key=probabilities.__getitem__)
