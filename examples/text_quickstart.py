"""MMEL on a CSV of texts: augment, label, train, export, serve.

The whole journey on a file of your own, here on a small made one (reviews
from a grammar, two classes), with a small BERT masked LM in Hugging Face
layout at BERT_TINY, in a few minutes on two CPU cores:

    python -m examples.text_quickstart --masked_lm BERT_TINY \
        --learning_rate 5e-4

and on your own file, one text column or the two of a pair; labels are words
or class numbers, or values (regression):

    python -m examples.text_quickstart --masked_lm BERT_TINY \
        --learning_rate 5e-4 --csv reviews.csv --text review --label stars

Without --masked_lm it is BERT-base from the Hugging Face hub, which wants a
GPU or patience. The steps:

    augment   four samples of each training text by the masked LM
    teacher   fine-tune a classifier on the originals
    label     let it label originals and samples
    train     the same classifier three ways, some seeds each:
              baseline  on the originals
              uniform   on groups of five views, all of the same weight
              mmel-h    on the groups, views weighted by their losses (hard)
    export    the last mmel-h model as a SavedModel that takes strings
    serve     load it with TensorFlow alone and ask it about test texts

All three see each example once an epoch and take as many steps; a step of the
last two sees five times the texts. It prints a table and writes a record
(runs/text_quickstart.json). To make the project's record anew:

    python -m examples.text_quickstart --masked_lm BERT_TINY \
        --learning_rate 5e-4 --out experiments/results/text_quickstart.json
"""

import argparse
import os
import pathlib
import shutil
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np

from examples import records
from examples import text_quickstart_data as data
from examples import text_quickstart_steps as steps
from keras_mmel import text
from keras_mmel.text import files
from keras_mmel.text import load_table

BERT_BASE = "hf://google-bert/bert-base-uncased"
# What a run writes, and removes when it starts.
PARTS = ("train.csv", "test.csv", "augmented", "labelled", "served")
SHOW = 3
_FILES = ("csv", "masked_lm", "classifier")


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m examples.text_quickstart",
        description=__doc__.partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--csv", help="your file with a header; made reviews without it")
    add("--text", nargs="+", default=["text"], help="its text column, or two")
    add("--label", default="label", help="its column with the labels")
    add("--test_fraction", type=float, default=0.5, help="kept for testing")
    add("--masked_lm", default=BERT_BASE, help="preset: directory, hf://...")
    add("--classifier", help="preset to fine-tune; that of the masked LM")
    add("--num_views", type=int, default=5, help="the original included")
    add("--mask_ratio", type=float, default=0.4)
    add("--examples", type=int, default=600, help="made reviews in all")
    add("--epochs", type=int, default=8)
    add("--batch_size", type=int, default=16)
    add("--learning_rate", type=float, default=3e-5)
    add("--max_length", type=int, default=64, help="tokens of a text")
    add("--seeds", type=int, default=3, help="runs of each method")
    add("--work_dir", default="runs/text_quickstart", help="data and models")
    add("--out", default="runs/text_quickstart.json", help="the record")
    args = parser.parse_args(argv)
    for name in ("epochs", "batch_size", "seeds"):
        if getattr(args, name) < 1:
            parser.error(f"--{name} must be at least 1")
    if args.num_views < 2:
        parser.error("--num_views must be at least 2, the original included")
    if len(args.text) > 2:
        parser.error("--text takes one column, or the two of a pair")
    args.work_dir = pathlib.Path(args.work_dir)
    args.classifier = args.classifier or args.masked_lm
    return args


def prepare(args):
    """Training and test file as sources, and the number of outputs."""
    if args.csv:
        examples, names = data.read_examples(args.csv, args.text, args.label)
    else:
        examples = data.make_reviews(args.examples, seed=0)
        names = data.LABELS
    sources = []
    for name, part in zip(
        ("train", "test"),
        data.split(examples, args.test_fraction, seed=0),
        strict=True,
    ):
        path = args.work_dir / f"{name}.csv"
        data.write_csv(path, part, names)
        columns = data.columns_of(part)
        sources.append(
            files.from_csv(path, columns, "label", label_names=names)
        )
    if sources[0].label_kind == "value":
        return *sources, 1
    return *sources, 1 + max(one.label for one in examples)


def augment(args, source):
    augmenter = text.MaskedLMAugmenter(
        text.load_masked_lm(args.masked_lm),
        num_augmented=args.num_views - 1,
        mask_ratio=args.mask_ratio,
        max_length=args.max_length,
    )
    text.write_augmented(args.work_dir / "augmented", source, augmenter)


class Clock:
    """Names the steps as they begin and takes their times."""

    def __init__(self):
        self.seconds = {}
        self._name = self._start = None

    def begin(self, name=None):
        now = time.perf_counter()
        if self._name is not None:
            self.seconds[self._name] = round(now - self._start, 1)
        self._name, self._start = name, now
        if name is not None:
            print(name, flush=True)


def main(argv=None):
    args = parse_arguments(argv)
    for part in PARTS:
        path = args.work_dir / part
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    clock = Clock()
    source, test_source, num_classes = prepare(args)
    clock.begin("augment")
    augment(args, source)
    tokenizer = text.load_text_classifier(args.classifier, 1).tokenizer
    plain, test = (
        load_table(one, tokenizer, max_length=args.max_length)
        for one in (source, test_source)
    )
    clock.begin("teacher")
    teacher, _ = steps.train(args, "baseline", num_classes, plain, seed=0)
    teacher_scores = steps.evaluate(teacher, test)
    clock.begin("label")
    labelled = args.work_dir / "labelled"
    text.label_augmented(
        args.work_dir / "augmented",
        teacher,
        labelled,
        max_length=args.max_length,
    )
    groups = load_table(labelled, tokenizer, max_length=args.max_length)
    runs = []
    for method in steps.METHODS:
        clock.begin(f"train {method}")
        table = plain if method == "baseline" else groups
        for seed in range(args.seeds):
            classifier, losses = steps.train(
                args, method, num_classes, table, seed
            )
            runs.append(
                {
                    "method": method,
                    "seed": seed,
                    "curves": {"loss": np.round(losses, 4)},
                    "scores": steps.evaluate(classifier, test),
                }
            )
    clock.begin("export and serve")
    served = steps.serve(args, classifier, test_source, test)
    clock.begin()
    summary = steps.summarize(runs)
    steps.print_summary(summary)
    for answer in served["answers"]:
        said = answer.get("label", answer["outputs"].tolist())
        print(f"{' | '.join(answer['texts'])} -> {said}", flush=True)
    words = sys.argv[1:] if argv is None else argv
    settings = {
        name: pathlib.Path(value).name if name in _FILES and value else value
        for name, value in vars(args).items()
        if name not in ("work_dir", "out")
    }
    records.write_record(
        args.out,
        {
            "command": records.command_line([__file__, *words]),
            "method": "text quickstart",
            "settings": settings,
            "examples": {"train": len(source), "test": len(test_source)},
            "environment": records.environment(),
            "seconds": clock.seconds,
            "hours": sum(clock.seconds.values()) / 3600,
            "teacher": teacher_scores,
            "views": steps.views_of(labelled, SHOW),
            "runs": runs,
            "scores": summary,
            "served": served,
        },
    )


if __name__ == "__main__":
    main()
