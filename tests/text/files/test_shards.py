import errno
import os
import resource

import pytest
import tensorflow as tf

from keras_mmel.text.files import shards
from keras_mmel.whole_files import is_left_over

RECORDS = [bytes([n]) * (100 + n) for n in range(200)]


def read(path, count=200):
    return list(shards.read_shard(path, count))


def test_either_of_two_writers_is_right(tmp_path):
    """The first may even clear the hidden file of the second away."""
    path = tmp_path / "shard"

    def records():
        yield from RECORDS
        assert not path.exists()
        shards.write_shard(path, iter(RECORDS))
        for name in os.listdir(tmp_path):
            if is_left_over(name):
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
        message = "-00002-of-00009' is damaged: behind record [0-9]+, [a-z]+ "
        with pytest.raises(ValueError, match=message):
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


@pytest.mark.parametrize("limit", [1000, 20000, 30000])
def test_full_disk_leaves_nothing(tmp_path, limit):
    """No file may be larger for a moment, as on a disk that is full."""
    _, highest = before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, highest))
    try:
        with pytest.raises(OSError, match="shard"):
            shards.write_shard(tmp_path / "shard", iter(RECORDS))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert os.listdir(tmp_path) == []


def test_disk_that_is_full_at_last_leaves_nothing(tmp_path, monkeypatch):
    def fsync(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="No space left"):
        shards.write_shard(tmp_path / "shard", iter(RECORDS))
    assert os.listdir(tmp_path) == []


def test_failing_augmenter_is_no_full_disk(tmp_path):
    def records():
        yield RECORDS[0]
        raise tf.errors.ResourceExhaustedError(None, None, "out of memory")

    with pytest.raises(tf.errors.ResourceExhaustedError, match="memory"):
        shards.write_shard(tmp_path / "shard", records())
    assert os.listdir(tmp_path) == []
