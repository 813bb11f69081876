"""The parsers of `augment` and `import`, which make augmented files.

Options that the user leaves out stay away from the settings of the augmenter,
so that their defaults stand in one place; a test compares what the help says.
"""

import argparse

from keras_mmel_cli import shared
from keras_mmel_cli import values


def augment(commands):
    parser = shared.command(
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
    shared.data(parser)
    parser.add_argument(
        "--split",
        default="train",
        help="split to read and to write (default: train)",
    )
    parser.add_argument("--data_dir", help="where TFDS keeps its data sets")
    parser.add_argument(
        "--limit",
        type=values.positive,
        metavar="N",
        help="only the first N examples",
    )
    given = argparse.SUPPRESS
    parser.add_argument(
        "--num_augmented",
        type=values.positive,
        metavar="N",
        default=given,
        help="samples of each example (default: 4)",
    )
    parser.add_argument(
        "--mask_ratio",
        type=values.share,
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
        type=values.positive,
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
        type=values.positive,
        default=given,
        metavar="N",
        help="fillings that beam search keeps (default: one more than samples)",
    )
    parser.add_argument(
        "--slots",
        type=values.positive,
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
    shared.shards(parser)
    shared.shard(parser)
    shared.out(parser)


def import_views(commands):
    parser = shared.command(
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
    shared.data(parser)
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
    shared.shards(parser)
    shared.out(parser, required=False)
