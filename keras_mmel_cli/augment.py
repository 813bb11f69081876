r"""Write augmented samples of a data set, made by a masked LM.

Example:
  keras-mmel augment --masked_lm bert_tiny_mlm --data reviews.csv \
    --text text --label label --out augmented/reviews
"""

import argparse
import functools
import pathlib
import re

from keras_mmel_cli import shared

# NAME/CONFIG:VERSION, as TFDS writes it.
_TFDS_NAME = re.compile(r"\w+(/[\w.,=+-]+)*(:[\w.*]+)?")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `augment`."""
    add = parser.add_argument
    add(
        "--masked_lm",
        required=True,
        metavar="PRESET",
        help="hf://owner/name, kaggle://..., or a directory",
    )
    add(
        "--data",
        required=True,
        metavar="NAME|FILE",
        help="a TFDS name such as glue/rte; a .csv, .tsv, .jsonl or .json file",
    )
    shared.add_columns(parser)
    add(
        "--split",
        default="train",
        help="split to read and to write (default: train)",
    )
    add("--data_dir", help="where TFDS keeps its data sets")
    count = functools.partial(add, type=shared.positive, metavar="N")
    count("--limit", help="only the first N examples")
    # Arguments of `MaskedLMAugmenter`.
    setting = functools.partial(add, action=shared.Setting)
    number = functools.partial(count, action=shared.Setting)
    number("--num_augmented", help="samples of each example (default: 4)")
    setting(
        "--mask_ratio",
        type=float,
        metavar="SHARE",
        help="share of the tokens to replace, 0 to 1 (default: 0.4)",
    )
    setting(
        "--search",
        choices=("greedy", "beam"),
        help="how the masks are filled (default: greedy)",
    )
    setting(
        "--unit",
        choices=("token", "word"),
        help="what is replaced: tokens, or whole words of one piece "
        "(default: token)",
    )
    setting(
        "--pairs",
        choices=("separate", "concatenated"),
        help="whether a sentence sees the other of its pair "
        "(default: separate)",
    )
    number(
        "--max_length",
        help="tokens of a text or a pair (default: what the model takes)",
    )
    number("--seed", type=int, help="of the choice of the masks (default: 0)")
    setting(
        "--dtype",
        choices=("float32", "bfloat16"),
        help="of matrix products; bfloat16 is faster on some processors "
        "(default: float32)",
    )
    number("--slots", help="rows of one call of the masked LM (default: 64)")
    shared.add_num_shards(parser)
    shared.add_shard(parser)
    count(
        "--processes",
        help="processes that share the files to write; each loads the masked "
        "LM (default: 1)",
        default=1,
    )
    add("--out", required=True, metavar="DIR", help="where to write")


def check(options: argparse.Namespace) -> None:
    """Raises `ValueError` or `OSError` for what is wrong at first sight."""
    if "://" not in options.masked_lm:
        shared.check_exists(options.masked_lm, "directory")
    name, path = options.data, pathlib.Path(options.data)
    is_tfds = (path / "features.json").is_file() or _TFDS_NAME.fullmatch(name)
    if shared.is_table(name):
        shared.check_exists(name)
        _check_for_table(options)
    elif path.is_file() or not is_tfds:
        raise _no_such_data(options)
    elif options.label_names:
        raise ValueError(
            "--label_names are for files; TFDS has its own. "
            f"Received: --data {name}"
        )
    if options.text:
        return
    if name.startswith("glue/"):
        # Its text columns are known where it is read.
        options.label = options.label or "label"
    else:
        raise ValueError(
            "--text is needed with the name of the text column, or of both "
            f"of a pair. Received: --data {name}"
        )


def _check_for_table(options):
    """Raises `ValueError` for what a table would be read without."""
    if options.data_dir:
        raise ValueError(
            "--data_dir is of TFDS. "
            f"Received: --data {options.data} --data_dir {options.data_dir}"
        )
    if not re.fullmatch(r"\w+", options.split):
        raise ValueError(
            "--split is one word for a table, all of which is read; --limit "
            f"reads less of it. Received: --split {options.split}"
        )


def run(options: argparse.Namespace) -> None:
    """Augments what the options name, and writes it."""
    with shared.quiet():
        from keras_mmel.text import write_augmented
        from keras_mmel.text.files import InMemory
        from keras_mmel.text.sources.labels import describe_labels

    # The data first: it is read in a moment, the masked LM may be large.
    source = _open_source(options)
    if options.limit:
        records = source.read(0, options.limit)
        facts = source.describe() | {"limit": options.limit}
        source = InMemory(records, source.label_kind, source.label_names, facts)
    labels = describe_labels(source)
    print(f"{options.data}: {len(source)} examples, {labels}.", flush=True)
    with shared.quiet_processes(options.processes):
        written = write_augmented(
            options.out,
            source,
            functools.partial(make_augmenter, options),
            num_shards=options.num_shards,
            shard=options.shard,
            # The split that a slice such as `train[:10%]` is of.
            split=re.split(r"\W", options.split)[0] or options.split,
            processes=options.processes,
        )
    shared.tell(options.out, written)


def make_augmenter(options: argparse.Namespace):
    """Makes the augmenter that the options name, once in each process."""
    with shared.quiet():
        from keras_mmel.text import MaskedLMAugmenter
        from keras_mmel.text import load_masked_lm

    masked_lm = load_masked_lm(options.masked_lm)
    return MaskedLMAugmenter(masked_lm, **options.settings)


def _open_source(options):
    from keras_mmel import extras
    from keras_mmel.text.files import from_tfds

    if shared.is_table(options.data):
        return shared.open_table(options, options.data)
    tfds = extras.need("tensorflow_datasets", "datasets")
    names = ("data", "split", "text", "label", "id", "data_dir")
    arguments = [getattr(options, name) for name in names]
    try:
        return from_tfds(*arguments)
    except ValueError as error:
        not_found = isinstance(error, tfds.core.DatasetNotFoundError)
        if not_found or "BuilderConfig" in str(error):
            # TFDS lists all that it has, or breaks off before the list.
            raise _no_such_data(options) from None
        raise


def _no_such_data(options):
    return ValueError(
        "--data must be a .csv, .tsv, .jsonl or .json file, or the name of a "
        f"TFDS data set. Received: --data {options.data}"
    )
