"""Augment the examples of a source into files, in one process or several."""

import dataclasses
import functools
import itertools
import os

from keras_mmel.counts import check_count
from keras_mmel.text.files import shards
from keras_mmel.text.files import writing
from keras_mmel.text.files.directory import finish
from keras_mmel.text.files.processes import write_in_processes
from keras_mmel.text.files.reader import AugmentedFiles
from keras_mmel.text.sources.records import Source
from keras_mmel.text.sources.records import View
from keras_mmel.text.sources.records import as_text


def write_augmented(
    directory: str | os.PathLike,
    source: Source,
    augmenter=None,
    *,
    num_shards: int | None = None,
    shard: tuple[int, int] | None = None,
    split: str = "train",
    processes: int = 1,
    progress: bool = True,
) -> writing.Written:
    """Augments a data set into a directory that TFDS reads by itself.

    A run that was stopped at any moment goes on when the same call is made
    again, and ends with the same files, byte for byte. Several `processes` of
    this machine may share the work, and several machines: each takes its
    `shard`, in one directory, or in directories whose shards are copied into
    one; the same call then finishes it.

    Args:
        directory: Of the files; new, empty, or of an earlier such run.
        source: The examples, such as `from_csv` gives.
        augmenter: A `MaskedLMAugmenter`, or anything with its `tokenizer`,
            `max_length`, `get_config` and `augment_stream`; or a function
            without arguments that makes one. `None` writes the views that the
            records of `source` have, such as those of `from_long`;
            token ids are then made when the files are read.
        num_shards: Number of files; one for each 512 examples where it is
            `None`.
        shard: `(i, n)` to write the i-th of n parts only, counted from 0.
        split: Name of the split, as TFDS will call it.
        processes: Number of processes, each of which takes the next file when
            it is free. With more than 1, `source` and `augmenter` are sent to
            them by pickle, and the cores are shared out. A function as
            `augmenter`, at the top level of a module, is called in each of
            them and not here: one model less in memory. The script that
            starts them begins at `if __name__ == "__main__":`.
        progress: Whether to show a bar with sentences a second and the time
            left; and in the end how many examples have fewer samples than
            asked for, and the share of words that the masked LM does not know.

    Returns:
        A `Written`: how many shards were made, and which are still missing.

    Raises:
        ValueError: If the directory is that of a run with other settings,
            which are named, a setting is out of its range, or records have
            views already and there is an augmenter.
        OSError: If the disk is full; no half file is left.
        TypeError: If `source` or `augmenter` is none, or pickle cannot send
            them to processes.
        ChildProcessError: If one of several processes was killed; all are
            ended then, as they are by Ctrl-C.

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

    In two processes:

    ```python
    def make_augmenter():
        return MaskedLMAugmenter(load_masked_lm("hf://bert-base-uncased"))

    if __name__ == "__main__":
        write_augmented("augmented", source, make_augmenter, processes=2)
    ```
    """
    if not hasattr(source, "describe"):
        raise TypeError(
            "`source` must be what `keras_mmel.text.files` makes of data, as "
            "`from_columns(data, texts, label)` or `InMemory(records)`. "
            f"Received: source of type {type(source).__name__}"
        )
    is_maker = callable(augmenter) and not hasattr(augmenter, "backbone")
    if not (
        augmenter is None or is_maker or hasattr(augmenter, "augment_stream")
    ):
        raise TypeError(
            "`augmenter` must be one, as `MaskedLMAugmenter(masked_lm)`, or a "
            "function that makes it. "
            f"Received: augmenter of type {type(augmenter).__name__}"
        )
    if progress:
        for note in getattr(source, "notes", ()):
            print(f"Note: {note}.", flush=True)
    make_writer = functools.partial(
        _make_writer,
        directory,
        source,
        augmenter,
        num_shards=num_shards,
        split=split,
    )
    if check_count("processes", processes, 1) == 1:
        written = make_writer(progress=progress)(shard=shard)
    else:
        # Only the processes know what the augmenter is.
        manifest = writing.make_manifest(source, num_shards, split, made={})
        sizes = _sizes(manifest, shard)
        total = sum(sizes.values())
        with writing.progress_bar(source, total, 0, progress) as bar:
            results = write_in_processes(
                functools.partial(make_writer, progress=False),
                list(sizes),
                processes,
                lambda part: bar.update(sizes[part] * source.num_texts),
            )
        num_written = sum(result.num_written for result in results)
        missing = finish(shards.as_path(directory), manifest)
        written = writing.Written(num_written, manifest.num_shards, missing)
    if progress and not written.missing:
        if line := AugmentedFiles(directory).describe_samples():
            print(line, flush=True)
    return written


def _sizes(manifest, shard):
    """How many examples each shard has that is to be written, by its share."""
    own = manifest.shards(shard)
    return {
        (index, manifest.num_shards): len(own[name])
        for index, name in enumerate(manifest.shards())
        if name in own
    }


def _make_writer(directory, source, augmenter, **options):
    """Makes what writes one shard after the other, here or in a process.

    The arguments are those of `write_augmented`; a function as `augmenter` is
    called here, once. What is made is a function of `shard`.
    """
    if callable(augmenter):
        augmenter = augmenter()
    if augmenter is None:
        function = iter
        # Whoever reads the files looks there for the tokenizer of the ids.
        made_by = {"name": "imported", "tokenizer": None}
    else:
        function = functools.partial(_augment, augmenter)
        made_by = augmenter.get_config()
    made = {"source": source.describe(), "augmenter": made_by}
    return functools.partial(
        writing.write_records, directory, source, function, made=made, **options
    )


def _augment(augmenter, records):
    """Gives records with the views and the token ids of an augmenter."""
    ahead, behind = itertools.tee(records)
    stream = ((record.example_id, record.texts) for record in ahead)
    sample_lists = augmenter.augment_stream(stream)
    for record, samples in zip(behind, sample_lists, strict=True):
        if record.views:
            raise ValueError(
                "`source` must have no views where an `augmenter` makes some; "
                "`augmenter=None` writes those that are there. Received: "
                f"{len(record.views)} views of example {record.example_id!r}"
            )
        texts = [as_text(record.texts)]
        (original,) = augmenter.tokenizer.encode(texts, augmenter.max_length)
        token_ids = tuple(original.token_ids)
        views = tuple(map(_view, samples))
        yield dataclasses.replace(record, token_ids=token_ids, views=views)


def _view(sample):
    texts = (sample.text,) if isinstance(sample.text, str) else sample.text
    return View(tuple(texts), sample.token_ids, sample.positions)
