"""What the parsers of several commands share."""

import argparse

from keras_mmel_cli import values

CONTINUE = "The same command continues where it stopped."


def command(commands, name, module, help, example, after_stop=CONTINUE):
    parser = commands.add_parser(
        name,
        help=help,
        description=f"{help[0].upper()}{help[1:]}.",
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(module=module, after_stop=after_stop)
    return parser


def data(parser):
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


def shards(parser):
    parser.add_argument(
        "--num_shards",
        type=values.positive,
        metavar="N",
        help="files to write (default: one for 512 examples); a run that is "
        "stopped loses the files it has not finished",
    )


def shard(parser):
    parser.add_argument(
        "--shard",
        type=values.part,
        metavar="I/N",
        help="write one of N parts, 0/N to N-1/N: processes share --out, or "
        "each has its own, whose files are then copied into one",
    )


def out(parser, required=True):
    parser.add_argument(
        "--out", required=required, metavar="DIR", help="where to write"
    )
