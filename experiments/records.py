"""Records of runs: what was run, on what, for how long, with what result.

Every number in the documentation comes from such a file, one JSON object a
run:

    command      the command line, with no path of the machine in it
    method       what was run, for example "mmel-h"
    seed         the seed of the run
    settings     every setting that the result depends on
    environment  versions, commit, processor, date
    hours        wall time of the run, or cpu_hours of all runs of a record
    curves       lists of numbers, one entry per epoch
    scores       the final numbers
"""

import datetime
import json
import os
import pathlib
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from collections.abc import Sequence

import keras
import numpy as np

import keras_mmel
from keras_mmel.whole_files import replacing

ROOT = pathlib.Path(__file__).resolve().parents[1]
# A result depends on these; edits elsewhere (documents, results) do not make
# it a result of uncommitted code.
CODE = ("keras_mmel", "examples", "experiments", "pyproject.toml")
CODE += (":(exclude)experiments/results",)
# No result depends on where data lie and files are kept in between; each has
# one value.
PLACES = ("--work_dir", "--data_dir")
_NUMBERS = re.compile(r"\[\n\s+([-+\d.eE,\s]+?)\n\s+\]")
_PATH = re.compile(r"[\s=\"'](/[^\s\"']+)")


def environment() -> dict:
    """Versions, commit, machine and date of the running process.

    Returns:
        A dict with `python`, `keras`, `tensorflow` (`None` where it is not
        installed), `numpy`, `keras_mmel`, `backend`, `commit` and `dirty`
        (both `None` outside a git checkout; `dirty` tells that the code
        differs from the commit), `platform`, `cpu`, `cores` (those this
        process may use), `accelerators` and `date` (UTC).

    Example:

    ```python
    from experiments.records import environment

    environment()["keras"]
    ```
    """
    commit = _git("rev-parse", "HEAD")
    changes = _git("status", "--porcelain", "--", *CODE)
    tensorflow, accelerators = _tensorflow()
    return {
        "python": platform.python_version(),
        "keras": keras.__version__,
        "tensorflow": tensorflow,
        "numpy": np.__version__,
        "keras_mmel": keras_mmel.__version__,
        "backend": keras.config.backend(),
        "commit": commit,
        "dirty": None if commit is None else bool(changes),
        "platform": f"{platform.system()} {platform.machine()}",
        "cpu": _cpu_name(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "accelerators": accelerators,
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
    }


def command_line(argv: Sequence[str] | None = None) -> str:
    """The command that started this process, fit for a record.

    Args:
        argv: The words after `python`, the script first; `sys.argv` where it
            is `None`.

    Returns:
        One line. A script of the project becomes `-m package.script`, the
        options in `PLACES` are left out, and an absolute path in any other
        word is cut to its last part.

    Example:

    ```python
    from experiments.records import command_line

    command_line(["experiments/digits.py", "--data_dir", "/disk/me/tfds"])
    # "python -m experiments.digits"
    ```
    """
    script, *words = sys.argv if argv is None else argv
    path = pathlib.Path(script).resolve()
    run = [path.name]
    if path.suffix == ".py" and path.is_relative_to(ROOT):
        module = path.relative_to(ROOT).with_suffix("")
        run = ["-m", ".".join(module.parts)]
    words = iter(words)
    for word in words:
        name, equals, value = word.partition("=")
        if name in PLACES:
            if not equals:
                next(words, None)
        elif os.path.isabs(value or name):
            run.append(f"{name}=" * bool(equals) + pathlib.Path(word).name)
        else:
            run.append(word)
    return shlex.join(["python", *run])


def write_record(path: str | os.PathLike, record: Mapping) -> None:
    """Write a record as JSON, whole or not at all.

    Keys are sorted, and NumPy numbers and arrays become plain ones.

    Args:
        path: The file; missing folders are made.
        record: Nested dicts and lists of strings, numbers, booleans and
            `None`.

    Raises:
        ValueError: If a number is NaN or infinite, or a string holds an
            absolute path: a record is about the run, not about the machine.
        TypeError: If a value has no place in JSON.
    """
    text = json.dumps(
        record, indent=2, sort_keys=True, allow_nan=False, default=_plain
    )
    if found := _PATH.search(text):
        raise ValueError(
            f"A record must hold no absolute path. Received: {found[1]!r}"
        )
    # A curve on one line instead of a line per epoch.
    text = _NUMBERS.sub(
        lambda found: "[" + " ".join(found.group(1).split()) + "]", text
    )
    with replacing(path) as file:
        file.write_text(text + "\n", encoding="utf-8")


def _plain(value):
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(
        "A record must hold dicts, lists, strings, numbers, booleans and None. "
        f"Received: {value!r} (of type {type(value).__name__})"
    )


def read_records(folder: str | os.PathLike) -> list[dict]:
    """Read every record in a folder and the folders below it.

    Args:
        folder: Where `write_record` put them; it may be missing.

    Returns:
        A list of records in the order of their file names.
    """
    paths = sorted(pathlib.Path(folder).rglob("*.json"))
    return [read_record(path) for path in paths]


def is_recorded(path: pathlib.Path) -> bool:
    """Whether a run has its record.

    Args:
        path: Where its record goes.

    Raises:
        ValueError: If there is a file that does not hold a record.
    """
    return path.exists() and bool(read_record(path))


def read_record(path: pathlib.Path) -> dict:
    """Read one record.

    Args:
        path: Its file.

    Raises:
        ValueError: If the file does not hold a record.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        record = error
    if not isinstance(record, dict) or not record:
        raise ValueError(
            "A record must be a JSON object with what was found. Delete this "
            "file, and its run can be made again. "
            f"Received: {path}, with {record!r}"
        )
    return record


def _git(*arguments):
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *arguments],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _tensorflow():
    try:
        import tensorflow as tf
    except ImportError:
        return None, []
    details = [
        tf.config.experimental.get_device_details(device)
        for device in tf.config.list_physical_devices("GPU")
    ]
    names = [detail.get("device_name", "GPU") for detail in details]
    return tf.__version__, names


def _cpu_name():
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or None
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1).strip() if found else platform.processor() or None
