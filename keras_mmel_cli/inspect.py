"""The command `keras-mmel inspect`."""

import dataclasses
import json
import os
import shutil
import sys
from typing import Annotated

import tyro

from keras_mmel_cli import shared


@dataclasses.dataclass
class Inspect:
    """Show augmented files: examples, lengths, distinctness, teacher.

    For example:
      keras-mmel inspect augmented/reviews --html reviews.html

    Attributes:
        directory: what a command here wrote
        html: also write a page of its own
        json: print the numbers as JSON alone
        examples: examples to show, drawn at random
        id: show the examples of these ids instead
        seed: of the draw
    """

    directory: tyro.conf.Positional[shared.Directory]
    html: Annotated[shared.OptionalText, tyro.conf.arg(metavar="FILE")] = None
    json: bool = False
    examples: int = 5
    id: shared.Names = None
    seed: int = 0

    def validate(self) -> None:
        """Raises `OSError` where there is no such directory."""
        shared.check_exists(self.directory, "directory")

    def run(self) -> None:
        """Prints a report of the files that the options name."""
        with shared.quiet():
            from keras_mmel import whole_files
            from keras_mmel.text.files import AugmentedFiles
            from keras_mmel.text.inspection import inspect_records
            from keras_mmel.text.inspection import to_html
            from keras_mmel.text.inspection import to_terminal

        files = AugmentedFiles(self.directory)
        report = inspect_records(
            files.read(0, len(files)),
            label_names=files.label_names,
            num_examples=self.examples,
            example_ids=self.id or (),
            seed=self.seed,
        )
        if line := files.describe_samples():
            report.tables.insert(1, ("Samples", [("samples", line)]))
        if report.missing_ids:
            raise ValueError(
                f"--id must name examples of {self.directory}. Received: "
                f"{', '.join(report.missing_ids)}, of which it has none"
            )
        if self.html:
            page = to_html(report, self.directory)
            with whole_files.replacing(self.html) as half:
                half.write_text(page, encoding="utf-8")
        if self.json:
            print(json.dumps(report.numbers, indent=2, ensure_ascii=False))
            return
        color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        width = shutil.get_terminal_size().columns
        text = to_terminal(report, self.directory, color=color, width=width)
        sys.stdout.write(text)
        if self.html:
            print(f"Page: {self.html}")
