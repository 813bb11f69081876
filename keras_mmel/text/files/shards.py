"""Shards: files of records, written whole and read with care.

They lie on a disk or in an object store (`gs://`, `s3://`), whose files are
written and read through local ones.
"""

import contextlib
import errno
import os
import pathlib
import re
import tempfile
import uuid
from collections.abc import Iterable
from collections.abc import Iterator

import tensorflow as tf

from keras_mmel import extras

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
            "`directory` must be on a disk or in an object store: gs://, which "
            "TensorFlow reads, or s3:// and others of fsspec with its library "
            "(s3fs) and the environment variable EPATH_USE_TF=false. "
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

    An object store has an object whole or not at all. On a disk it is a hidden
    file, which a killed process leaves behind; `is_left_over` knows it. Every
    writer has a file of its own: where two make the same `path`, either is
    right.

    Args:
        path: The file that appears whole or not at all.

    Yields:
        The path of the file.
    """
    if _is_remote(path):
        with tempfile.TemporaryDirectory() as folder:
            temporary = pathlib.Path(folder, path.name)
            yield temporary
            path.write_bytes(temporary.read_bytes())
        return
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
        with _on_disk(path) as file:
            for batch in tf.data.TFRecordDataset(str(file)).batch(128):
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


def _is_remote(path):
    return "://" in os.fspath(path)


@contextlib.contextmanager
def _on_disk(path):
    """Gives a file that TensorFlow reads whatever the object store."""
    with contextlib.ExitStack() as stack:
        if _is_remote(path):
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            local = pathlib.Path(folder, path.name)
            local.write_bytes(path.read_bytes())
            path = local
        yield path


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
