"""Make a directory anew, record by record, with the writer's guarantees."""

import itertools
import pathlib
from collections.abc import Callable
from collections.abc import Iterator

from keras_mmel.text.files.directory import read_manifest
from keras_mmel.text.files.reader import read_shard_records
from keras_mmel.text.files.reader import shard_paths
from keras_mmel.text.files.records import Record
from keras_mmel.text.files.writer import Progress
from keras_mmel.text.files.writer import Written
from keras_mmel.text.files.writer import write_records


def rewrite(
    directory: str | pathlib.Path,
    out: str | pathlib.Path,
    function: Callable[[Iterator[Record]], Iterator[Record]],
    *,
    made: dict,
    shard: tuple[int, int] | None = None,
    progress: Progress = True,
) -> Written:
    """Write changed records of a directory into another one.

    Shards are made one by one, each whole or not at all; a run that was
    stopped goes on where it stopped, as `write_augmented` does.

    Args:
        directory: a complete directory of augmented examples.
        out: of the new files; another directory.
        function: called once for each shard with an iterator over its
            records; returns an iterator over as many, with the same ids in
            the same order. It must not depend on other shards.
        made: plain values that tell what `function` does; put beside, or in
            place of, what the files of `directory` tell of themselves.
        shard: `(i, n)` to write the i-th of n parts only, counted from 0.
        progress: as in `write_augmented`.

    Returns:
        A `Written`: how many shards were made, and which are still missing.

    Raises:
        ValueError: if a shard of `directory` is missing or damaged, `out` is
            the same or belongs to a run with other settings, or `function`
            changes the ids.
        OSError: if the disk is full; no half file is left.

    Example:

    ```python
    import dataclasses

    from keras_mmel.text.files import rewrite

    def without_views(records):
        for record in records:
            yield dataclasses.replace(record, views=())

    rewrite("augmented", "plain", without_views, made={"views": "none"})
    ```
    """
    directory, out = pathlib.Path(directory), pathlib.Path(out)
    if out.resolve() == directory.resolve():
        raise ValueError(
            "`out` must be another directory than `directory`. "
            f"Received: out={str(out)!r}"
        )
    manifest = read_manifest(directory)
    paths = shard_paths(directory)
    path_of = dict(zip(manifest.ranges(), paths, strict=True))

    def records(ranges, tick):
        for numbers in ranges:
            path = path_of[numbers]
            count = len(numbers)
            before = read_shard_records(path, count, manifest)
            for record in _same_ids(before, function, path, count):
                yield record
                tick(1)

    return write_records(
        out,
        records,
        num_examples=manifest.num_examples,
        num_texts=manifest.num_texts,
        label_kind=manifest.label_kind,
        label_names=manifest.label_names,
        made=manifest.made | made,
        num_shards=manifest.num_shards,
        shard=shard,
        split=manifest.split,
        progress=progress,
    )


def _same_ids(before, function, path, count):
    given, kept = itertools.tee(before)
    changed = iter(function(given))
    for number, record in enumerate(kept, start=1):
        new = next(changed, None)
        if new is None or new.example_id != record.example_id:
            received = "no record" if new is None else repr(new.example_id)
            raise ValueError(
                "`function` must give a record for each that it gets, with "
                f"the same id. Received: {received} for "
                f"{record.example_id!r} of {path.name!r}"
            )
        # Before the last one is given away: the shard is complete with it.
        if number == count and next(changed, None) is not None:
            raise ValueError(
                "`function` must give one record for each that it gets. "
                f"Received: more than those of {path.name!r}"
            )
        yield new
