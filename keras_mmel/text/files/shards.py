"""Shards: files of records, written whole and read with care."""

import contextlib
import errno
import pathlib
import re
import shutil
from collections.abc import Iterable
from collections.abc import Iterator

import tensorflow as tf

from keras_mmel.text.files import atomic

# Length, its checksum and the checksum of the content, around each record.
_FRAME_BYTES = 8 + 4 + 4

# What TensorFlow makes of a full disk and of a file above the allowed size.
_NUMBERS = {
    tf.errors.ResourceExhaustedError: errno.ENOSPC,
    tf.errors.OutOfRangeError: errno.EFBIG,
}


def shard_name(split: str, index: int, num_shards: int) -> str:
    """Name of a shard's file, as TFDS expects it."""
    return f"augmented-{split}.tfrecord-{index:05d}-of-{num_shards:05d}"


def shard_ranges(num_examples: int, num_shards: int) -> list[range]:
    """Numbers of the examples in each shard; lengths differ by one at most."""
    ends = [num_examples * i // num_shards for i in range(num_shards + 1)]
    return [range(*pair) for pair in zip(ends, ends[1:], strict=False)]


def write_shard(path: pathlib.Path, records: Iterable[bytes]) -> None:
    """Write records into a TFRecord file that appears whole or not at all.

    They go into a hidden file beside it, which is flushed to the disk and
    renamed last.

    Args:
        path: the shard's file.
        records: serialized records.

    Raises:
        OSError: if the disk is full, or does not keep what it was given;
            nothing is left behind.
        ValueError: if another process is writing this shard.
    """
    with atomic.replacing(path) as temporary:
        size = 0
        file = tf.io.TFRecordWriter(str(temporary))
        try:
            for record in records:
                # Making the record may fail too, and that is another matter.
                with _as_os_error(path):
                    file.write(record)
                size += len(record) + _FRAME_BYTES
        finally:
            with _as_os_error(path):
                file.close()
        found = temporary.stat().st_size
        if found != size:
            raise OSError(
                errno.EIO, f"{found} bytes arrived of {size}", str(path)
            )


def copy_shard(source: pathlib.Path, path: pathlib.Path) -> None:
    """Copy a shard to a file that appears whole or not at all."""
    with atomic.replacing(path) as temporary:
        shutil.copyfile(source, temporary)


def read_shard(path: pathlib.Path, num_records: int) -> Iterator[bytes]:
    """The serialized records of a shard.

    Args:
        path: the shard's file.
        num_records: how many there must be.

    Yields:
        The records in order.

    Raises:
        ValueError: naming the shard, if it is damaged.
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
    except tf.errors.NotFoundError:
        raise FileNotFoundError(
            errno.ENOENT, "There is no such shard", str(path)
        ) from None
    if read != num_records:
        raise _damaged(path, f"{read} records where {num_records} belong")


def check_shard(path: pathlib.Path, num_records: int) -> int:
    """Read a shard to its end.

    Args:
        path: the shard's file.
        num_records: how many records there must be.

    Returns:
        Bytes of its records, their frames not counted.

    Raises:
        ValueError: naming the shard, if it is damaged.
    """
    return sum(map(len, read_shard(path, num_records)))


@contextlib.contextmanager
def _as_os_error(path):
    """What TensorFlow says of a disk, in Python's words."""
    try:
        yield
    except tf.errors.OpError as error:
        number = _NUMBERS.get(type(error), errno.EIO)
        raise OSError(number, error.message, str(path)) from error


def _damaged(path, what):
    return ValueError(
        f"The shard {path.name!r} is damaged: {what}. Delete it and run the "
        "command that made it again: it makes the missing shards alone. "
        f"Received: {str(path)!r}"
    )
