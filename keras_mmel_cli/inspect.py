"""`keras-mmel inspect`: show what augmented files hold."""

import argparse
import os
import pathlib
import shutil
import sys

from keras_mmel.text.files import read_manifest
from keras_mmel.text.files import read_records
from keras_mmel.text.inspection import inspect_records
from keras_mmel.text.inspection import to_html
from keras_mmel.text.inspection import to_terminal


def run(options: argparse.Namespace) -> None:
    """Print a report of the files that the options name."""
    names = read_manifest(options.directory).label_names
    report = inspect_records(
        read_records(options.directory),
        num_examples=options.examples,
        example_ids=options.id,
        seed=options.seed,
    )
    title = str(options.directory)
    if options.html:
        page = to_html(report, title, label_names=names)
        pathlib.Path(options.html).write_text(page, encoding="utf-8")
    text = to_terminal(
        report,
        title,
        label_names=names,
        color=sys.stdout.isatty() and not os.environ.get("NO_COLOR"),
        width=shutil.get_terminal_size().columns,
    )
    write(text)
    if options.html:
        print(f"Page: {options.html}")


def write(text: str) -> None:
    """Print text that the terminal's encoding may not have."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
