"""What several commands share: options, checks, start and last line.

Nothing here imports Keras, which takes seconds: `--help` and a mistyped option
should not wait for it.
"""

import contextlib
import dataclasses
import os
import pathlib
import re
import sys
from typing import Annotated
from typing import Any
from typing import Literal

import tyro

_LOG_LEVEL = "TF_CPP_MIN_LOG_LEVEL"

# In place of "(default: None)", which is no value that can be given.
_OPTIONAL = tyro.conf.arg(help_behavior_hint="(optional)")
OptionalText = Annotated[str | None, _OPTIONAL]
OptionalInt = Annotated[int | None, _OPTIONAL]

Directory = Annotated[str, tyro.conf.arg(metavar="DIR")]
File = Annotated[str, tyro.conf.arg(metavar="FILE")]
# One value or more; `check_values` sees to it.
Names = Annotated[
    tuple[str, ...] | None,
    tyro.conf.arg(metavar="NAME [NAME ...]"),
    _OPTIONAL,
]
NumShards = Annotated[
    OptionalInt,
    tyro.conf.arg(
        help="files to write, else one for 512 examples; a run that is stopped "
        "loses the files it has not finished"
    ),
]
Share = Annotated[
    OptionalText,
    tyro.conf.arg(
        metavar="I/N",
        help="write one of N parts, 0/N to N-1/N: processes share --out, or "
        "each has its own, whose files are then copied into one",
    ),
]


@dataclasses.dataclass
class Columns:
    """What the columns of a data set are, by the names of `from_csv`.

    Attributes:
        text: the column of the text, or both columns of a pair
        label: the label's column
        id: the ids' column
        label_names: what the labels 0, 1, ... are called in the file
        quoting: whether quotes in .csv and .tsv enclose a field
    """

    text: Names = None
    label: OptionalText = None
    id: OptionalText = None
    label_names: Names = None
    quoting: Literal["csv", "none"] = "csv"


def check_values(options: Any) -> None:
    """Raises `ValueError` for a number or a list that no option may have.

    Args:
        options: A dataclass of options; those inside it are checked as well.
    """
    for name, value in vars(options).items():
        if dataclasses.is_dataclass(value):
            check_values(value)
        elif value in ((), ""):
            raise ValueError(f"--{name} must have a value. Received: {value!r}")
        elif type(value) is int and value < 1 and name != "seed":
            raise ValueError(
                f"--{name} must be a whole number, at least 1. "
                f"Received: {value}"
            )


def parse_share(text: str | None) -> tuple[int, int] | None:
    """Reads I/N, the value of `--shard`, or raises `ValueError`."""
    if text is None:
        return None
    match = re.fullmatch("([0-9]+)/([0-9]+)", text)
    if not match or int(match[1]) >= int(match[2]):
        raise ValueError(
            f"--shard must be I/N with I from 0 to N-1. Received: {text!r}"
        )
    return int(match[1]), int(match[2])


def open_table(columns: Columns, path: str, **more):
    """Opens a file by its ending.

    Args:
        columns: What its columns are.
        path: A .csv, .tsv, .jsonl or .json file.
        **more: Other arguments of `from_csv` and `from_jsonl`.

    Returns:
        The source of its examples.

    Raises:
        BadFile: If the file cannot be read so; the line is named.
        ValueError: If a file of JSON is to have quotes.
    """
    from keras_mmel.text import files

    arguments = vars(columns) | more
    if path.lower().endswith((".jsonl", ".json")):
        if arguments.pop("quoting") != "csv":
            raise ValueError(f"--quoting is of tables. Received: {path}")
        return files.from_jsonl(path, **arguments)
    return files.from_csv(path, **arguments)


def is_table(name: str) -> bool:
    """Whether a name is that of a file with a row or a line an example."""
    return name.lower().endswith((".csv", ".tsv", ".jsonl", ".json"))


def check_exists(name: str, kind: str = "file") -> None:
    """Sees that a path of the command line is there, before Keras is loaded.

    Args:
        name: The path, or an address of an object store.
        kind: "file" or "directory".

    Raises:
        OSError: If there is none, or it is of the other kind.
    """
    if "://" in name:  # of an object store, where it is looked for later
        return
    path = pathlib.Path(name)
    if not path.exists():
        raise FileNotFoundError(2, f"No such {kind}", name)
    if path.is_dir() != (kind == "directory"):
        raise NotADirectoryError(20, f"Not a {kind}", name)


@contextlib.contextmanager
def quiet():
    """Drops what imports write to standard error.

    TensorFlow notes on its start how it was built and that there is no GPU,
    from C++ and whatever its log level. Who sets that level to 0 or 1, which
    ask for notes and warnings, sees it all.
    """
    if os.environ.setdefault(_LOG_LEVEL, "2") in ("0", "1"):
        yield
        return
    # Its number, not `sys.stderr`: C++ knows nothing of that.
    standard_error = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
        if "tensorflow" in sys.modules:  # looks for GPUs, with its notes
            sys.modules["tensorflow"].config.list_physical_devices()
    finally:
        os.dup2(standard_error, 2)
        os.close(standard_error)


@contextlib.contextmanager
def quiet_processes(processes: int):
    """Drops what processes that are started inside write to standard error.

    They start with the notes of TensorFlow, too. What this process writes,
    such as a progress bar, is still shown.

    Args:
        processes: How many there will be; 1 is this one, and nothing is done.
    """
    if processes == 1:
        yield
        return
    with (
        open(os.dup(2), "w", errors="backslashreplace") as terminal,
        contextlib.redirect_stderr(terminal),
        quiet(),
    ):
        yield


def tell(out: str, written) -> None:
    """Prints how much of a directory is there.

    Args:
        out: The directory.
        written: The `Written` of the run that wrote into it.
    """
    num_present = written.num_shards - len(written.missing)
    line = f"{out}: {num_present} of {written.num_shards} files"
    if written.num_written < num_present:
        line += f", {num_present - written.num_written} of them from before"
    print(f"{line}.")
    if written.missing:
        print("The others are for the other parts (--shard) to write.")
