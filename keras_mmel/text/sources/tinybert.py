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

import itertools
import pathlib

from keras_mmel.text.sources.grouped import group_rows
from keras_mmel.text.sources.plain import as_source
from keras_mmel.text.sources.records import InMemory
from keras_mmel.text.sources.tables import Table
from keras_mmel.text.sources.tables import Texts

# Columns of each task's train.tsv in GLUE's own download.
COLUMNS = {
    "cola": "source label mark sentence",
    "sst2": "sentence label",
    "mrpc": "label id1 id2 sentence1 sentence2",
    "stsb": "id genre filename year old_index source1 source2 sentence1 "
    "sentence2 label",
    "qqp": "id qid1 qid2 sentence1 sentence2 label",
    "mnli": "id promptID pairID genre binary_parse1 binary_parse2 parse1 "
    "parse2 sentence1 sentence2 label1 label",
    "qnli": "id sentence1 sentence2 label",
    "rte": "id sentence1 sentence2 label",
}
_NO_HEADER = ("cola",)

# The classes 0, 1, ... as TFDS numbers them; other tasks have numbers.
_ENTAILMENT = ("entailment", "not_entailment")
LABEL_NAMES = {
    "mnli": ("entailment", "neutral", "contradiction"),
    "qnli": _ENTAILMENT,
    "rte": _ENTAILMENT,
}


def from_tinybert(path: str | pathlib.Path, task: str) -> InMemory:
    """Reads the groups of a train_aug.tsv.

    Of pairs, the original sentence 1 is put back beside the samples of
    sentence 2; the notes of the source tell how often.

    Args:
        path: The file that TinyBERT's script wrote. For CoLA and SST-2 the
            train.tsv it was made from must stand beside it: they have no ids,
            so nothing else says where an example ends.
        task: `"cola"`, `"sst2"`, `"mrpc"`, `"stsb"`, `"qqp"`, `"mnli"`,
            `"qnli"` or `"rte"`.

    Returns:
        A source whose records have views.

    Raises:
        BadFile: If a line is wrong; it is named.
        FileNotFoundError: If there is no train.tsv where it is needed.

    Example:

    ```python
    from keras_mmel.text import sources

    source = sources.from_tinybert("RTE/train_aug.tsv", "rte")
    print(source.notes)
    ```
    """
    if task not in COLUMNS:
        raise ValueError(
            f"`task` must be one of {', '.join(COLUMNS)}. "
            f"Received: task={task!r}"
        )
    # The script writes through Python's csv module, which encloses a text
    # with a quote in it in quotes, but reads train.tsv without that rule.
    table = _table(path, task, "csv")
    text = tuple(name for name in table.columns if "sentence" in name)
    ids = [name for name in table.columns if name in ("id", "id1", "id2")]
    if ids:
        # STS-B and others number their lines; pairs of MRPC have two ids.
        def key_of(row):
            key = "-".join(row[name] for name in ids)
            if not key.strip("-"):
                row.fail("no id")
            return key

    else:
        path = table.path.with_name("train.tsv")
        keys = iter(_number_groups(table, _table(path, task, "none")))

        def key_of(row):
            return str(next(keys))

    groups, notes = [], []
    num_faulty_groups = num_faults = 0
    for key, row, original, views in group_rows(table, text, "label", key_of):
        mended = _mend(original, views) if len(text) == 2 else views
        groups.append((key, row, original, mended))
        pairs = zip(views, mended, strict=True)
        faults = sum(before != after for before, after in pairs)
        num_faults += faults
        num_faulty_groups += faults > 0
    if num_faults:
        notes.append(
            f"in {num_faulty_groups} of {len(groups)} groups "
            f"{num_faults} samples of sentence 2 stand beside the last "
            "augmented sentence 1, because TinyBERT's script overwrites "
            "sentence 1 in place; the original sentence 1 is put back"
        )
    facts = {"tinybert": task}
    return as_source(groups, "label", LABEL_NAMES.get(task), facts, notes)


def _table(path, task, quoting):
    return Table(
        path,
        "csv",
        quoting=quoting,
        delimiter="\t",
        columns=COLUMNS[task].split(),
        has_header=task not in _NO_HEADER,
    )


def _number_groups(table: Table, originals: Table) -> list[int]:
    """Finds the group of each row of a table without ids.

    A group begins with its original. The last one is looked for first: a view
    may be equal to the original that comes after it.
    """
    starts, start = set(), len(table.rows)
    for original in reversed(originals.rows):
        before = reversed(range(start))
        start = next((i for i in before if table.rows[i] == original), -1)
        if start < 0:
            original.fail(f"not in {table.path}, or not in its place")
        starts.add(start)
    if start:
        table.rows[0].fail(
            f"the file must begin with the first row of {originals.path}"
        )
    begins = (index in starts for index in range(len(table.rows)))
    return [number - 1 for number in itertools.accumulate(begins)]


def _mend(original: Texts, views: list[Texts]) -> list[Texts]:
    """Puts the original sentence 1 back beside the samples of sentence 2."""
    original_1, original_2 = original
    # The last candidate of sentence 1 still stands beside its own sentence 2.
    last = next((a for a, b in reversed(views) if b == original_2), original_1)
    return [
        (original_1, b) if a == last and b != original_2 else (a, b)
        for a, b in views
    ]
