"""Runs that are killed, share the work, or fill the disk: see `killing.py`."""

import json
import os
import pathlib
import random
import subprocess
import sys

import pytest
from text.files.fakes import contents

PROGRAM = pathlib.Path(__file__).with_name("killing.py")


def run(groups):
    """What became of each step of `killing.py`."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), json.dumps(groups)],
        capture_output=True,
        text=True,
        env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    assert done.returncode == 0, done.stderr
    return [step for group in json.loads(done.stdout) for step in group]


def step(function, *args, **options):
    args = json.loads(json.dumps(args, default=str))
    return {"function": function, "args": args} | options


def check_half(found, whole):
    """What a killed run left: whole files, and hidden ones."""
    for name, content in found.items():
        if not pathlib.Path(name).parts[0].startswith("."):
            assert content == whole[name], name
    if "dataset_info.json" in found:
        assert found.keys() >= whole.keys()


def kill_and_go_on(tmp_path, function, args, shares):
    """Kill a function at each share, and call it again to the end.

    `args` are those before the directory that it writes.
    """
    groups = [[step(function, *args, tmp_path / "whole", count=True)]]
    for number, share in enumerate(shares):
        target = tmp_path / f"{function}-{number}"
        half = [str(target), str(tmp_path / f"{function}-half-{number}")]
        target.mkdir()
        kill = step(function, *args, target, share=share, copy=half)
        groups += [[kill], [step(function, *args, target)]]
    statuses = [status for status, _ in run(groups)]
    assert statuses == [0] + [-9, 0] * len(shares)
    whole = contents(tmp_path / "whole")
    for number in range(len(shares)):
        check_half(contents(tmp_path / f"{function}-half-{number}"), whole)
        assert contents(tmp_path / f"{function}-{number}") == whole
    return whole


def test_killed_write_ends_as_if_it_had_never_been(tmp_path):
    # The last shares are those of the description for TFDS.
    shares = [0.01, 0.1, 0.3, 0.6, 0.9, 0.96, 0.98, 0.997]
    whole = kill_and_go_on(tmp_path, "write", [], shares)
    assert len(whole) == 4 + 4


@pytest.mark.slow
def test_write_killed_at_many_lines(tmp_path):
    shares = [random.Random(0).random() for _ in range(100)]
    kill_and_go_on(tmp_path, "write", [], shares)


@pytest.mark.slow
def test_killed_rewrite_and_merge(tmp_path):
    parts = [tmp_path / "part-0", tmp_path / "part-1"]
    run([[step("write", p, [i, 2]) for i, p in enumerate(parts)]])
    shares = [random.Random(1).random() for _ in range(30)]
    (tmp_path / "merged").mkdir()
    kill_and_go_on(tmp_path / "merged", "merge", [parts], shares)
    (tmp_path / "rewritten").mkdir()
    whole = tmp_path / "merged" / "whole"
    kill_and_go_on(tmp_path / "rewritten", "rewrite", [whole], shares)


@pytest.mark.slow
def test_write_killed_from_outside_again_and_again(tmp_path):
    moments = [random.Random(2).random() * 0.6 for _ in range(40)]
    directory = tmp_path / "killed"
    kills = [[step("write", directory, seconds=s)] for s in moments]
    results = run(
        [*kills, [step("write", directory)], [step("write", tmp_path / "one")]]
    )
    assert [status for status, _ in results[-2:]] == [0, 0]
    assert contents(directory) == contents(tmp_path / "one")


def test_processes_share_the_work_and_disks_fill(tmp_path):
    one, both, full = (tmp_path / n for n in ("one", "both", "full"))
    parts = [tmp_path / "part-0", tmp_path / "part-1"]
    half = [str(full), str(tmp_path / "half")]
    none = [str(tmp_path / "small"), str(tmp_path / "none")]
    results = run(
        [
            [step("write", one)],
            [step("write", both, [i, 2]) for i in range(2)],
            [step("write", part, [i, 2]) for i, part in enumerate(parts)],
            [step("merge", parts, tmp_path / "merged")],
            [step("rewrite", one, tmp_path / "rewritten")],
            [step("write", full, file_bytes=3000, copy=half)],
            [step("write", full)],
            [step("write", tmp_path / "small", file_bytes=50, copy=none)],
        ]
    )
    statuses = [status for status, _ in results]
    assert statuses == [0, 0, 0, 0, 0, 0, 0, 1, 0, 1]
    whole = contents(one)
    assert len(whole) == 4 + 4
    assert contents(both) == whole
    assert contents(tmp_path / "merged") == whole
    assert contents(tmp_path / "rewritten") == whole
    # No file of 3000 bytes fits: no shard, not even a part of one.
    assert results[7][1].startswith("OSError:")
    assert "augmented-train.tfrecord-00000-of-00004" in results[7][1]
    assert list(contents(tmp_path / "half")) == ["augmented.json"]
    assert contents(full) == whole
    assert results[9][1].startswith("OSError:")
    assert contents(tmp_path / "none") == {}
