import errno
import os
import subprocess

import pytest
import tensorflow as tf

from keras_mmel.text.files import shards

RECORDS = [bytes([n]) * (100 + n) for n in range(200)]


def read(path, count=200):
    return list(shards.read_shard(path, count))


def test_written_shard_is_read_back(tmp_path):
    path = tmp_path / "shard"

    def records():
        yield from RECORDS
        assert not path.exists()

    shards.write_shard(path, records())
    assert read(path) == RECORDS
    assert os.listdir(tmp_path) == ["shard"]


def test_either_of_two_writers_is_right(tmp_path):
    """The first may even clear the hidden file of the second away."""
    path = tmp_path / "shard"

    def records():
        yield from RECORDS
        shards.write_shard(path, iter(RECORDS))
        for name in os.listdir(tmp_path):
            if shards.is_left_over(name):
                (tmp_path / name).unlink()

    shards.write_shard(path, records())
    assert os.listdir(tmp_path) == ["shard"]
    assert read(path) == RECORDS


def test_every_flipped_bit_is_found(tmp_path):
    path = tmp_path / "augmented-train.tfrecord-00002-of-00009"
    shards.write_shard(path, iter(RECORDS))
    content = path.read_bytes()
    for place in (0, 5, 9, 12, 50, len(content) // 2, len(content) - 1):
        damaged = bytearray(content)
        damaged[place] ^= 4
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="-00002-of-00009' is damaged"):
            read(path)


@pytest.mark.parametrize("cut", [1, 16, 116, 299, 315, 20000])
def test_cut_shard_is_found(tmp_path, cut):
    # The last record takes 299 + 16 bytes; 315 end on a whole record.
    path = tmp_path / "shard"
    shards.write_shard(path, iter(RECORDS))
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(ValueError, match="'shard' is damaged"):
        read(path)


def test_wrong_number_of_records_is_found(tmp_path):
    path = tmp_path / "shard"
    for records in (RECORDS[:-1], [*RECORDS, b"more"], []):
        shards.write_shard(path, iter(records))
        message = f"{len(records)} records where 200 belong"
        with pytest.raises(ValueError, match=message):
            read(path)


class FullWriter:
    """A TFRecord writer whose disk is full after three records."""

    def __init__(self, path):
        self.room = 3
        with open(path, "wb") as file:
            file.write(b"half a record")

    def write(self, record):
        self.room -= 1
        if self.room < 0:
            raise tf.errors.ResourceExhaustedError(None, None, "disk is full")

    def close(self):
        pass


def fsync_of_a_full_disk(descriptor):
    raise OSError(errno.ENOSPC, "disk is full")


@pytest.mark.parametrize(
    ("module", "name", "full"),
    [
        (tf.io, "TFRecordWriter", FullWriter),
        (os, "fsync", fsync_of_a_full_disk),
    ],
)
def test_full_disk_leaves_nothing(tmp_path, monkeypatch, module, name, full):
    monkeypatch.setattr(module, name, full)
    with pytest.raises(OSError, match="disk is full"):
        shards.write_shard(tmp_path / "shard", iter(RECORDS))
    assert os.listdir(tmp_path) == []


def test_failing_augmenter_is_no_full_disk(tmp_path):
    def records():
        yield RECORDS[0]
        raise tf.errors.ResourceExhaustedError(None, None, "out of memory")

    with pytest.raises(tf.errors.ResourceExhaustedError, match="memory"):
        shards.write_shard(tmp_path / "shard", records())
    assert os.listdir(tmp_path) == []


@pytest.fixture
def tiny_disk(tmp_path):
    """A folder on a disk of 64 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no mount here")
    if done.returncode:
        pytest.skip("only the administrator may mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("count", [300, 400, 500])
def test_really_full_disk_leaves_nothing(tiny_disk, count):
    shards.write_shard(tiny_disk / "fits", iter(RECORDS[:50]))
    with pytest.raises(OSError, match="No space left"):
        shards.write_shard(tiny_disk / "does-not", iter((RECORDS * 3)[:count]))
    assert os.listdir(tiny_disk) == ["fits"]
    assert read(tiny_disk / "fits", 50) == RECORDS[:50]
