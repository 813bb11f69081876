"""Augment the examples of a source into a directory of files."""

import itertools
import pathlib
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence

from keras_mmel.text.augmentation.augmented import Augmented
from keras_mmel.text.files.records import Example
from keras_mmel.text.files.records import Record
from keras_mmel.text.files.records import Source
from keras_mmel.text.files.records import View
from keras_mmel.text.files.writer import Progress
from keras_mmel.text.files.writer import Tick
from keras_mmel.text.files.writer import Written
from keras_mmel.text.files.writer import write_records

# Originals are tokenized in blocks: the library does it on all cores.
_BLOCK = 128


def write_augmented(
    directory: str | pathlib.Path,
    source: Source,
    augmenter,
    *,
    num_shards: int | None = None,
    shard: tuple[int, int] | None = None,
    split: str = "train",
    label_names: Sequence[str] | None = None,
    progress: Progress = True,
) -> Written:
    """Augment a data set into a directory that TFDS reads by itself.

    A run that was stopped at any moment goes on when the same call is made
    again, and ends with the same files, byte for byte. Several processes or
    machines can share the work: each takes its `shard`, in one directory, or
    in directories whose files are copied into one; the same call then
    finishes it. Memory does not grow with the
    data set.

    Args:
        directory: of the files; new, empty, or of an earlier such run.
        source: the examples, such as `from_csv` gives.
        augmenter: a `MaskedLMAugmenter`, or anything with its `tokenizer`,
            `max_length`, `get_config` and `augment_stream`.
        num_shards: number of files; one for each 512 examples where it is
            `None`.
        shard: `(i, n)` to write the i-th of n parts only, counted from 0.
        split: name of the split, as TFDS will call it.
        label_names: names of the classes; those of the source where it is
            `None`.
        progress: `True` for a bar with sentences a second and the time left,
            `False` for silence, or a function that is called with the number
            of examples that are done and of all.

    Returns:
        A `Written`: how many shards were made, and which are still missing.

    Raises:
        ValueError: if the directory belongs to a run with other settings,
            which are named, or a setting is out of its range.
        OSError: if the disk is full; no half file is left.

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

    def records(ranges: Sequence[range], tick: Tick) -> Iterator[Record]:
        # Each shard by itself: rounding in the last bit of a log-probability
        # depends on what is computed together, and after a stop that must be
        # what it would have been without.
        for numbers in ranges:
            examples = source.read(numbers.start, numbers.stop)
            yield from _records(examples, augmenter, tick)

    names = label_names or source.label_names
    return write_records(
        directory,
        records,
        num_examples=len(source),
        num_texts=source.num_texts,
        label_kind=source.label_kind,
        label_names=names,
        made={
            "source": source.describe(),
            "augmenter": augmenter.get_config(),
        },
        num_shards=num_shards,
        shard=shard,
        split=split,
        progress=progress,
    )


def _records(examples: Iterable[Example], augmenter, tick):
    ahead, behind = itertools.tee(examples)
    stream = ((one.example_id, one.texts) for one in ahead)
    samples = augmenter.augment_stream(stream, on_progress=tick)
    pairs = zip(behind, samples, strict=True)
    while block := list(itertools.islice(pairs, _BLOCK)):
        texts = [_as_text(example.texts) for example, _ in block]
        encoded = augmenter.tokenizer.encode(texts, augmenter.max_length)
        for (example, views), original in zip(block, encoded, strict=True):
            yield Record(
                example.example_id,
                example.texts,
                example.label,
                original.token_ids,
                tuple(map(_view, views)),
            )


def _view(sample: Augmented) -> View:
    text = sample.text
    texts = (text,) if isinstance(text, str) else tuple(text)
    return View(texts, sample.token_ids, sample.positions, sample.log_prob)


def _as_text(texts):
    return texts[0] if len(texts) == 1 else texts
