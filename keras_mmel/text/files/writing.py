"""Write examples with their views into files, and go on where it stopped."""

import contextlib
import dataclasses
import itertools
import os
from collections.abc import Callable
from collections.abc import Iterator

from keras_mmel import extras
from keras_mmel.text.files import shards
from keras_mmel.text.files.directory import DATASET_INFO
from keras_mmel.text.files.directory import Manifest
from keras_mmel.text.files.directory import begin
from keras_mmel.text.files.directory import finish
from keras_mmel.text.files.format import encode
from keras_mmel.text.sources.records import Record
from keras_mmel.text.sources.records import Source
from keras_mmel.text.sources.records import View
from keras_mmel.text.sources.records import as_text

EXAMPLES_A_SHARD = 512
"""The most examples in a shard, where nobody says how many shards to make.

What a killed run has to do again is one shard at the most.
"""

# Originals are tokenized in blocks: the library does it on all cores.
_BLOCK = 128


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


def write_augmented(
    directory: str | os.PathLike,
    source: Source,
    augmenter=None,
    *,
    num_shards: int | None = None,
    shard: tuple[int, int] | None = None,
    split: str = "train",
    progress: bool = True,
) -> Written:
    """Augments a data set into a directory that TFDS reads by itself.

    A run that was stopped at any moment goes on when the same call is made
    again, and ends with the same files, byte for byte. Several processes or
    machines can share the work: each takes its `shard`, in one directory, or
    in directories whose shards are copied into one; the same call then
    finishes it.

    Args:
        directory: Of the files; new, empty, or of an earlier such run.
        source: The examples, such as `from_csv` gives.
        augmenter: A `MaskedLMAugmenter`, or anything with its `tokenizer`,
            `max_length`, `get_config` and `augment_stream`. `None` writes the
            views that the records of `source` have, such as those of
            `sources.from_long`; token ids are then made when the files are
            read.
        num_shards: Number of files; one for each 512 examples where it is
            `None`.
        shard: `(i, n)` to write the i-th of n parts only, counted from 0.
        split: Name of the split, as TFDS will call it.
        progress: Whether to show a bar with sentences a second and the time
            left.

    Returns:
        A `Written`: how many shards were made, and which are still missing.

    Raises:
        ValueError: If the directory is that of a run with other settings,
            which are named, or a setting is out of its range.
        OSError: If the disk is full; no half file is left.

    Example:

    ```python
    from keras_mmel.text import MaskedLMAugmenter
    from keras_mmel.text import load_masked_lm
    from keras_mmel.text import write_augmented
    from keras_mmel.text.files import from_csv

    source = from_csv("reviews.csv", text=["review"], label="stars")
    augmenter = MaskedLMAugmenter(load_masked_lm("hf://bert-base-uncased"))
    write_augmented("reviews_augmented", source, augmenter)
    ```
    """

    def augment(records):
        ahead, behind = itertools.tee(records)
        stream = ((one.example_id, one.texts) for one in ahead)
        samples = augmenter.augment_stream(stream)
        pairs = zip(behind, samples, strict=True)
        while block := list(itertools.islice(pairs, _BLOCK)):
            texts = [as_text(record.texts) for record, _ in block]
            encoded = augmenter.tokenizer.encode(texts, augmenter.max_length)
            for (record, views), own in zip(block, encoded, strict=True):
                yield dataclasses.replace(
                    record,
                    token_ids=tuple(own.token_ids),
                    views=tuple(map(_view, views)),
                )

    # Whoever reads the files looks there for the tokenizer of the ids.
    made_by = {"name": "imported", "tokenizer": None}
    if augmenter is not None:
        made_by = augmenter.get_config()
    return write_records(
        directory,
        source,
        iter if augmenter is None else augment,
        made={"source": source.describe(), "augmenter": made_by},
        num_shards=num_shards,
        shard=shard,
        split=split,
        progress=progress,
    )


def write_records(
    directory: str | os.PathLike,
    source: Source,
    function: Callable[[Iterator[Record]], Iterator[Record]],
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
    if num_shards is None:
        num_shards = count_shards(source)
    manifest = Manifest(
        split,
        len(source),
        num_shards,
        source.num_texts,
        source.label_kind,
        source.label_names,
        made,
    )
    names = list(manifest.shards().items())
    mine = [names[index] for index in part(shard, num_shards)]
    begin(directory, manifest)
    missing = manifest.missing(directory)
    todo = [pair for pair in mine if pair[0] in set(missing)]
    total = sum(len(numbers) for _, numbers in mine)
    done = total - sum(len(numbers) for _, numbers in todo)
    num_classes = source.label_names and len(source.label_names)

    if todo:
        # It says that the directory is whole.
        (directory / DATASET_INFO).unlink(missing_ok=True)
        with progress_bar(source, total, done, progress) as count:

            def serialized(numbers):
                for record in _changed(source, function, numbers):
                    yield encode(record, source.label_kind, num_classes)
                    count(1)
                # Another run may have taken over what had no shard yet.
                begin(directory, manifest)

            for name, numbers in todo:
                shards.write_shard(directory / name, serialized(numbers))
        missing = manifest.missing(directory)
    if not missing:
        finish(directory, manifest)
    return Written(len(todo), num_shards, missing)


def count_shards(source: Source) -> int:
    """Gives the number of shards where nobody says how many to make."""
    return -(-len(source) // EXAMPLES_A_SHARD)


def _view(sample):
    texts = (sample.text,) if isinstance(sample.text, str) else sample.text
    return View(tuple(texts), sample.token_ids, sample.positions)


def _changed(source, function, numbers):
    """Gives the records of one shard, one for each example with its id."""
    given, kept = itertools.tee(source.read(numbers.start, numbers.stop))
    for example, record in itertools.zip_longest(kept, function(given)):
        ids = [getattr(one, "example_id", None) for one in (example, record)]
        if ids[0] != ids[1]:
            raise ValueError(
                "There must be a record for each example, with its id. "
                f"Received: {ids[1]!r} for {ids[0]!r}"
            )
        yield record


def part(shard: tuple[int, int] | None, num_shards: int) -> range:
    """Gives the numbers of the shards of a part; all where it is `None`."""
    index, parts = shard or (0, 1)
    if not 0 <= index < parts <= num_shards:
        raise ValueError(
            "`shard` must be (i, n) with 0 <= i < n <= the number of shards, "
            f"{num_shards}. Received: shard={shard!r}"
        )
    return range(num_shards * index // parts, num_shards * (index + 1) // parts)


@contextlib.contextmanager
def progress_bar(
    source: Source, total: int, done: int = 0, progress: bool = True
) -> Iterator[Callable[[int], object]]:
    """Shows how many sentences are done, if it is to, in all and in a second.

    Yields a function to call with a number of examples that got done.
    """
    if not progress:
        yield lambda count: None
        return
    with extras.need("tqdm", "text").tqdm(
        total=total * source.num_texts,
        initial=done * source.num_texts,
        unit=" sentences",
        smoothing=0.05,
        dynamic_ncols=True,
    ) as bar:
        yield lambda count: bar.update(count * source.num_texts)
