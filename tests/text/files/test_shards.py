import errno
import itertools
import os
import subprocess

import pytest
import tensorflow as tf

from keras_mmel.text.files import atomic
from keras_mmel.text.files import shards

RECORDS = [bytes([n]) * (100 + n) for n in range(200)]


def test_ranges_cover_all_examples_in_order():
    for examples, files in itertools.product(range(1, 30), range(1, 12)):
        ranges = shards.shard_ranges(examples, files)
        numbers = list(itertools.chain.from_iterable(ranges))
        assert numbers == list(range(examples))
        lengths = [len(one) for one in ranges]
        assert len(lengths) == files
        assert max(lengths) - min(lengths) <= 1


def test_written_shard_is_read_back(tmp_path):
    path = tmp_path / "shard"
    shards.write_shard(path, iter(RECORDS))
    assert list(shards.read_shard(path, 200)) == RECORDS
    assert shards.check_shard(path, 200) == sum(map(len, RECORDS))
    assert os.listdir(tmp_path) == ["shard"]


def test_nothing_is_to_be_seen_while_a_shard_is_written(tmp_path):
    path = tmp_path / "shard"

    def records():
        yield from RECORDS
        assert not path.exists()

    shards.write_shard(path, records())
    assert path.exists()


def test_second_writer_of_a_shard_is_refused(tmp_path):
    path = tmp_path / "shard"

    def records():
        with pytest.raises(ValueError, match="Another process is writing"):
            shards.write_shard(path, iter(RECORDS[:1]))
        yield from RECORDS

    shards.write_shard(path, records())
    assert list(shards.read_shard(path, 200)) == RECORDS


def test_left_over_of_a_killed_writer_is_no_obstacle(tmp_path):
    (tmp_path / ".shard.tmp").write_bytes(b"x" * 99999)
    shards.write_shard(tmp_path / "shard", iter(RECORDS))
    assert list(shards.read_shard(tmp_path / "shard", 200)) == RECORDS
    assert os.listdir(tmp_path) == ["shard"]


def test_every_flipped_bit_is_found(tmp_path):
    path = tmp_path / "augmented-train.tfrecord-00002-of-00009"
    shards.write_shard(path, iter(RECORDS))
    content = path.read_bytes()
    for place in (0, 5, 9, 12, 50, len(content) // 2, len(content) - 1):
        damaged = bytearray(content)
        damaged[place] ^= 4
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="-00002-of-00009' is damaged"):
            shards.check_shard(path, 200)


@pytest.mark.parametrize("cut", [1, 16, 116, 299, 20000])
def test_cut_shard_is_found(tmp_path, cut):
    # The last record takes 299 + 16 bytes; 315 end on a whole record.
    path = tmp_path / "shard"
    shards.write_shard(path, iter(RECORDS))
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(ValueError, match="'shard' is damaged"):
        list(shards.read_shard(path, 200))


def test_shard_cut_between_records_is_found(tmp_path):
    path = tmp_path / "shard"
    shards.write_shard(path, iter(RECORDS[:-1]))
    with pytest.raises(ValueError, match="199 records where 200 belong"):
        list(shards.read_shard(path, 200))
    shards.write_shard(path, iter([*RECORDS, b"more"]))
    with pytest.raises(ValueError, match="201 records where 200 belong"):
        list(shards.read_shard(path, 200))
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="0 records where 200 belong"):
        list(shards.read_shard(path, 200))


def test_shard_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        list(shards.read_shard(tmp_path / "nowhere", 1))


class FullWriter:
    """A TFRecord writer whose disk is full after some records."""

    def __init__(self, path, room, error):
        self.path, self.room, self.error = path, room, error
        with open(path, "wb") as file:
            file.write(b"half a record")

    def write(self, record):
        del record
        self.room -= 1
        if self.room < 0:
            raise self.error

    def close(self):
        pass


@pytest.mark.parametrize(
    ("error", "number"),
    [
        (tf.errors.ResourceExhaustedError(None, None, "full"), errno.ENOSPC),
        (tf.errors.OutOfRangeError(None, None, "large"), errno.EFBIG),
        (tf.errors.UnknownError(None, None, "odd"), errno.EIO),
    ],
)
def test_full_disk_leaves_nothing(tmp_path, monkeypatch, error, number):
    monkeypatch.setattr(
        tf.io, "TFRecordWriter", lambda path: FullWriter(path, 3, error)
    )
    with pytest.raises(OSError, match="shard") as raised:
        shards.write_shard(tmp_path / "shard", iter(RECORDS))
    assert raised.value.errno == number
    assert os.listdir(tmp_path) == []


def test_disk_that_keeps_less_than_it_says_leaves_nothing(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(
        tf.io, "TFRecordWriter", lambda path: FullWriter(path, 999, None)
    )
    with pytest.raises(OSError, match="13 bytes arrived of"):
        shards.write_shard(tmp_path / "shard", iter(RECORDS))
    assert os.listdir(tmp_path) == []


def test_disk_that_is_full_at_last_leaves_nothing(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
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


def test_really_full_disk_leaves_nothing(tiny_disk):
    shards.write_shard(tiny_disk / "fits", iter(RECORDS[:50]))
    with pytest.raises(OSError) as raised:
        shards.write_shard(tiny_disk / "does-not", iter(RECORDS * 2))
    assert raised.value.errno == errno.ENOSPC
    assert os.listdir(tiny_disk) == ["fits"]
    assert list(shards.read_shard(tiny_disk / "fits", 50)) == RECORDS[:50]


def test_small_files_appear_whole_or_not_at_all(tmp_path):
    atomic.write_text(tmp_path / "a", "caf\u00e9")
    assert (tmp_path / "a").read_bytes() == b"caf\xc3\xa9"
    with pytest.raises(UnicodeEncodeError):
        atomic.write_text(tmp_path / "a", "half \ud800")
    assert (tmp_path / "a").read_bytes() == b"caf\xc3\xa9"
    assert os.listdir(tmp_path) == ["a"]
