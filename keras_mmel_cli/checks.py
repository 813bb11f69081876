"""What can be seen of a mistake before Keras is loaded."""

import argparse
import pathlib

_TABLES = (".csv", ".tsv", ".jsonl")


def is_table(name: str) -> bool:
    """Whether `--data` names a file and not a TFDS data set."""
    return name.lower().endswith(_TABLES)


def check(options: argparse.Namespace) -> None:
    """Raise ValueError or OSError for what is wrong before Keras is loaded."""
    if options.command in ("augment", "import"):
        _check_columns(options)
    if options.command in ("label", "inspect"):
        _existing_directory(options.directory)
    if options.command == "augment" and is_table(options.data):
        _existing_file(options.data)
        if not options.text:
            raise ValueError(
                "a file needs --text with the name of its text column, or of "
                f"both of a pair. Received: --data {options.data}"
            )
    if options.command == "label":
        _existing_file(options.teacher)
        if _same(options.directory, options.out):
            raise ValueError(
                "--out must be another directory than the one that is read. "
                f"Received: {options.out} for both"
            )
    if options.command == "import":
        _check_import(options)


def _check_columns(options):
    if options.text and len(options.text) > 2:
        raise ValueError(
            "--text takes one column or two. "
            f"Received: {' '.join(options.text)}"
        )


def _check_import(options):
    if not options.check and not options.out:
        raise ValueError("--out is needed, or --check to write nothing")
    _existing_file(options.file)
    if options.originals:
        _existing_file(options.originals)
    if options.tinybert:
        taken = ("text", "label", "id", "views", "original", "label_names")
        for name in taken:
            if getattr(options, name):
                raise ValueError(
                    f"--tinybert knows the columns; leave --{name} out"
                )
        return
    if not is_table(options.file):
        raise ValueError(
            "the file must end in .csv, .tsv or .jsonl. "
            f"Received: {options.file}"
        )
    if not options.text:
        raise ValueError(
            "--text is needed: the column of the text, or both of a pair"
        )
    if not (
        options.id or options.views or options.original or options.originals
    ):
        raise ValueError(
            "what belongs together? Name the views (--views), the ids (--id), "
            "the original text (--original) or the file that was augmented "
            "(--originals)"
        )
    if options.original and len(options.original) != len(options.text):
        raise ValueError(
            "--original must have as many columns as --text. Received: "
            f"{len(options.original)} and {len(options.text)}"
        )
    if options.views and (options.original or options.originals):
        raise ValueError(
            "--views is the wide form, where --text is the original: leave "
            "--original and --originals out"
        )


def _existing_file(name):
    path = pathlib.Path(name)
    if path.is_dir():
        raise IsADirectoryError(21, "Is a directory, not a file", name)
    if not path.exists():
        raise FileNotFoundError(2, "No such file", name)


def _existing_directory(name):
    path = pathlib.Path(name)
    if not path.exists():
        raise FileNotFoundError(2, "No such directory", name)
    if not path.is_dir():
        raise NotADirectoryError(20, "Not a directory", name)


def _same(first, second):
    return pathlib.Path(first).resolve() == pathlib.Path(second).resolve()
