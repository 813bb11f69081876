"""Check augmented text of other tools and write it in our format.

example:
  keras-mmel import views.csv --text text --label label --id id \\
    --out imported/reviews
"""

import argparse

from keras_mmel_cli import shared


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `import`."""
    add = parser.add_argument
    add(
        "file",
        help="a .csv, .tsv or .jsonl file, in long form (a row a view) or in "
        "wide form (a row an example, see --views), or TinyBERT's "
        "train_aug.tsv (see --tinybert)",
    )
    shared.add_columns(parser)
    add(
        "--views",
        nargs="+",
        metavar="COL",
        help="wide form: a column with a list of views, or several columns "
        "with a view each; --text is the original",
    )
    add(
        "--original",
        nargs="+",
        metavar="COL",
        help="long form: the columns of the original text; else the first row "
        "of an id is the original",
    )
    add(
        "--originals",
        metavar="FILE",
        help="long form without ids, each original before its views: the file "
        "that was augmented, with the same columns. For --tinybert cola and "
        "sst2 the train.tsv (default: beside train_aug.tsv)",
    )
    add(
        "--tinybert",
        metavar="TASK",
        help="the file is TinyBERT's train_aug.tsv of this task: cola, sst2, "
        "mrpc, stsb, qqp, mnli, qnli or rte",
    )
    add(
        "--pair_fault",
        choices=("repair", "keep", "combine"),
        default="repair",
        help="TinyBERT writes every augmented sentence 2 beside the last "
        "augmented sentence 1. repair: put the original sentence 1 back "
        "(default); keep: as it is; combine: sample i is sample i of both",
    )
    add(
        "--tokenizer",
        metavar="PRESET",
        help="also store token ids of this tokenizer; without it they are "
        "made from the text when it is read",
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
    if options.originals:
        shared.check_exists(options.originals)
    if options.tinybert:
        taken = ("text", "label", "id", "views", "original", "label_names")
        for name in taken:
            if getattr(options, name):
                raise ValueError(
                    f"--tinybert knows the columns; leave --{name} out"
                )
        return
    if not shared.is_table(options.file):
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


def run(options: argparse.Namespace) -> None:
    """Checks the file that the options name; write it where asked to."""
    with shared.quiet():
        from keras_mmel.text import Tokenizer
        from keras_mmel.text import sources
        from keras_mmel.text.bert import presets

    groups = _open_groups(options)
    views = dropped = 0
    for group in groups.groups():
        views += len(group.views)
        dropped += group.dropped
    print(f"{options.file}: {len(groups)} examples, {views} views.")
    if groups.label_names:
        print(f"Labels 0, 1, ...: {', '.join(groups.label_names)}.")
    if dropped:
        print(
            f"Left out: {dropped} rows equal to their original or to another "
            "of its views."
        )
    for note in groups.notes():
        print(f"Note: {note}.")
    if options.check:
        return
    tokenizer = None
    if options.tokenizer:
        tokenizer = Tokenizer.from_directory(presets.find(options.tokenizer))
    written = sources.write_imported(
        options.out,
        groups,
        tokenizer=tokenizer,
        num_shards=options.num_shards,
        split=options.split,
    )
    shared.tell(options.out, written)


def _open_groups(options):
    from keras_mmel.text import sources

    if options.tinybert:
        return sources.from_tinybert(
            options.file,
            options.tinybert,
            originals=options.originals,
            pair_fault=options.pair_fault,
            quoting=options.quoting,
        )
    table = sources.open_table(options.file, options.quoting)
    text = tuple(options.text)
    names = {"label_names": options.label_names}
    if options.views:
        return sources.WideForm(
            table,
            text,
            tuple(options.views),
            options.label,
            id=options.id,
            **names,
        )
    if options.originals:
        originals = sources.open_table(options.originals, options.quoting)
        return sources.AfterOriginals(
            table, originals, text, options.label, **names
        )
    return sources.LongForm(
        table,
        text,
        options.label,
        id=options.id,
        original=tuple(options.original) if options.original else None,
        **names,
    )
