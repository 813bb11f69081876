"""Shards that several processes share."""

import dataclasses
import functools
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from keras_mmel.text import files
from keras_mmel.text.files.processes import write_in_processes
from tests.text.files import fakes

ROOT = pathlib.Path(__file__).resolve().parents[3]
SHARDS = [(index, 5) for index in range(5)]


@pytest.mark.slow
def test_processes_write_the_files_of_one(tmp_path, capsys):
    """With a shard from before, which is not written again."""
    fakes.write(tmp_path / "one")
    fakes.write(tmp_path / "two", shard=(1, 3))
    written = fakes.write(
        tmp_path / "two",
        augmenter=fakes.FakeAugmenter,
        processes=2,
        progress=True,
    )
    assert written == files.Written(2, 3, ())
    assert "10/10" in capsys.readouterr().err
    assert fakes.contents(tmp_path / "two") == fakes.contents(tmp_path / "one")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"processes": 0}, ValueError, "`processes` must be at least 1"),
        ({"processes": 2.0}, TypeError, "`processes` must be an integer"),
        ({"num_shards": 11}, ValueError, "`num_shards` must be from 1"),
        ({"shard": (3, 3)}, ValueError, "`shard` must be"),
        ({"augmenter": lambda: None}, TypeError, "by pickle.*lambda"),
    ],
)
def test_bad_settings_start_no_process(tmp_path, options, error, message):
    with pytest.raises(error, match=message):
        fakes.write(tmp_path, **{"processes": 2} | options)
    assert not fakes.contents(tmp_path)


@dataclasses.dataclass
class Noting:
    """Notes who wrote a shard; once, it fails at the third."""

    folder: pathlib.Path
    fails_with: str

    def __call__(self, shard):
        if shard[0] == 3 and not (self.folder / "failed").exists():
            (self.folder / "failed").touch()
            if self.fails_with == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            raise ValueError(self.fails_with)
        (self.folder / str(shard[0])).write_text(f"{os.getpid()}")
        return shard


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fails_with", "error"),
    [("no luck", ValueError), ("killed", ChildProcessError)],
)
def test_a_process_that_fails_ends_all(tmp_path, fails_with, error):
    make_writer = functools.partial(Noting, tmp_path, fails_with)
    done = []
    with pytest.raises(error, match="no luck|the same command"):
        write_in_processes(make_writer, SHARDS, 2, done.append)
    done.clear()
    results = write_in_processes(make_writer, SHARDS, 2, done.append)
    assert sorted(results) == sorted(done) == SHARDS
    found = [(tmp_path / str(index)).read_text() for index, _ in SHARDS]
    assert str(os.getpid()) not in found and len(set(found)) <= 2


class SlowAugmenter(fakes.FakeAugmenter):
    def views(self, example_id, texts):
        time.sleep(0.3)
        return super().views(example_id, texts)


_PROGRAM = """
import signal
import sys
from tests.text.files import fakes, test_processes

if __name__ == "__main__":
    # Where the tests run in the background of a shell it would be ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    fakes.write(
        sys.argv[1],
        augmenter=test_processes.SlowAugmenter,
        num_shards=10,
        processes=2,
    )
"""


@pytest.mark.slow
def test_interrupt_ends_all_processes(tmp_path):
    """And the same call then goes on."""
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    directory = tmp_path / "made"
    running = subprocess.Popen(
        [sys.executable, program, directory],
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )

    while not list(directory.glob("*.tfrecord*")):
        assert running.poll() is None
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == -signal.SIGINT
    assert err.count("KeyboardInterrupt") == 1
    deadline = time.monotonic() + 30
    while _group(running.pid):  # its standard error is closed before it ends
        assert time.monotonic() < deadline
        time.sleep(0.05)
    fakes.write(directory, num_shards=10)
    fakes.write(tmp_path / "one", num_shards=10)
    assert fakes.contents(directory) == fakes.contents(tmp_path / "one")


def _group(leader):
    """Processes of a group that have not ended."""
    lines = subprocess.run(
        ["ps", "-eo", "pgid=,stat="], capture_output=True, text=True
    ).stdout.splitlines()
    rows = [line.split() for line in lines]
    return [r for r in rows if r[0] == str(leader) and r[1][0] != "Z"]
