"""TinyBERT's train_aug.tsv: its layouts, and the fault in its pairs.

The script `data_augmentation.py` of TinyBERT takes each line of a GLUE task's
train.tsv and, for each text column, writes the line once for every candidate
text, the original among them first. It writes the candidate into the line
*in place*, so that after the first column of a pair the line keeps the last
candidate of sentence 1, and every candidate of sentence 2 is written beside
that one, not beside the original sentence 1:

    a0 b0 | a1 b0 | ... | am b0 | am b0 | am b1 | ... | am bn

Whoever trains on it sees every sentence 2 with a sentence 1 that is as far
from the original as the last sample, under the label of the original. As the
script looks at one sentence at a time, sentence 2 itself is not affected, and
putting a0 back gives exactly what a corrected script would have written.
"""

import dataclasses
import itertools
import pathlib

from keras_mmel.text.sources.after_originals import AfterOriginals
from keras_mmel.text.sources.group_file import GroupFile
from keras_mmel.text.sources.groups import Group
from keras_mmel.text.sources.groups import Texts
from keras_mmel.text.sources.groups import make_group
from keras_mmel.text.sources.rows import TableFile
from keras_mmel.text.sources.values import BadValue
from keras_mmel.text.sources.values import read_texts
from keras_mmel.text.sources.values import read_view

PAIR_FAULTS = ("repair", "keep", "combine")


@dataclasses.dataclass(frozen=True)
class Layout:
    """Columns of a task's train.tsv in GLUE's own download.

    Attributes:
        columns: all columns, in order, by the names they are given here.
        has_header: whether the first line is a header.
        label_names: names of the classes 0, 1, ... as TFDS numbers them;
            empty where the file has numbers.
    """

    columns: tuple[str, ...]
    has_header: bool = True
    label_names: tuple[str, ...] = ()

    @property
    def text(self) -> tuple[str, ...]:
        """The columns that the script augments."""
        if "sentence" in self.columns:
            return ("sentence",)
        return ("sentence1", "sentence2")

    @property
    def id(self) -> tuple[str, ...]:
        """Columns that tell the examples apart; none in CoLA and SST-2."""
        return tuple(c for c in self.columns if c in ("id", "id1", "id2"))


_PAIR = ("sentence1", "sentence2")
_RTE = Layout(
    ("id", *_PAIR, "label"), label_names=("entailment", "not_entailment")
)

LAYOUTS = {
    "cola": Layout(("source", "label", "mark", "sentence"), has_header=False),
    "sst2": Layout(("sentence", "label")),
    "mrpc": Layout(("label", "id1", "id2", *_PAIR)),
    "stsb": Layout(
        ("id", "genre", "filename", "year", "old_index", "source1", "source2")
        + (*_PAIR, "label")
    ),
    "qqp": Layout(("id", "qid1", "qid2", *_PAIR, "label")),
    "mnli": Layout(
        ("id", "promptID", "pairID", "genre", "binary_parse1", "binary_parse2")
        + ("parse1", "parse2", *_PAIR, "label1", "label"),
        label_names=("entailment", "neutral", "contradiction"),
    ),
    "qnli": _RTE,
    "rte": _RTE,
}


def from_tinybert(
    path,
    task: str,
    *,
    originals=None,
    pair_fault: str = "repair",
    quoting: str = "csv",
    max_problems: int = 20,
) -> GroupFile:
    """The groups of a train_aug.tsv.

    Args:
        path: the file that TinyBERT's script wrote.
        task: `"cola"`, `"sst2"`, `"mrpc"`, `"stsb"`, `"qqp"`, `"mnli"`,
            `"qnli"` or `"rte"`.
        originals: the train.tsv it was made from; by default the one beside
            it. Only CoLA and SST-2 need it: they have no ids, so nothing else
            says where an example ends.
        pair_fault: of pairs, `"repair"` puts the original sentence 1 beside
            the samples of sentence 2; `"keep"` leaves the rows as they are;
            `"combine"` makes sample i of sample i of both sentences, as
            `MaskedLMAugmenter(pairs="separate")` does.
        quoting: `"csv"`, as the script writes, or `"none"` where quotes in
            the file are part of the text.
        max_problems: how many bad lines to name at once.

    Raises:
        BadFile: naming the lines that are wrong.

    Example:

    ```python
    from keras_mmel.text import sources

    groups = sources.from_tinybert("RTE/train_aug.tsv", "rte")
    print(groups.notes())
    ```
    """
    if task not in LAYOUTS:
        raise ValueError(
            f"`task` must be one of {', '.join(LAYOUTS)}. "
            f"Received: task={task!r}"
        )
    if pair_fault not in PAIR_FAULTS:
        raise ValueError(
            f"`pair_fault` must be one of {', '.join(PAIR_FAULTS)}. "
            f"Received: pair_fault={pair_fault!r}"
        )
    layout = LAYOUTS[task]
    # The script writes through Python's csv module, which encloses a text
    # with a quote in it in quotes, but reads train.tsv without that rule.
    table = _table(path, layout, quoting)
    if layout.id:
        return TinyBertPairs(
            table, layout, pair_fault=pair_fault, max_problems=max_problems
        )
    if originals is None:
        originals = pathlib.Path(path).parent / "train.tsv"
    if not pathlib.Path(originals).is_file():
        raise FileNotFoundError(
            2,
            f"{task} has no ids: the train.tsv it was made from is needed. "
            "No such file",
            str(originals),
        )
    return AfterOriginals(
        table,
        _table(originals, layout, "none"),
        layout.text,
        "label",
        max_problems=max_problems,
    )


