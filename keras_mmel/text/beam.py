"""Augment text on the workers of Apache Beam."""

import functools
import os
from collections.abc import Callable
from typing import Any

from keras_mmel import extras
from keras_mmel.text.augmentation.augmenter import MaskedLMAugmenter
from keras_mmel.text.files.writing import count_shards
from keras_mmel.text.files.writing import write_augmented
from keras_mmel.text.sources.records import Source

beam: Any = extras.need("apache_beam", "beam")
sharing: Any = extras.need("apache_beam.utils.shared", "beam")


def augment(
    pipeline,
    directory: str | os.PathLike,
    source: Callable[[], Source],
    augmenter: Callable[[], MaskedLMAugmenter],
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
        augmenter: Gives what augments them; called once in each process.
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
    from keras_mmel.text import beam

    def source():
        return text.files.from_tfds("glue/cola", "train", "sentence")

    def augmenter():
        masked_lm = text.load_masked_lm("hf://google-bert/bert-base-uncased")
        return text.MaskedLMAugmenter(masked_lm)

    with apache_beam.Pipeline() as pipeline:
        beam.augment(pipeline, "augmented", source, augmenter)
    ```
    """
    if num_shards is None:
        num_shards = count_shards(source())

    def make_writer():
        return functools.partial(
            write_augmented,
            directory,
            source(),
            augmenter(),
            num_shards=num_shards,
            split=split,
            progress=False,
        )

    return (
        pipeline
        | "Shards" >> beam.Create([(i, num_shards) for i in range(num_shards)])
        | "Spread" >> beam.Reshuffle()
        | "Augment" >> beam.ParDo(_Write(make_writer))
    )


class _Write(beam.DoFn):
    """Writes shards; what they need is made once in a process."""

    def __init__(self, make_writer):
        self._make_writer = make_writer
        self._shared = sharing.Shared()

    def setup(self):
        self._writer = self._shared.acquire(self._make_writer)

    def process(self, shard):
        yield self._writer(shard=shard)
