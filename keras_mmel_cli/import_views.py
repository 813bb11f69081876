"""`keras-mmel import`: check other tools' files and write them in ours."""

import argparse

from keras_mmel.text import sources
from keras_mmel_cli.written import tell


def run(options: argparse.Namespace) -> None:
    """Check the file that the options name; write it where asked to."""
    groups = open_groups(options)
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
    written = sources.write_imported(
        options.out,
        groups,
        tokenizer=_tokenizer(options.tokenizer),
        num_shards=options.num_shards,
        split=options.split,
    )
    tell(options.out, written)


def open_groups(options: argparse.Namespace) -> sources.GroupFile:
    """The groups of the file, read by the importer that the options ask for."""
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


def _tokenizer(preset):
    if preset is None:
        return None
    from keras_mmel.text import Tokenizer
    from keras_mmel.text.bert import presets

    return Tokenizer.from_directory(presets.find(preset))
