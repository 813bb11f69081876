"""Read the files of augmented examples as plain Python values."""

import collections
import itertools
import os
from collections.abc import Iterator

from keras_mmel.text.files import shards
from keras_mmel.text.files.directory import read_manifest
from keras_mmel.text.files.format import Columns
from keras_mmel.text.files.format import decode
from keras_mmel.text.files.format import decode_columns
from keras_mmel.text.sources.records import Record


class AugmentedFiles:
    """A complete directory of augmented examples, as a source.

    Args:
        directory: A directory that `write_augmented` wrote.

    Attributes:
        manifest: How the files were made.

    Raises:
        FileNotFoundError: If the directory holds no augmented examples.
        ValueError: If shards are missing.
    """

    def __init__(self, directory: str | os.PathLike):
        self._directory = shards.as_path(directory)
        self.manifest = read_manifest(directory)
        self.num_texts = self.manifest.num_texts
        self.label_kind = self.manifest.label_kind
        self.label_names = self.manifest.label_names
        missing = self.manifest.missing(self._directory)
        if missing:
            raise ValueError(
                "`directory` must be complete; run the command that makes it "
                f"again. Received: {str(directory)!r}; it lacks {len(missing)} "
                f"of {self.manifest.num_shards} shards, first {missing[0]!r}"
            )

    def __len__(self) -> int:
        return self.manifest.num_examples

    def read(self, start: int, stop: int) -> Iterator[Record]:
        """Reads the examples from number `start` up to `stop`, in order.

        Args:
            start: Number of the first example, from 0.
            stop: Number behind the last one; beyond the end is no error.

        Yields:
            One `Record` an example.

        Raises:
            ValueError: If a shard is damaged; it is named.
        """
        for name, numbers in self.manifest.shards().items():
            if numbers.start >= stop or numbers.stop <= start:
                continue
            records = shards.read_shard(self._directory / name, len(numbers))
            for number, serialized in enumerate(records, numbers.start):
                if start <= number < stop:
                    yield decode(serialized, self.label_kind, self.num_texts)

    def read_columns(self, size: int) -> Iterator[Columns]:
        """Reads all examples as columns.

        Args:
            size: How many examples at a time.

        Yields:
            `Columns` of the examples, in order.

        Raises:
            ValueError: If a shard is damaged; it is named.
        """
        for name, numbers in self.manifest.shards().items():
            records = shards.read_shard(self._directory / name, len(numbers))
            while some := list(itertools.islice(records, size)):
                yield decode_columns(some, self.label_kind)

    @property
    def fingerprint(self) -> str:
        """A text that changes with the manifest and with any shard."""
        facts = [self.manifest.to_json()]
        for name in self.manifest.shards():
            stat = (self._directory / name).stat()
            # On a disk and in an object store.
            time = getattr(stat, "mtime", None) or stat.st_mtime_ns
            facts.append(f"{shards.size_of(self._directory / name)} {time}")
        return "\n".join(facts)

    def describe(self) -> dict:
        """Tells how the files were made."""
        return self.manifest.made

    @property
    def unk_id(self) -> int | None:
        """The id of words that the masked LM does not know, where there is."""
        return self.manifest.made.get("augmenter", {}).get("unk_id")

    def describe_samples(self) -> str:
        """Tells how many samples there are less than were asked for.

        Returns:
            A sentence, or "" where no `MaskedLMAugmenter` made the samples.
        """
        if self.unk_id is None:
            return ""
        asked = self.manifest.made["augmenter"]["num_augmented"]
        views, ids = collections.Counter(), collections.Counter()
        for record in self.read(0, len(self)):
            views[len(record.views)] += 1
            # The first and the last one are [CLS] and [SEP].
            ids.update(i == self.unk_id for i in record.token_ids[1:-1])
        fewer = sum(count for num, count in views.items() if num < asked)
        return (
            f"{fewer} of {len(self)} examples have fewer samples than asked, "
            f"{views[0]} none; unknown tokens: "
            f"{100 * ids[True] / max(ids.total(), 1):.1f} %."
        )


def read_records(directory: str | os.PathLike) -> Iterator[Record]:
    """Reads the examples of a directory with their views, in order.

    Args:
        directory: A directory that `write_augmented` wrote.

    Yields:
        One `Record` an example; one shard is open at a time.

    Raises:
        FileNotFoundError: If the directory holds no augmented examples.
        ValueError: If a shard is missing or damaged; it is named.

    Example:

    ```python
    from keras_mmel.text.files import read_records

    for record in read_records("reviews_augmented"):
        print(record.example_id, record.texts, len(record.views))
    ```
    """
    files = AugmentedFiles(directory)
    yield from files.read(0, len(files))
