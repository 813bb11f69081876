"""Groups of another tool, written as augmented files."""

import collections.abc
import itertools
import os

from keras_mmel.text.files.records import Record
from keras_mmel.text.files.records import View
from keras_mmel.text.files.writer import Progress
from keras_mmel.text.files.writer import Written
from keras_mmel.text.files.writer import write_records
from keras_mmel.text.sources.group_file import GroupFile
from keras_mmel.text.sources.groups import Group

# Groups that are tokenized together.
_BATCH = 256


def write_imported(
    directory: str | os.PathLike,
    groups: GroupFile,
    *,
    tokenizer=None,
    max_length: int | None = 512,
    num_shards: int | None = None,
    split: str = "train",
    progress: Progress = True,
) -> Written:
    """Write groups that another tool made as augmented files.

    What no other tool keeps is left open: positions are empty and
    log-probabilities NaN.

    Args:
        directory: where to write.
        groups: what an importer read.
        tokenizer: a `keras_mmel.text.Tokenizer` whose ids are stored too;
            without it none are, and whoever reads the files names one.
        max_length: longest sequence in tokens, special tokens included.
        num_shards: number of files.
        split: name of the split.
        progress: as in `write_augmented`.

    Returns:
        A `Written`: how many files were made.

    Raises:
        ValueError: if the directory belongs to a run with other settings.
        OSError: if the disk is full; no half file is left.

    Example:

    ```python
    from keras_mmel.text import sources

    table = sources.open_table("views.csv")
    groups = sources.LongForm(table, ("text",), "label", id="id")
    sources.write_imported("augmented/reviews", groups)
    ```
    """
    # In the place of an augmenter of ours: whoever reads the files looks there
    # for the tokenizer of the ids.
    made = {
        "source": groups.describe(),
        "augmenter": {
            "name": "imported",
            "tokenizer": tokenizer and tokenizer.fingerprint,
            "max_length": max_length if tokenizer else None,
        },
    }

    def records(ranges, tick):
        for numbers in ranges:
            read = groups.groups(numbers.start, numbers.stop)
            while batch := list(itertools.islice(read, _BATCH)):
                for record in as_records(batch, tokenizer, max_length):
                    tick(1)
                    yield record

    return write_records(
        directory,
        records,
        num_examples=len(groups),
        num_texts=groups.num_texts,
        label_kind=groups.label_kind,
        label_names=groups.label_names,
        made=made,
        num_shards=num_shards,
        split=split,
        progress=progress,
    )


def as_records(
    groups: list[Group], tokenizer=None, max_length: int | None = None
) -> collections.abc.Iterator[Record]:
    """The records of some groups.

    Args:
        groups: the groups.
        tokenizer: gives the token ids; without it there are none.
        max_length: longest sequence in tokens, special tokens included.

    Returns:
        An iterator of records, in order.
    """
    if tokenizer is None:
        ids = itertools.repeat(())
    else:
        texts = (t for group in groups for t in (group.texts, *group.views))
        encoded = tokenizer.encode(
            [t if len(t) == 2 else t[0] for t in texts], max_length
        )
        ids = (tuple(one.token_ids) for one in encoded)
    for group in groups:
        own = next(ids)
        views = tuple(View(view, next(ids)) for view in group.views)
        yield Record(group.example_id, group.texts, group.label, own, views)
