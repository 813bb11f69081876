"""Augment text on the workers of Apache Beam."""

import os
from collections.abc import Callable
from typing import Any

from keras_mmel import extras
from keras_mmel.text.files.augmenting import shard_writer
from keras_mmel.text.files.writing import make_manifest
from keras_mmel.text.sources.records import Source


def augment_on_beam(
    pipeline,
    directory: str | os.PathLike,
    source: Callable[[], Source],
    augmenter: Callable[[], Any],
    *,
    num_shards: int | None = None,
    split: str = "train",
):
    """Adds the steps to a pipeline that write a directory of augmented text.

    The files are those of `write_augmented`. A shard is an element: a worker
    takes one after the other, and what is there already is not made again.

    Args:
        pipeline: A `beam.Pipeline`.
        directory: Of the files, in a place that all workers share.
        source: Gives the examples; called once in each process of a worker,
            and here where `num_shards` is `None`.
        augmenter: Gives what augments them, such as a `MaskedLMAugmenter`;
            called once in each process.
        num_shards: As in `write_augmented`.
        split: As in `write_augmented`.

    Returns:
        The `PCollection` of what `write_augmented` returns for each shard.

    Raises:
        ImportError: If Apache Beam is not installed.

    Example:

    ```python
    import apache_beam
    from keras_mmel import text

    def source():
        return text.files.from_tfds("glue/cola", "train", "sentence")

    def augmenter():
        masked_lm = text.load_masked_lm("hf://google-bert/bert-base-uncased")
        return text.MaskedLMAugmenter(masked_lm)

    with apache_beam.Pipeline() as pipeline:
        text.augment_on_beam(pipeline, "augmented", source, augmenter)
    ```
    """
    beam: Any = extras.need("apache_beam", "beam")
    sharing: Any = extras.need("apache_beam.utils.shared", "beam")
    if num_shards is None:
        num_shards = make_manifest(source(), None, split, made={}).num_shards

    def make_writer():
        options = {"num_shards": num_shards, "split": split}
        return shard_writer(directory, source(), augmenter, **options)

    return (
        pipeline
        | "Shards" >> beam.Create([(i, num_shards) for i in range(num_shards)])
        | "Spread" >> beam.Reshuffle()
        | "Augment" >> beam.Map(_write_shard, sharing.Shared(), make_writer)
    )


def _write_shard(shard, shared_writer, make_writer):
    """Writes a shard with what is made once in a process and stays there."""
    return shared_writer.acquire(make_writer)(shard=shard)