class TinyBertPairs(GroupFile):
    """The layouts with pairs and ids; see `from_tinybert`."""

    def __init__(self, table, layout, *, pair_fault, max_problems):
        self._layout = layout
        self.num_texts = len(layout.text)
        self._pair_fault = pair_fault
        self.faulty_groups = 0
        self.faulty_rows = 0
        super().__init__(
            table,
            label_names=layout.label_names,
            max_problems=max_problems,
        )

    def describe(self) -> dict[str, object]:
        """What the record of the written files says of this one."""
        return super().describe() | {"pair_fault": self._pair_fault}

    def notes(self) -> list[str]:
        """How many groups have the fault, and what is done about it."""
        if not self.faulty_groups:
            return []
        done = {
            "repair": "the original sentence 1 is put back beside them",
            "keep": "they are kept as they are",
            "combine": "sample i is now sample i of both sentences",
        }[self._pair_fault]
        return [
            f"in {self.faulty_groups} of {len(self)} groups "
            f"{self.faulty_rows} samples of sentence 2 stand beside the last "
            "augmented sentence 1, because TinyBERT's script overwrites "
            f"sentence 1 in place; {done}"
        ]

    def _index(self, problems):
        seen: dict[str, int] = {}
        texts, label, current = [], None, None
        for record in self.table.records(problems):
            row = record.row
            try:
                name = "-".join(row[column] for column in self._layout.id)
                if not name.strip("-"):
                    raise BadValue("no id")
                problem = self.labels.add(row["label"], "label")
                if problem:
                    raise BadValue(problem)
                read_texts(row, self._layout.text)
                if name == current:
                    read_view(row, self._layout.text)
                    if row["label"] != label:
                        raise BadValue(
                            f"label {row['label']!r}, but {label!r} in line "
                            f"{seen[name]}, of the same id {name!r}"
                        )
                elif name in seen:
                    raise BadValue(
                        f"id {name!r} again, which began in line {seen[name]}"
                    )
            except BadValue as error:
                problems.add(record.line, str(error))
                continue
            if name == current:
                self._places[-1].append(record.offset)
                texts.append(read_texts(row, self._layout.text))
                continue
            self._count_faults(texts)
            current, label, seen[name] = name, row["label"], record.line
            texts = [read_texts(row, self._layout.text)]
            self._start(name, record.offset)
        self._count_faults(texts)

    def _count_faults(self, texts):
        faulty = faulty_rows(texts)
        self.faulty_groups += bool(faulty)
        self.faulty_rows += len(faulty)

    def _group(self, example_id, rows) -> Group:
        texts = [read_texts(row, self._layout.text) for row in rows]
        label = self.labels.read(rows[0]["label"])
        return make_group(
            example_id, texts[0], label, mend(texts, self._pair_fault)
        )


def faulty_rows(texts: list[Texts]) -> list[int]:
    """Rows of a group whose sentence 2 stands beside the wrong sentence 1.

    Args:
        texts: the pairs of one group in the order of the file.

    Returns:
        Indices of the rows with an augmented sentence 2 beside the last
        augmented sentence 1, where that is not the original one.
    """
    if not texts:
        return []
    original, other = texts[0]
    firsts = [a for a, b in texts if b == other]
    last = firsts[-1]
    if last == original:
        return []
    return [i for i, (a, b) in enumerate(texts) if b != other and a == last]


def mend(texts: list[Texts], pair_fault: str) -> list[Texts]:
    """The views of a group, the fault in its pairs treated as asked.

    Args:
        texts: the pairs of one group in the order of the file.
        pair_fault: `"repair"`, `"keep"` or `"combine"`.

    Returns:
        The views, which may hold the original and doublets.

    Example:

    ```python
    rows = [("a", "b"), ("a1", "b"), ("a1", "b"), ("a1", "b1")]
    mend(rows, "repair")  # ... ("a", "b1")
    mend(rows, "combine")  # [("a1", "b1")]
    ```
    """
    if not texts or pair_fault == "keep":
        return texts[1:]
    original = texts[0]
    if pair_fault == "combine":
        sides = (
            [text for text in dict.fromkeys(side) if text != own]
            for side, own in zip(
                zip(*texts, strict=True), original, strict=True
            )
        )
        return [
            tuple(
                own if text is None else text
                for own, text in zip(original, pair, strict=True)
            )
            for pair in itertools.zip_longest(*sides)
        ]
    faulty = set(faulty_rows(texts))
    return [
        (original[0], b) if i in faulty else (a, b)
        for i, (a, b) in enumerate(texts)
    ][1:]


def _table(path, layout, quoting):
    return TableFile(
        path,
        columns=layout.columns,
        has_header=layout.has_header,
        quoting=quoting,
        delimiter="\t",
    )
