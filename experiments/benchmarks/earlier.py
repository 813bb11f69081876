"""The package of an earlier commit, measured beside this one.

What is measured is a case of `measured`, in a new process each time.
"""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from experiments.records import ROOT

COMMIT = "701b5be"  # before memory and speed were looked at
NOW, BEFORE = "now", "before"
_PROGRAM = ROOT / "experiments" / "benchmarks" / "measured.py"


@contextlib.contextmanager
def packages(commit: str) -> Iterator[dict[str, pathlib.Path]]:
    """Checks out a commit beside this tree, while the block runs.

    Args:
        commit: Which has to be in the repository.

    Yields:
        The folders that `measure` takes, by `NOW` and `BEFORE`.
    """
    with tempfile.TemporaryDirectory() as temporary:
        tree = pathlib.Path(temporary) / "earlier"
        worktree = ["git", "-C", str(ROOT), "worktree"]
        add = [*worktree, "add", "-q", "--detach", str(tree), commit]
        subprocess.run(add, check=True)
        try:
            yield {NOW: ROOT, BEFORE: tree}
        finally:
            remove = [*worktree, "remove", "--force", str(tree)]
            subprocess.run(remove, check=True)


def start(
    package: pathlib.Path, *words: str, **environ: str
) -> subprocess.Popen:
    """Starts a case of `measured` with a package.

    Args:
        package: Folder that holds the package.
        *words: The case and its arguments.
        **environ: Variables of the environment to set besides.

    Returns:
        The process, whose last line is a JSON object of figures.
    """
    return subprocess.Popen(
        [sys.executable, "-P", str(_PROGRAM), *words],
        cwd=package,
        env=os.environ | {"PYTHONPATH": str(package)} | environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
