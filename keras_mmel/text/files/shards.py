"""Shards: files of records, written whole and read with care.

They lie on a disk or in an object store (`gs://`, `s3://`), whose files are
written and read through local ones.
"""

import contextlib
import errno
import itertools
import os
import pathlib
import re
import tempfile
from collections.abc import Iterable
from collections.abc import Iterator

import tensorflow as tf

from keras_mmel import extras
from keras_mmel import whole_files

FRAME_BYTES = 8 + 4 + 4
"""Length, its checksum and the checksum of the content, around each record."""


def as_path(directory: str | os.PathLike) -> pathlib.Path:
    """Gives a path on a disk, or in an object store that can be reached."""
    if not _is_remote(directory):
        return pathlib.Path(directory)
    epath = extras.need("etils.epath", "text")
    try:
        path = epath.Path(directory)
        path.exists()
    except (KeyError, tf.errors.UnimplementedError):
        raise ValueError(
            "`directory` must be on a disk, or in an object store of "
            "etils.epath: gs://, or s3://, az:// and hf:// with their library "
            "of fsspec (such as s3fs) and EPATH_USE_TF=false set. "
            f"Received: directory={os.fspath(directory)!r}"
        ) from None
    return path


def names_in(directory: pathlib.Path) -> list[str]:
    """Lists what is in a directory; in an object store an empty one is none."""
    if not directory.exists():
        return []
    return sorted(path.name for path in directory.iterdir())


def size_of(path: pathlib.Path) -> int:
    """Gives the size of a file in bytes."""
    stat = path.stat()
    return getattr(stat, "length", None) or stat.st_size


@contextlib.contextmanager
def replacing(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Gives a file to write into, which becomes `path` at the end.

    On a disk it is that of `whole_files.replacing`, and either of two writers
    of the same `path` is right. An object store has an object whole or not at
    all; there it is a file on the disk that is copied at the end.

    Args:
        path: The file that appears whole or not at all.

    Yields:
        The path of the file to write.
    """
    if _is_remote(path):
        with tempfile.TemporaryDirectory() as folder:
            local = pathlib.Path(folder, path.name)
            yield local
            path.write_bytes(local.read_bytes())
        return
    try:
        with whole_files.replacing(path) as half:
            yield half
    except FileNotFoundError:
        # Whoever finishes a directory clears it of hidden files: those of a
        # slower writer of the same `path`, too, which has nothing to add.
        if not path.exists():
            raise


def write_text(path: pathlib.Path, text: str) -> None:
    """Writes a small file that appears whole or not at all.

    Args:
        path: The file.
        text: All that is to be in it.
    """
    with replacing(path) as half:
        half.write_text(text, encoding="utf-8")


def write_shard(path: pathlib.Path, records: Iterable[bytes]) -> None:
    """Writes records into a TFRecord file that appears whole or not at all.

    Args:
        path: The shard's file.
        records: Serialized records.

    Raises:
        OSError: If the disk is full; nothing is left behind.
    """
    with replacing(path) as half:
        writer = tf.io.TFRecordWriter(str(half))
        try:
            for record in records:
                # Around this alone: making a record may fail too, and that is
                # no matter of the disk.
                with _as_os_error(path):
                    writer.write(record)
        finally:
            with _as_os_error(path):
                writer.close()


def read_shard(path: pathlib.Path, num_records: int) -> Iterator[bytes]:
    """Reads the serialized records of a shard.

    Args:
        path: The shard's file.
        num_records: How many there must be.

    Yields:
        The records in order.

    Raises:
        ValueError: If the shard is damaged; it is named.
    """
    num_read = 0
    try:
        with _on_disk(path) as file:
            # One by one TensorFlow would take several times as long.
            batches = tf.data.TFRecordDataset(str(file)).batch(128)
            records = itertools.chain.from_iterable(batches.as_numpy_iterator())
            for record in records:
                num_read += 1
                yield record
    except tf.errors.DataLossError as error:
        # Records come in batches: the damaged one is among the next.
        place = re.search(r"corrupted record at \d+", error.message)
        damage = place[0] if place else "a record is cut off"
        raise _damaged(path, f"behind record {num_read}, {damage}") from None
    if num_read != num_records:
        raise _damaged(path, f"{num_read} records where {num_records} belong")


def _is_remote(path):
    return "://" in os.fspath(path)


@contextlib.contextmanager
def _on_disk(path):
    """Gives a file on the disk; of an object store it is a copy.

    TensorFlow knows some object stores alone, epath all of fsspec's.
    """
    if not _is_remote(path):
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        local = pathlib.Path(folder, path.name)
        local.write_bytes(path.read_bytes())
        yield local


@contextlib.contextmanager
def _as_os_error(path):
    """Puts what TensorFlow says of a disk in Python's words."""
    try:
        yield
    except tf.errors.OpError as error:
        raise OSError(errno.EIO, error.message, str(path)) from error


def _damaged(path, damage):
    return ValueError(
        f"The shard {path.name!r} is damaged: {damage}. Delete it and run the "
        "command that made it again: it makes the missing shards alone. "
        f"Received: {str(path)!r}"
    )
