"""The command `keras-mmel import`."""

import dataclasses
from typing import Annotated

import tyro

from keras_mmel_cli import shared

_FORM = tyro.conf.create_mutex_group(required=False, title="form of the file")


@dataclasses.dataclass
class Import:
    r"""Check augmented text of other tools and write it in our format.

    For example:
      keras-mmel import views.csv --text text --label label \
        --id id --out imported/reviews

    Attributes:
        file: a .csv, .tsv, .jsonl or .json file, in long form (a row a view) or
            in wide form (a row an example, see --views)
        views: wide form: a column with a JSON list of views, or several columns
            with a view each; --text is the original
        original: long form: the columns of the original text; else the first
            row of an id is the original
        split: name of the split
        check: only check; write nothing
        out: where to write
    """

    file: tyro.conf.Positional[shared.File]
    columns: shared.Columns
    views: Annotated[shared.Names, _FORM] = None
    original: Annotated[shared.Names, _FORM] = None
    split: str = "train"
    check: bool = False
    num_shards: shared.NumShards = None
    out: Annotated[shared.OptionalText, tyro.conf.arg(metavar="DIR")] = None

    def validate(self) -> None:
        """Raises `ValueError` or `OSError` for what is wrong at first sight."""
        if not self.check and not self.out:
            raise ValueError("--out is needed, or --check to write nothing")
        shared.check_exists(self.file)
        if not self.columns.text:
            raise ValueError(
                "--text is needed: the column of the text, or both of a pair"
            )

    def run(self) -> None:
        """Checks the file that the options name; writes it where asked to."""
        with shared.quiet():
            from keras_mmel.text import write_augmented
            from keras_mmel.text.files import from_long
            from keras_mmel.text.sources.labels import describe_labels

        if self.views:
            source = shared.open_table(
                self.columns, self.file, views=self.views
            )
        else:
            source = from_long(
                self.file, original=self.original, **vars(self.columns)
            )
        views = sum(len(record.views) for record in source.records)
        labels = describe_labels(source)
        print(f"{self.file}: {len(source)} examples, {views} views, {labels}.")
        if self.check or not self.out:
            for note in source.notes:
                print(f"Note: {note}.")
            return
        written = write_augmented(
            self.out, source, num_shards=self.num_shards, split=self.split
        )
        shared.tell(self.out, written)
