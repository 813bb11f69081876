"""BERT on GLUE: MMEL beside the baselines of the paper.

Every step for four tasks, three seeds, and both kinds of labels (the paper's
tables 3 and 4), with a small BERT on two CPU cores:

    python -m examples.glue all --tasks rte mrpc cola stsb --seeds 0 1 2 \
        --masked_lm BERT_TINY --teacher BERT_TINY --student BERT_TINY \
        --learning_rate 5e-4 --data_dir DATA --labels teacher original

where BERT_TINY is a small masked LM in Hugging Face layout and DATA a TFDS
folder. Without the presets it is the paper's setting, BERT-base everywhere,
meant for a GPU. The steps one by one, with the same options:

    teacher   fine-tune the teacher of each task: a baseline
    augment   write 4 samples of each training example by the masked LM
    label     predict the labels of originals and samples by the teacher
    train     fine-tune the students and write a record of each run
    all       these four
    table     print what the records say

A minute, to see that it works:

    python -m examples.glue all --tasks rte --limit 64 --epochs 1 ...

Methods, as in section 4.2 of the paper:

    baseline  the originals alone
    da-long   one view of each example, for `num_views` times as many epochs
    uniform   `num_views` views of each example, all of the same weight
    mmel-h    the views weighted by their losses (hard)
    mmel-s    the same against the prediction for the original (soft)

Labels of the augmented views: `teacher` (its predictions, as in table 3 of
the paper) or `original` (those of the originals, as in table 4).

An epoch shows all samples of a sentence, unless --num_augmented writes more
than a group takes; then each epoch draws some of them.

Hyperparameters are those of the paper's appendix B: AdamW at 3e-5 with linear
decay to 0, no warm-up and no weight decay (with --weight_decay it is not
applied to biases and layer norms, as in BERT), 32 examples a batch, 3 epochs
for MNLI and QQP and 10 for the others, groups of 5. Small models want a larger
--learning_rate. The paper tries dropout 0 and 0.1: 0.1 here.

Development scores are taken after every epoch. The paper does not say which
epoch its tables report; records have the last one and the best one (chosen by
the very score that it reports, so it is the higher the more epochs there are);
--report chooses which one the table and the submission files are of.

The same command continues what was interrupted and skips what is finished.
Small models use cores better by themselves: start it once for each task, with
--threads 1, side by side. A record tells what its run took (`cpu_seconds`).
"""

import argparse
import pathlib
import sys

import keras

from examples import glue_scores
from examples import glue_settings as naming
from examples import glue_steps
from examples import glue_work
from examples import options
from examples.glue_tasks import TASKS

STEPS = ("teacher", "augment", "label", "train", "all", "table")
BERT_BASE = "hf://google-bert/bert-base-uncased"


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m examples.glue",
        description=__doc__.partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("step", choices=STEPS)
    add("--tasks", nargs="+", choices=TASKS, default=["rte"])
    add("--data_dir", help="TFDS folder that has the data; else download")
    add("--method", nargs="+", choices=(*naming.METHODS, "all"), default=None)
    add("--labels", nargs="+", choices=naming.LABELS, default=["teacher"])
    add("--seeds", nargs="+", type=int, default=[0])
    for name, what in [
        ("student", "what is fine-tuned"),
        ("teacher", "what the teacher is made of"),
        ("masked_lm", "what fills the masks"),
    ]:
        add(f"--{name}", default=BERT_BASE, help=f"preset of {what}")
    add("--epochs", type=int, help="3 or 10 by the task; da-long: times views")
    add("--batch_size", type=int, default=32, help="examples, not views")
    add("--learning_rate", type=float, default=3e-5)
    add("--weight_decay", type=float, default=0.0)
    add("--dropout", type=float, default=0.1)
    add("--max_length", type=int, default=128, help="tokens of an example")
    add("--num_views", type=int, default=5, help="the original included")
    add(
        "--num_augmented",
        type=int,
        help="samples of a text in all; those of a group by default",
    )
    options.add_objective(parser)
    options.add_soft_gradient(parser)
    add("--mask_ratio", type=float, default=0.4)
    add("--search", choices=("greedy", "beam"), default="greedy")
    add("--unit", choices=("token", "word"), default="token")
    add("--pairs", choices=("separate", "concatenated"), default="separate")
    add("--augment_seed", type=int, default=0)
    add("--teacher_seed", type=int, default=0)
    add("--teacher_epochs", type=int, help="those of the student by default")
    add("--teacher_learning_rate", type=float, help="likewise")
    add("--limit", type=int, help="the first so many training examples")
    add("--eval_limit", type=int, help="the same for development sets")
    add("--report", choices=("best", "last"), default="last", help="epoch")
    add("--submissions", help="folder for the test sets' predictions")
    options.add_places(parser, "glue")
    args = parser.parse_args(argv)
    counts = ("epochs", "batch_size", "teacher_epochs", "limit")
    counts += ("num_augmented",)
    options.check_positive(parser, args, counts)
    if args.num_views < 2:
        parser.error("--num_views must be at least 2, the original included")
    if args.num_augmented and args.num_augmented < args.num_views - 1:
        parser.error("--num_augmented must be at least --num_views less 1")
    chosen = args.method or ("baseline", "uniform", "mmel-h", "mmel-s")
    args.methods = naming.METHODS if "all" in chosen else tuple(chosen)
    args.out = pathlib.Path(args.out)
    args.work_dir = pathlib.Path(args.work_dir)
    args.verbose = 1 if sys.stdout.isatty() else 0
    return args


def main(argv=None):
    args = parse_arguments(argv)
    if args.step != "table":
        if args.threads:
            glue_steps.bound_threads(args.threads)
        words = sys.argv[1:] if argv is None else argv
        for task in args.tasks:
            keras.utils.clear_session()
            run_task(args, TASKS[task], [__file__, *words])
    glue_scores.print_table(args.out, args.report)


def record_path(argv):
    """Where the record of one run goes; `argv` names one of everything."""
    return glue_work.record_path(parse_arguments(argv))


def work(argv):
    """What kind of work one run is, and how many views it takes."""
    args = parse_arguments(argv)
    return f"views of {args.student}", glue_work.views(args)


def measure(kind):
    """Views a second of training `kind`."""
    return glue_work.views_per_second(kind.removeprefix("views of "))


def run_task(args, task, command):
    """The steps of one task."""
    if args.step in ("teacher", "all") and _needs_teacher(args):
        glue_steps.make_teacher(args, task, command)
    if args.step in ("augment", "all") and _needs_views(args):
        glue_steps.augment(args, task)
    if args.step in ("label", "all") and _needs_teacher(args):
        glue_steps.label(args, task)
    if args.step in ("train", "all"):
        glue_steps.train_students(args, task, command)


def _needs_views(args):
    return args.step != "all" or set(args.methods) != {"baseline"}


def _needs_teacher(args):
    wanted = "teacher" in args.labels and _needs_views(args)
    return args.step != "all" or wanted


if __name__ == "__main__":
    main()
