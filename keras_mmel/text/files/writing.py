"""Write records into files, and go on where it stopped."""

import dataclasses
import itertools
import os
from collections.abc import Callable
from collections.abc import Iterator
from typing import Any

from keras_mmel import extras
from keras_mmel.counts import check_count
from keras_mmel.text.files import directory as directories
from keras_mmel.text.files import shards
from keras_mmel.text.files.format import encode
from keras_mmel.text.sources import records

EXAMPLES_A_SHARD = 512
"""The most examples in a shard, where nobody says how many shards to make.

What a killed run has to do again is one shard at the most.
"""


@dataclasses.dataclass(frozen=True)
class Written:
    """What a run did.

    Attributes:
        num_written: Shards that this run made.
        num_shards: Shards of the whole directory.
        missing: Names of the shards that other processes have yet to make;
            empty where the directory is complete.
    """

    num_written: int
    num_shards: int
    missing: tuple[str, ...]


def write_records(
    directory: str | os.PathLike,
    source: records.Source,
    function: Callable[[Iterator[records.Record]], Iterator[records.Record]],
    *,
    made: dict,
    num_shards: int | None = None,
    shard: tuple[int, int] | None = None,
    split: str = "train",
    progress: bool = True,
) -> Written:
    """Writes what a function makes of a source's examples into files.

    A shard appears whole or not at all; those that are there are not made
    again, as in `write_augmented`. To change a directory record by record,
    read it as `AugmentedFiles` and write into another one.

    Args:
        directory: Of the files; new, empty, or of an earlier such run.
        source: The examples.
        function: Called once for each shard with an iterator over its
            examples; returns an iterator over as many records, with the same
            ids in the same order.
        made: Plain values that tell how the records are made. Nothing is
            written beside shards of which they are others.
        num_shards: As in `write_augmented`.
        shard: As in `write_augmented`.
        split: As in `write_augmented`.
        progress: As in `write_augmented`.

    Returns:
        A `Written`: how many shards were made, and which are still missing.

    Raises:
        ValueError: If the directory is that of a run with other settings,
            which are named, a setting is out of its range, or a record does
            not fit.
        OSError: If the disk is full; no half file is left.
    """
    directory = shards.as_path(directory)
    manifest = make_manifest(source, num_shards, split, made)
    own = manifest.shards(shard)
    if not (directory / directories.MANIFEST).exists():
        _check_lone_shards(directory, manifest, source, function)
    directories.begin(directory, manifest)
    missing = manifest.missing(directory)
    to_write = {name: own[name] for name in missing if name in own}
    total = sum(map(len, own.values()))
    done = total - sum(map(len, to_write.values()))

    if to_write:
        # It says that the directory is whole.
        (directory / directories.DATASET_INFO).unlink(missing_ok=True)
        with progress_bar(source, total, done, progress) as bar:

            def serialized(numbers):
                for record in _encoded(source, function, numbers):
                    yield record
                    bar.update(source.num_texts)
                # Another run may have taken over what had no shard yet.
                directories.begin(directory, manifest)

            for name, numbers in to_write.items():
                shards.write_shard(directory / name, serialized(numbers))
    # One of many calls for single shards need not look at what others see.
    is_marked = (directory / directories.DATASET_INFO).exists()
    if to_write or shard is None or not is_marked:
        missing = directories.finish(directory, manifest)
    return Written(len(to_write), manifest.num_shards, missing)


def make_manifest(
    source: records.Source, num_shards: int | None, split: str, made: dict
) -> directories.Manifest:
    """Says which files a run writes, and what they are.

    Args:
        source: The examples.
        num_shards: As in `write_augmented`.
        split: As in `write_augmented`.
        made: As in `write_records`.

    Returns:
        The manifest of the directory.

    Raises:
        ValueError: If a setting is out of its range.
    """
    if num_shards is None:
        num_shards = -(-len(source) // EXAMPLES_A_SHARD)
    return directories.Manifest(
        split=split,
        num_examples=len(source),
        num_shards=check_count("num_shards", num_shards),
        num_texts=source.num_texts,
        label_kind=source.label_kind,
        label_names=source.label_names,
        made=made,
    )


def first_records(
    directory: str | os.PathLike, manifest: directories.Manifest
) -> Iterator[tuple[str, range, bytes]]:
    """Reads the first record of each shard that is there.

    Args:
        directory: Of the files.
        manifest: Which shards there are to be.

    Yields:
        The name of a shard, the numbers of its examples, and the record.
    """
    directory = shards.as_path(directory)
    names = set(shards.names_in(directory))
    for name, numbers in manifest.shards().items():
        if name in names:
            records_of_shard = shards.read_shard(directory / name, len(numbers))
            yield name, numbers, next(records_of_shard)


def _check_lone_shards(directory, manifest, source, function):
    """Looks at shards without a manifest: their first records, made anew."""
    for name, numbers, stored in first_records(directory, manifest):
        if [stored] != list(_encoded(source, function, numbers[:1])):
            raise ValueError(
                f"`directory` must have {directories.MANIFEST!r} beside its "
                "shards, or shards of the same settings; delete it to begin "
                f"anew. Received: {str(directory)!r}, where {name!r} is other"
            )


def _encoded(source, function, numbers):
    """Gives the records of one shard, one for each example with its id."""
    num_classes = len(source.label_names) if source.label_names else None
    ahead, examples = itertools.tee(source.read(numbers.start, numbers.stop))
    # The shorter of the two goes on as `None`, which has no id.
    for example, record in itertools.zip_longest(examples, function(ahead)):
        expected = getattr(example, "example_id", None)
        example_id = getattr(record, "example_id", None)
        if example_id != expected:
            raise ValueError(
                "There must be a record for each example, with its id. "
                f"Received: {example_id!r} for {expected!r}"
            )
        yield encode(record, source.label_kind, num_classes)


def progress_bar(
    source: records.Source, total: int, done: int, progress: bool
) -> Any:
    """Makes a bar of how many sentences are done, in all and in a second.

    Args:
        source: The examples.
        total: How many of them are to be done.
        done: How many are done already.
        progress: Whether to show it at all.

    Returns:
        A `tqdm.tqdm`, to be told of sentences and closed.
    """
    return extras.need("tqdm", "text").tqdm(
        total=total * source.num_texts,
        initial=done * source.num_texts,
        unit=" sentences",
        smoothing=0.05,
        dynamic_ncols=True,
        disable=not progress,
    )
