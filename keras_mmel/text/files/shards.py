"""Shards: files of records, written whole and read with care."""

import contextlib
import errno
import os
import pathlib
import re
import uuid
from collections.abc import Iterable
from collections.abc import Iterator

import tensorflow as tf

FRAME_BYTES = 8 + 4 + 4
"""Length, its checksum and the checksum of the content, around each record."""


@contextlib.contextmanager
def replacing(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Gives a hidden file to write into, which becomes `path` at the end.

    A killed process leaves its hidden file behind; `is_left_over` knows it.
    Every writer has a file of its own: where two make the same `path`, either
    is right.

    Args:
        path: The file that appears whole or not at all.

    Yields:
        The path of the hidden file.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        yield temporary
        try:
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except FileNotFoundError:
            # Who finishes a directory clears it of hidden files.
            if not path.exists():
                raise
    finally:
        temporary.unlink(missing_ok=True)


def is_left_over(name: str) -> bool:
    """Tells whether a file of this name was to become another one."""
    return name.startswith(".") and name.endswith(".tmp")


def write_text(path: pathlib.Path, text: str) -> None:
    """Writes a small file that appears whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_shard(path: pathlib.Path, records: Iterable[bytes]) -> None:
    """Writes records into a TFRecord file that appears whole or not at all.

    Args:
        path: The shard's file.
        records: Serialized records.

    Raises:
        OSError: If the disk is full; nothing is left behind.
    """
    with replacing(path) as temporary:
        file = tf.io.TFRecordWriter(str(temporary))
        try:
            for record in records:
                # Making the record may fail too, and that is another matter.
                with _as_os_error(path):
                    file.write(record)
        finally:
            with _as_os_error(path):
                file.close()


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
    read = 0
    try:
        for batch in tf.data.TFRecordDataset(str(path)).batch(128):
            for record in batch.numpy():
                read += 1
                yield record
    except tf.errors.DataLossError as error:
        # Records come in batches: the damaged one is among the next.
        place = re.search(r"corrupted record at \d+", error.message)
        what = place[0] if place else "a record is cut off"
        raise _damaged(path, f"behind record {read}, {what}") from None
    if read != num_records:
        raise _damaged(path, f"{read} records where {num_records} belong")


@contextlib.contextmanager
def _as_os_error(path):
    """Puts what TensorFlow says of a disk in Python's words."""
    try:
        yield
    except tf.errors.OpError as error:
        raise OSError(errno.EIO, error.message, str(path)) from error


def _damaged(path, what):
    return ValueError(
        f"The shard {path.name!r} is damaged: {what}. Delete it and run the "
        "command that made it again: it makes the missing shards alone. "
        f"Received: {str(path)!r}"
    )
