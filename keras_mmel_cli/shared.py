"""What several commands share: values, options, checks, start and last line.

Nothing here imports Keras, which takes seconds: `--help` and a mistyped option
should not wait for it.
"""

import argparse
import contextlib
import functools
import os
import pathlib
import re
import sys

_LOG_LEVEL = "TF_CPP_MIN_LOG_LEVEL"


def positive(text: str) -> int:
    """Reads the value of an option: a whole number from 1 on."""
    if not re.fullmatch("0*[1-9][0-9]*", text):
        raise argparse.ArgumentTypeError(
            f"must be a whole number, at least 1. Received: {text!r}"
        )
    return int(text)


def share(text: str) -> tuple[int, int]:
    """Reads the value of an option: I/N, the share I of N."""
    match = re.fullmatch("([0-9]+)/([0-9]+)", text)
    if not match or int(match[1]) >= int(match[2]):
        raise argparse.ArgumentTypeError(
            f"must be I/N with I from 0 to N-1. Received: {text!r}"
        )
    return int(match[1]), int(match[2])


class Setting(argparse.Action):
    """An option that is an argument of the function behind the command.

    What the user gives is gathered in `options.settings`; what is left out has
    the default of that function, so that no default stands in two places.
    """

    def __call__(self, parser, namespace, value, option_string=None):
        namespace.settings = namespace.settings | {self.dest: value}


def add_columns(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say what the columns of a data set are."""
    add = parser.add_argument
    several = functools.partial(add, nargs="+", metavar="COL")
    several("--text", help="the column of the text, or both columns of a pair")
    add("--label", metavar="COL", help="the label's column")
    add("--id", metavar="COL", help="the ids' column")
    add(
        "--label_names",
        nargs="+",
        metavar="NAME",
        help="what the labels 0, 1, ... are called in the file",
    )
    add(
        "--quoting",
        choices=("csv", "none"),
        default="csv",
        help="whether quotes in .csv and .tsv enclose a field (default: csv)",
    )


def open_table(options: argparse.Namespace, path: str, **more):
    """Opens a file by its ending, with the columns that the options name.

    Args:
        options: With the values of `add_columns`.
        path: A .csv, .tsv, .jsonl or .json file.
        **more: Other arguments of `from_csv` and `from_jsonl`.

    Returns:
        The source of its examples.

    Raises:
        BadFile: If the file cannot be read so; the line is named.
    """
    from keras_mmel.text import files

    names = ("text", "label", "id", "label_names")
    columns = {name: getattr(options, name) for name in names} | more
    if path.lower().endswith((".jsonl", ".json")):
        return files.from_jsonl(path, **columns)
    return files.from_csv(path, quoting=options.quoting, **columns)


def add_num_shards(parser: argparse.ArgumentParser) -> None:
    """Adds `--num_shards`, how many files are written."""
    parser.add_argument(
        "--num_shards",
        type=positive,
        metavar="N",
        help="files to write (default: one for 512 examples); a run that is "
        "stopped loses the files it has not finished",
    )


def add_shard(parser: argparse.ArgumentParser) -> None:
    """Adds `--shard`, which part of the files is written."""
    parser.add_argument(
        "--shard",
        type=share,
        metavar="I/N",
        help="write one of N parts, 0/N to N-1/N: processes share --out, or "
        "each has its own, whose files are then copied into one",
    )


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
