"""The parser of `keras-mmel`; nothing here imports any other library."""

import argparse
import importlib.metadata

from keras_mmel_cli import making
from keras_mmel_cli import shared
from keras_mmel_cli import values


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
    for add in (
        making.augment,
        _label,
        _inspect,
        making.import_views,
    ):
        add(commands)
    return parser


def _version() -> str:
    try:
        return importlib.metadata.version("keras-mmel")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _label(commands):
    parser = shared.command(
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
        type=values.positive,
        default=argparse.SUPPRESS,
        metavar="N",
        help="texts of one call of the teacher (default: 64)",
    )
    parser.add_argument(
        "--max_length",
        type=values.positive,
        default=argparse.SUPPRESS,
        metavar="N",
        help="tokens of a text or a pair that the teacher sees (default: 128)",
    )
    shared.shard(parser)
    shared.out(parser)


def _inspect(commands):
    parser = shared.command(
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
        type=values.count,
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
