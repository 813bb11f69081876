"""Write records into the shards of a directory, and go on where it stopped."""

import dataclasses
import itertools
import pathlib
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence

from keras_mmel.text.files import progress as progress_lib
from keras_mmel.text.files import shards
from keras_mmel.text.files.directory import DATASET_INFO
from keras_mmel.text.files.directory import Manifest
from keras_mmel.text.files.directory import claim
from keras_mmel.text.files.directory import finish
from keras_mmel.text.files.directory import missing_shards
from keras_mmel.text.files.format import encode
from keras_mmel.text.files.records import Record

EXAMPLES_A_SHARD = 512
"""The most examples in a shard, where nobody says how many shards to make.

What a killed run has to do again is one shard at the most.
"""

Tick = Callable[[int], None]
MakeRecords = Callable[[Sequence[range], Tick], Iterator[Record]]
Progress = bool | Callable[[int, int], None]


@dataclasses.dataclass(frozen=True)
class Written:
    """What a run did.

    Attributes:
        num_written: shards that this run made.
        num_shards: shards of the whole directory.
        missing: names of the shards that other processes have yet to make;
            empty where the directory is complete.
    """

    num_written: int
    num_shards: int
    missing: tuple[str, ...]


def write_records(
    directory: str | pathlib.Path,
    records: MakeRecords,
    *,
    num_examples: int,
    num_texts: int,
    label_kind: str | None,
    made: dict,
    label_names: Sequence[str] | None = None,
    num_shards: int | None = None,
    shard: tuple[int, int] | None = None,
    split: str = "train",
    progress: Progress = True,
) -> Written:
    """Write records into a directory that TFDS reads by itself.

    A shard appears whole or not at all. A run that was stopped, however,
    goes on with the first missing shard when it is called again, and the
    files are the same, byte for byte, as if it had never stopped. Records
    are written as they come: memory does not grow with their number.

    Args:
        directory: of the files; new, empty, or of an earlier such run.
        records: called with the ranges of the examples' numbers that are to
            be written and a function to call with a number of examples as
            they get done; returns their records, in order.
        num_examples: number of examples.
        num_texts: texts of an example, 1 or 2.
        label_kind: "class", "value" (regression) or `None`.
        made: plain values that tell how the records are made. Nothing is
            written into a directory where they are others.
        label_names: names of the classes.
        num_shards: number of files; 512 examples each where it is `None`.
        shard: `(i, n)` to write the i-th of n parts only, counted from 0.
        split: name of the split.
        progress: as in `write_augmented`.

    Returns:
        What was done.

    Raises:
        ValueError: if the directory belongs to a run with other settings,
            which are named, a setting is out of its range, a record does not
            fit, or an id occurs twice.
        OSError: if the disk is full; no half file is left.
    """
    directory = pathlib.Path(directory)
    if num_examples < 1:
        raise ValueError("There must be examples to write. Received: none")
    if num_shards is None:
        num_shards = -(-num_examples // EXAMPLES_A_SHARD)
    manifest = Manifest(
        split,
        num_examples,
        num_shards,
        num_texts,
        label_kind,
        tuple(label_names) if label_names else None,
        made,
    )
    num_classes = len(label_names) if label_names else None
    mine = list(zip(manifest.shard_names(), manifest.ranges(), strict=True))
    mine = mine[slice(*_part(shard, num_shards))]
    claim(directory, manifest)
    missing = set(missing_shards(directory, manifest))
    todo = [pair for pair in mine if pair[0] in missing]
    total = sum(len(numbers) for _, numbers in mine)
    done = total - sum(len(numbers) for _, numbers in todo)
    if todo:
        # It says that the directory is whole.
        (directory / DATASET_INFO).unlink(missing_ok=True)
        with progress_lib.watch(progress, done, total, num_texts) as tick:
            stream = records([numbers for _, numbers in todo], tick)
            for name, numbers in todo:
                part = _exactly(stream, len(numbers), name)
                shards.write_shard(
                    directory / name,
                    (encode(one, label_kind, num_classes) for one in part),
                )
            if next(stream, None) is not None:
                raise ValueError(
                    "There must be one record for each example. Received: more"
                )
    if todo or not (directory / DATASET_INFO).exists():
        finish(directory, manifest)
    missing = tuple(missing_shards(directory, manifest))
    return Written(len(todo), num_shards, missing)


def _part(shard, num_shards):
    """First and last shard of a part, as a slice."""
    if shard is None:
        return 0, num_shards
    try:
        index, parts = shard
        fits = 0 <= index < parts <= num_shards
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise ValueError(
            "`shard` must be (i, n) with 0 <= i < n <= the number of shards, "
            f"{num_shards}. Received: shard={shard!r}"
        )
    return num_shards * index // parts, num_shards * (index + 1) // parts


def _exactly(stream, count, name):
    found = 0
    for record in itertools.islice(stream, count):
        found += 1
        yield record
    if found != count:
        raise ValueError(
            f"The shard {name!r} needs a record for each of its {count} "
            f"examples. Received: {found} records"
        )
