"""Runs a function in children that are killed; a program of its own.

TensorFlow is imported once; each child is a fork that has not used it yet.
Run as `python killing.py STEPS`, where STEPS is JSON: a list of groups of
steps. The steps of a group run at the same time, the groups one by one. A
step is a dict with the `function` of this module, its `args`, and maybe

- `count`: true to count the lines of the package that it executes
- `share`: at which share of that many lines the child kills itself
- `seconds`: after how long it is killed from outside
- `file_bytes`: the most bytes that it may write into a file
- `copy`: a pair of a directory and where to copy it when the step has ended

Prints what became of each step: its exit status and what it said.
"""

import json
import os
import pathlib
import resource
import shutil
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[3]))

import tensorflow as tf  # noqa: F401
import tensorflow_datasets as tfds  # noqa: F401

import keras_mmel.text.files
from keras_mmel.text import files
from tests.text.files.fakes import FakeAugmenter
from tests.text.files.fakes import MadeSource

PACKAGE = str(pathlib.Path(keras_mmel.text.files.__file__).parent)

# Making bytes of a record takes most of the lines and touches no file.
UNINTERESTING = str(pathlib.Path(PACKAGE) / "schema.py")

counted = {}


def write(directory, shard=None):
    """Write 60 examples into 4 shards."""
    source = MadeSource(60, 2)
    files.write_augmented(
        directory,
        source,
        FakeAugmenter(),
        num_shards=4,
        shard=shard,
        progress=False,
        label_names=("a", "b", "c"),
    )


def rewrite(directory, out):
    """Copy a directory, record by record."""
    files.rewrite(directory, out, lambda r: r, made={}, progress=False)


class Lines:
    """Counts executed lines of the package's files; kills at one of them."""

    def __init__(self, last):
        self.count, self.last = 0, last

    def trace(self, frame, event, argument):
        del argument
        name = frame.f_code.co_filename
        if not name.startswith(PACKAGE) or name == UNINTERESTING:
            return None
        if event == "line":
            self.count += 1
            if self.count == self.last:
                os.kill(os.getpid(), signal.SIGKILL)
        return self.trace


def start(step):
    """Begin a step in a child; return its process and where it speaks."""
    mouth, ear = os.pipe()
    child = os.fork()
    if child:
        os.close(ear)
        return child, os.fdopen(mouth), step
    last = None
    if "share" in step:
        last = max(1, int(step["share"] * counted[step["function"]]))
    status, lines = 0, Lines(last)
    if limit := step.get("file_bytes"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        if "share" in step or step.get("count"):
            sys.settrace(lines.trace)
        globals()[step["function"]](*step["args"])
        sys.settrace(None)
        said = str(lines.count)
    except Exception as error:
        status, said = 1, f"{type(error).__name__}: {error}"
    os.write(ear, said.encode())
    os._exit(status)


def end(child, mouth, step):
    """Wait for a step, kill it where that is asked for."""
    if "seconds" in step:
        time.sleep(step["seconds"])
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with mouth:
        said = mouth.read()
    if step.get("count"):
        counted[step["function"]] = int(said)
    if "copy" in step:
        shutil.copytree(*step["copy"])
    return [status, said]


def main(groups):
    """Run all groups of steps and print what became of them."""
    results = []
    for group in groups:
        started = [start(step) for step in group]
        results.append([end(*one) for one in started])
    print(json.dumps(results))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
