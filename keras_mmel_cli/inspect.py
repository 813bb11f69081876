"""Show augmented files: examples, lengths, distinctness, teacher.

Example:
  keras-mmel inspect augmented/reviews --html reviews.html
"""

import argparse
import io
import json
import os
import pathlib
import shutil
import sys

from keras_mmel_cli import shared


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `inspect`."""
    add = parser.add_argument
    add("directory", help="what a command here wrote")
    add("--html", metavar="FILE", help="also write a page of its own")
    add("--json", action="store_true", help="print the numbers as JSON alone")
    add(
        "--examples",
        type=shared.positive,
        default=5,
        metavar="N",
        help="examples to show, drawn at random (default: 5)",
    )
    add(
        "--id",
        nargs="+",
        default=(),
        metavar="ID",
        help="show the examples of these ids instead",
    )
    add("--seed", type=int, default=0, help="of the draw (default: 0)")


def check(options: argparse.Namespace) -> None:
    """Raises `OSError` where there is no such directory."""
    shared.check_exists(options.directory, "directory")


def run(options: argparse.Namespace) -> None:
    """Prints a report of the files that the options name."""
    with shared.quiet():
        from keras_mmel.text.files import AugmentedFiles
        from keras_mmel.text.inspection import inspect_records
        from keras_mmel.text.inspection import to_html
        from keras_mmel.text.inspection import to_terminal

    files = AugmentedFiles(options.directory)
    report = inspect_records(
        files.read(0, len(files)),
        label_names=files.label_names,
        num_examples=options.examples,
        example_ids=options.id,
        seed=options.seed,
    )
    if line := files.describe_samples():
        report.tables.insert(1, ("Samples", [("samples", line)]))
    if report.missing_ids:
        raise ValueError(
            f"--id must name examples of {options.directory}. Received: "
            f"{', '.join(report.missing_ids)}, of which it has none"
        )
    if options.html:
        page = to_html(report, options.directory)
        pathlib.Path(options.html).write_text(page, encoding="utf-8")
    if options.json:
        print(json.dumps(report.numbers, indent=2, ensure_ascii=False))
        return
    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    width = shutil.get_terminal_size().columns
    text = to_terminal(report, options.directory, color=color, width=width)
    # Texts may have characters that the terminal's encoding has not.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.stdout.write(text)
    if options.html:
        print(f"Page: {options.html}")
