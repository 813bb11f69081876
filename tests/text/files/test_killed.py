"""Runs that are killed, share the work, or fill the disk: see `killing.py`."""

import json
import os
import pathlib
import random
import subprocess
import sys

import pytest

from tests.text.files.fakes import contents

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
    # Paths become strings.
    args = json.loads(json.dumps(args, default=str))
    return {"function": function, "args": args} | options


def check_half(found, whole):
    """What a killed run left: whole files, and hidden ones."""
    for name, content in found.items():
        if not pathlib.Path(name).parts[0].startswith("."):
            assert content == whole[name], name
    if "dataset_info.json" in found:
        assert found.keys() >= whole.keys()


def kills(folder, function, args, shares):
    """Groups that kill a function at each share, and call it to the end.

    `args` are those before the directory that it writes.
    """
    yield [step(function, *args, folder / "whole", count=True)]
    for number, share in enumerate(shares):
        target = folder / f"killed-{number}"
        half = [str(target), str(folder / f"half-{number}")]
        target.mkdir(parents=True)
        yield [step(function, *args, target, share=share, copy=half)]
        yield [step(function, *args, target)]


def check_kills(folder, results, number):
    """See what became of `number` kills."""
    assert [status for status, _ in results] == [0] + [-9, 0] * number
    whole = contents(folder / "whole")
    for index in range(number):
        check_half(contents(folder / f"half-{index}"), whole)
        assert contents(folder / f"killed-{index}") == whole


def kill_and_go_on(folder, function, args, shares):
    results = run(list(kills(folder, function, args, shares)))
    check_kills(folder, results, len(shares))


# The last ones are in the middle of the description for TFDS.
SHARES = [0.01, 0.3, 0.93, 0.997]


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """A folder where much has happened, and what became of each step.

    All in one program: most of its time goes into its imports.
    """
    folder = tmp_path_factory.mktemp("ended")
    copies = [
        [str(folder / name), str(folder / f"half-{name}")]
        for name in ("full", "small")
    ]
    groups = {
        "both": [step("write", folder / "both", [i, 2]) for i in range(2)],
        "full": [
            step("write", folder / "full", file_bytes=3000, copy=copies[0])
        ],
        "emptied": [step("write", folder / "full")],
        "small": [
            step("write", folder / "small", file_bytes=50, copy=copies[1])
        ],
    }
    killed = list(kills(folder, "write", [], SHARES))
    results = run([*killed, *groups.values()])
    whole = contents(folder / "whole")
    assert len(whole) == 4 + 4
    done = {"killed": results[: len(killed)]}
    rest = iter(results[len(killed) :])
    for name, group in groups.items():
        done[name] = [next(rest) for _ in group]
    return folder, done, whole


def test_killed_write_ends_as_if_it_had_never_been(ended):
    folder, done, _ = ended
    check_kills(folder, done["killed"], len(SHARES))


def test_processes_write_into_one_directory(ended):
    folder, done, whole = ended
    assert [status for status, _ in done["both"]] == [0, 0]
    assert contents(folder / "both") == whole


def test_disk_that_holds_no_shard(ended):
    folder, done, whole = ended
    (status, said), (status_then, _) = *done["full"], *done["emptied"]
    assert (status, status_then) == (1, 0)
    assert said.startswith("OSError: [Errno 27]")
    assert "augmented-train.tfrecord-00000-of-00004" in said
    assert list(contents(folder / "half-full")) == ["augmented.json"]
    assert contents(folder / "full") == whole


def test_disk_that_holds_nothing(ended):
    folder, done, _ = ended
    ((status, said),) = done["small"]
    assert status == 1
    assert said.startswith("OSError:")
    assert contents(folder / "half-small") == {}


@pytest.mark.slow
def test_write_killed_at_many_lines(tmp_path):
    generator = random.Random(0)
    shares = [generator.random() for _ in range(100)]
    kill_and_go_on(tmp_path, "write", [], shares)


@pytest.mark.slow
def test_killed_rewrite(tmp_path):
    whole = tmp_path / "written"
    run([[step("write", whole)]])
    generator = random.Random(1)
    shares = [generator.random() for _ in range(30)]
    kill_and_go_on(tmp_path / "rewritten", "rewrite", [whole], shares)
    rewritten = contents(tmp_path / "rewritten" / "whole")
    assert rewritten == contents(whole)


@pytest.mark.slow
def test_write_killed_from_outside_again_and_again(tmp_path):
    generator = random.Random(2)
    moments = [generator.random() * 0.6 for _ in range(40)]
    directory = tmp_path / "killed"
    again = [[step("write", directory, seconds=s)] for s in moments]
    ends = [[step("write", directory)], [step("write", tmp_path / "one")]]
    results = run([*again, *ends])
    assert [status for status, _ in results[-2:]] == [0, 0]
    assert contents(directory) == contents(tmp_path / "one")
