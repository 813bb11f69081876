r"""Check augmented text of other tools and write it in our format.

Example:
  keras-mmel import views.csv --text text --label label --id id \
    --out imported/reviews
"""

import argparse

from keras_mmel_cli import shared


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `import`."""
    add = parser.add_argument
    add(
        "file",
        help="a .csv, .tsv, .jsonl or .json file, in long form (a row a view) "
        "or in wide form (a row an example, see --views)",
    )
    shared.add_columns(parser)
    form = parser.add_mutually_exclusive_group().add_argument
    form(
        "--views",
        nargs="+",
        metavar="COL",
        help="wide form: a column with a JSON list of views, or several "
        "columns with a view each; --text is the original",
    )
    form(
        "--original",
        nargs="+",
        metavar="COL",
        help="long form: the columns of the original text; else the first row "
        "of an id is the original",
    )
    add("--split", default="train", help="name of the split (default: train)")
    add("--check", action="store_true", help="only check; write nothing")
    shared.add_num_shards(parser)
    add("--out", metavar="DIR", help="where to write")


def check(options: argparse.Namespace) -> None:
    """Raises `ValueError` or `OSError` for what is wrong at first sight."""
    if not options.check and not options.out:
        raise ValueError("--out is needed, or --check to write nothing")
    shared.check_exists(options.file)
    if not options.text:
        raise ValueError(
            "--text is needed: the column of the text, or both of a pair"
        )


def run(options: argparse.Namespace) -> None:
    """Checks the file that the options name; writes it where asked to."""
    with shared.quiet():
        from keras_mmel.text import write_augmented
        from keras_mmel.text.files import from_long
        from keras_mmel.text.sources.labels import describe_labels

    if options.views:
        source = shared.open_table(options, options.file, views=options.views)
    else:
        names = ("text", "label", "id", "original", "label_names", "quoting")
        columns = {name: getattr(options, name) for name in names}
        source = from_long(options.file, **columns)
    views = sum(len(record.views) for record in source.records)
    labels = describe_labels(source)
    print(f"{options.file}: {len(source)} examples, {views} views, {labels}.")
    if options.check:
        for note in source.notes:
            print(f"Note: {note}.")
        return
    written = write_augmented(
        options.out, source, num_shards=options.num_shards, split=options.split
    )
    shared.tell(options.out, written)
