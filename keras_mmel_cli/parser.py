"""The arguments of `keras-mmel`, and what can be checked without loading it.

Nothing here imports more than the standard library. Defaults of the augmenter
are left out of the options that the user did not give, so that they stand in
one place; a test compares what the help says of them.
"""

import argparse
import importlib.metadata
import pathlib
import re

_CONTINUE = "The same command continues where it stopped."
_TABLES = (".csv", ".tsv", ".jsonl")


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, not after the whole usage."""

    def error(self, message):
        self.exit(
            2, f"{self.prog}: error: {message}. See {self.prog} --help.\n"
        )


def make_parser() -> argparse.ArgumentParser:
    """The parser of `keras-mmel` with a subparser for each command."""
    parser = _Parser(
        prog="keras-mmel",
        description="Augment text offline with a masked language model, label "
        "it with a teacher, and look at it.",
        epilog="keras-mmel COMMAND --help has the options and an example of "
        "each command.",
    )
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND"
    )
    for add in (_augment, _label, _inspect, _import, _merge):
        add(commands)
    return parser


def _version() -> str:
    try:
        return importlib.metadata.version("keras-mmel")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _command(commands, name, module, help, example, after_stop=_CONTINUE):
    parser = commands.add_parser(
        name,
        help=help,
        description=f"{help[0].upper()}{help[1:]}.",
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(module=module, after_stop=after_stop)
    return parser


def _augment(commands):
    parser = _command(
        commands,
        "augment",
        "augment",
        "write augmented samples of a data set, made by a masked LM",
        "keras-mmel augment --masked_lm bert_tiny_mlm --data reviews.csv "
        "--text text --label label --out augmented/reviews",
    )
    parser.add_argument(
        "--masked_lm",
        required=True,
        metavar="PRESET",
        help="hf://owner/name, kaggle://..., a keras-hub name, or a directory",
    )
    parser.add_argument(
        "--data",
        required=True,
        metavar="NAME|FILE",
        help="a TFDS name such as glue/rte, or a .csv, .tsv or .jsonl file",
    )
    _data(parser)
    parser.add_argument(
        "--split",
        default="train",
        help="split to read and to write (default: train)",
    )
    parser.add_argument("--data_dir", help="where TFDS keeps its data sets")
    parser.add_argument(
        "--limit", type=_positive, metavar="N", help="only the first N examples"
    )
    given = argparse.SUPPRESS
    parser.add_argument(
        "--num_augmented",
        type=_positive,
        metavar="N",
        default=given,
        help="samples of each example (default: 4)",
    )
    parser.add_argument(
        "--mask_ratio",
        type=_share,
        metavar="SHARE",
        default=given,
        help="share of the tokens to replace, 0 to 1 (default: 0.4)",
    )
    parser.add_argument(
        "--search",
        choices=("greedy", "beam"),
        default=given,
        help="how the masks are filled (default: greedy)",
    )
    parser.add_argument(
        "--unit",
        choices=("token", "word"),
        default=given,
        help="what is replaced: tokens, or whole words of one piece "
        "(default: token)",
    )
    parser.add_argument(
        "--pairs",
        choices=("separate", "concatenated"),
        default=given,
        help="whether a sentence sees the other of its pair "
        "(default: separate)",
    )
    parser.add_argument(
        "--max_length",
        type=_positive,
        metavar="N",
        default=given,
        help="tokens of a text or a pair (default: what the model takes)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=given,
        metavar="N",
        help="of the choice of the masks (default: 0)",
    )
    parser.add_argument(
        "--num_beams",
        type=_positive,
        default=given,
        metavar="N",
        help="fillings that beam search keeps (default: one more than samples)",
    )
    parser.add_argument(
        "--slots",
        type=_positive,
        default=given,
        metavar="N",
        help="rows of one call of the masked LM (default: 64)",
    )
    parser.add_argument(
        "--jit_compile",
        action="store_true",
        default=given,
        help="compile the masked LM: pays from some thousand texts on",
    )
    _shards(parser)
    _shard(parser)
    _out(parser)


def _label(commands):
    parser = _command(
        commands,
        "label",
        "label",
        "add a teacher's predictions to augmented files",
        "keras-mmel label augmented/reviews --teacher teacher.keras "
        "--out labelled/reviews",
    )
    parser.add_argument("directory", help="what `augment` or `import` wrote")
    parser.add_argument(
        "--teacher",
        required=True,
        metavar="FILE",
        help="a fine-tuned text classifier, saved by model.save",
    )
    parser.add_argument(
        "--batch_size",
        type=_positive,
        default=argparse.SUPPRESS,
        metavar="N",
        help="texts of one call of the teacher (default: 64)",
    )
    parser.add_argument(
        "--max_length",
        type=_positive,
        default=argparse.SUPPRESS,
        metavar="N",
        help="tokens of a text or a pair that the teacher sees (default: 128)",
    )
    _shard(parser)
    _out(parser)


def _inspect(commands):
    parser = _command(
        commands,
        "inspect",
        "inspect",
        "show augmented files: examples, lengths, distinctness, teacher",
        "keras-mmel inspect augmented/reviews --html reviews.html",
        after_stop="Nothing was written.",
    )
    parser.add_argument("directory", help="what a command here wrote")
    parser.add_argument(
        "--html", metavar="FILE", help="also write a page of its own"
    )
    parser.add_argument(
        "--examples",
        type=_count,
        default=5,
        metavar="N",
        help="examples to show, drawn at random (default: 5)",
    )
    parser.add_argument(
        "--id",
        nargs="+",
        default=(),
        metavar="ID",
        help="show the examples of these ids instead",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="of the draw (default: 0)"
    )


def _import(commands):
    parser = _command(
        commands,
        "import",
        "import_views",
        "check augmented text of other tools and write it in our format",
        "keras-mmel import views.csv --text text --label label --id id "
        "--out imported/reviews",
    )
    parser.add_argument(
        "file",
        help="a .csv, .tsv or .jsonl file, in long form (a row a view) or in "
        "wide form (a row an example, see --views), or TinyBERT's "
        "train_aug.tsv (see --tinybert)",
    )
    _data(parser)
    parser.add_argument(
        "--views",
        nargs="+",
        metavar="COL",
        help="wide form: a column with a list of views, or several columns "
        "with a view each; --text is the original",
    )
    parser.add_argument(
        "--original",
        nargs="+",
        metavar="COL",
        help="long form: the columns of the original text; else the first row "
        "of an id is the original",
    )
    parser.add_argument(
        "--originals",
        metavar="FILE",
        help="long form without ids, each original before its views: the file "
        "that was augmented, with the same columns. For --tinybert cola and "
        "sst2 the train.tsv (default: beside train_aug.tsv)",
    )
    parser.add_argument(
        "--tinybert",
        metavar="TASK",
        help="the file is TinyBERT's train_aug.tsv of this task: cola, sst2, "
        "mrpc, stsb, qqp, mnli, qnli or rte",
    )
    parser.add_argument(
        "--pair_fault",
        choices=("repair", "keep", "combine"),
        default="repair",
        help="TinyBERT writes every augmented sentence 2 beside the last "
        "augmented sentence 1. repair: put the original sentence 1 back "
        "(default); keep: as it is; combine: sample i is sample i of both",
    )
    parser.add_argument(
        "--tokenizer",
        metavar="PRESET",
        help="also store token ids of this tokenizer; without it they are "
        "made from the text when it is read",
    )
    parser.add_argument(
        "--split", default="train", help="name of the split (default: train)"
    )
    parser.add_argument(
        "--check", action="store_true", help="only check; write nothing"
    )
    _shards(parser)
    _out(parser, required=False)


def _merge(commands):
    parser = _command(
        commands,
        "merge",
        "merge",
        "join the parts that `augment --shard` wrote",
        "keras-mmel merge part0 part1 --out merged/reviews",
    )
    parser.add_argument("directories", nargs="+", metavar="DIR")
    _out(parser)


def _data(parser):
    parser.add_argument(
        "--text",
        nargs="+",
        metavar="COL",
        help="the column of the text, or both columns of a pair",
    )
    parser.add_argument("--label", metavar="COL", help="the label's column")
    parser.add_argument("--id", metavar="COL", help="the ids' column")
    parser.add_argument(
        "--label_names",
        nargs="+",
        metavar="NAME",
        help="what the labels 0, 1, ... are called in the file",
    )
    parser.add_argument(
        "--quoting",
        choices=("csv", "none"),
        default="csv",
        help="whether quotes in .csv and .tsv enclose a field (default: csv)",
    )


def _shards(parser):
    parser.add_argument(
        "--num_shards",
        type=_positive,
        metavar="N",
        help="files to write (default: one for 512 examples); a run that is "
        "stopped loses the files it has not finished",
    )


def _shard(parser):
    parser.add_argument(
        "--shard",
        type=_part,
        metavar="I/N",
        help="write one of N parts, 0/N to N-1/N: processes share --out, or "
        "each has its own and `merge` joins them",
    )


def _out(parser, required=True):
    parser.add_argument(
        "--out", required=required, metavar="DIR", help="where to write"
    )


def _positive(text):
    number = _count(text)
    if not number:
        raise argparse.ArgumentTypeError("must be at least 1. Received: 0")
    return number


def _count(text):
    if not re.fullmatch("[0-9]+", text):
        raise argparse.ArgumentTypeError(
            f"must be a whole number. Received: {text!r}"
        )
    return int(text)


def _share(text):
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(
            f"must be a number from 0 to 1. Received: {text!r}"
        )
    return number


def _part(text):
    found = re.fullmatch("([0-9]+)/([0-9]+)", text)
    if not found or int(found[1]) >= int(found[2]):
        raise argparse.ArgumentTypeError(
            f"must be I/N with I from 0 to N-1. Received: {text!r}"
        )
    return int(found[1]), int(found[2])


def is_table(name: str) -> bool:
    """Whether `--data` names a file and not a TFDS data set."""
    return name.lower().endswith(_TABLES)


def check(options: argparse.Namespace) -> None:
    """Raise ValueError or OSError for what is wrong before Keras is loaded."""
    if options.command in ("augment", "import"):
        _check_columns(options)
    if options.command in ("label", "inspect"):
        _existing_directory(options.directory)
    for directory in getattr(options, "directories", ()):
        _existing_directory(directory)
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
