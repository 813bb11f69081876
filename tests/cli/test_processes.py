"""Shards that several processes share."""

import functools
import os
import signal

import pytest

from keras_mmel_cli import processes

SHARDS = [(index, 5) for index in range(5)]


def make_writer(folder, fails_with=None):
    """A function that notes who wrote a shard; once, it fails at the third."""

    def write(shard):
        if fails_with and shard[0] == 3 and not (folder / "failed").exists():
            (folder / "failed").touch()
            if fails_with == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            raise ValueError(fails_with)
        (folder / str(shard[0])).write_text(f"{os.getpid()}")
        return shard

    return write


def write(folder, told, *more):
    make = functools.partial(make_writer, folder, *more)
    return processes.write_shards(make, SHARDS, 2, told.append)


@pytest.mark.parametrize("more", [(), ("no luck",), ("killed",)])
def test_every_shard_is_written_in_another_process(tmp_path, more):
    told = []
    if more:
        error = ValueError if more == ("no luck",) else ChildProcessError
        with pytest.raises(error, match="no luck|the same command"):
            write(tmp_path, told, *more)
        told.clear()
    assert sorted(write(tmp_path, told, *more)) == sorted(told) == SHARDS
    found = [(tmp_path / str(index)).read_text() for index, _ in SHARDS]
    assert str(os.getpid()) not in found and len(set(found)) <= 2
