"""Read the files of augmented examples as plain Python values."""

import pathlib
from collections.abc import Iterator

from keras_mmel.text.files import shards
from keras_mmel.text.files.directory import Manifest
from keras_mmel.text.files.directory import missing_shards
from keras_mmel.text.files.directory import read_manifest
from keras_mmel.text.files.format import decode
from keras_mmel.text.files.records import Record


def shard_paths(directory: str | pathlib.Path) -> list[pathlib.Path]:
    """The shard files of a directory, in order.

    Args:
        directory: written by `write_augmented` or `rewrite`.

    Returns:
        Paths of TFRecord files, all of which are there.

    Raises:
        FileNotFoundError: if the directory holds no augmented examples.
        ValueError: if shards are missing.
    """
    directory = pathlib.Path(directory)
    manifest = read_manifest(directory)
    missing = missing_shards(directory, manifest)
    if missing:
        raise ValueError(
            "`directory` must be complete; run the command that makes it "
            f"again. Received: directory={str(directory)!r}, which lacks "
            f"{len(missing)} of {manifest.num_shards} shards, the first "
            f"{missing[0]!r}"
        )
    return [directory / name for name in manifest.shard_names()]


def read_records(directory: str | pathlib.Path) -> Iterator[Record]:
    """The examples of a directory with their views, in order.

    Args:
        directory: written by `write_augmented` or `rewrite`.

    Yields:
        One `Record` an example; one shard is open at a time.

    Raises:
        FileNotFoundError: if the directory holds no augmented examples.
        ValueError: if a shard is missing or damaged; it is named.

    Example:

    ```python
    from keras_mmel.text.files import read_records

    for record in read_records("reviews_augmented"):
        print(record.example_id, record.texts, len(record.views))
    ```
    """
    manifest = read_manifest(directory)
    for path, numbers in zip(
        shard_paths(directory), manifest.ranges(), strict=True
    ):
        yield from read_shard_records(path, len(numbers), manifest)


def read_shard_records(
    path: pathlib.Path, num_records: int, manifest: Manifest
) -> Iterator[Record]:
    """The records of one shard, in order; see `read_records`."""
    for serialized in shards.read_shard(path, num_records):
        yield decode(serialized, manifest.label_kind, manifest.num_texts)


def check_shards(directory: str | pathlib.Path) -> None:
    """Read all shards of a directory to see whether they are whole.

    Args:
        directory: written by `write_augmented` or `rewrite`.

    Raises:
        FileNotFoundError: if the directory holds no augmented examples.
        ValueError: if a shard is missing or damaged; it is named.
    """
    ranges = read_manifest(directory).ranges()
    for path, numbers in zip(shard_paths(directory), ranges, strict=True):
        shards.check_shard(path, len(numbers))
