"""What a run on GLUE depends on: options, settings and names."""

import argparse
import pathlib
import sys

from experiments.training import runs
from experiments.training.fine_tuning import EPSILON
from experiments.training.glue_tasks import TASKS

METHODS = ("baseline", "da-long", "uniform", "mmel-h", "mmel-s")
LABELS = ("teacher", "original")
BERT_BASE = "hf://google-bert/bert-base-uncased"


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m experiments.training.glue",
        description="BERT on GLUE: the paper's tables 3, 4 and 6.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("step", choices=("prepare", "train", "all", "table"))
    add("--tasks", nargs="+", choices=TASKS, default=["rte"])
    add("--method", nargs="+", choices=(*METHODS, "all"))
    add("--labels", nargs="+", choices=LABELS, default=["teacher"])
    add("--seeds", nargs="+", type=int, default=[0])
    add("--student", default=BERT_BASE, help="preset that is fine-tuned")
    add("--teacher", default=BERT_BASE, help="preset of the teacher")
    add("--masked_lm", default=BERT_BASE, help="preset that fills the masks")
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
        help="samples of a text in all, of which each epoch draws those of a "
        "group; as many as a group takes by default",
    )
    runs.add_objective(parser)
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
    runs.add_places(parser, "glue")
    args = parser.parse_args(argv)
    counts = ("epochs", "batch_size", "teacher_epochs", "limit", "eval_limit")
    runs.check_positive(parser, args, (*counts, "num_augmented"))
    if args.num_views < 2:
        parser.error("--num_views must be at least 2, the original included")
    if args.num_augmented and args.num_augmented < args.num_views - 1:
        parser.error("--num_augmented must be at least --num_views less 1")
    chosen = args.method or ("baseline", "uniform", "mmel-h", "mmel-s")
    args.methods = METHODS if "all" in chosen else tuple(chosen)
    args.work_dir = pathlib.Path(args.work_dir)
    args.verbose = sys.stdout.isatty()
    return args


# Settings, and the names of files and runs that follow from them


def augment_settings(args, task):
    """What the augmented files of a task depend on."""
    names = ("mask_ratio", "search", "unit", "pairs", "augment_seed")
    return _some(args, *names, "max_length", "limit") | {
        "task": task,
        "masked_lm": preset_name(args.masked_lm),
        "num_augmented": args.num_augmented or args.num_views - 1,
    }


def teacher_settings(args, task):
    """Those of the run that makes a task's teacher: a baseline."""
    rate = args.teacher_learning_rate or args.learning_rate
    return train_settings(args, task, "baseline", None, args.teacher_seed) | {
        "student": preset_name(args.teacher),
        "epochs": args.teacher_epochs or args.epochs or TASKS[task].epochs,
        "learning_rate": rate,
    }


def label_settings(args, task):
    """What the labelled files of a task depend on."""
    teacher = {"teacher": teacher_settings(args, task)}
    return augment_settings(args, task) | teacher


def train_settings(args, task, method, labels, seed):
    """Everything that the result of one run depends on."""
    names = ("batch_size", "learning_rate", "weight_decay", "dropout")
    settings = _some(args, *names, "max_length", "limit", "eval_limit") | {
        "task": task,
        "method": method,
        "labels": labels,
        "seed": seed,
        "student": preset_name(args.student),
        "epochs": args.epochs or TASKS[task].epochs,
        "eval_every": 1,
        "epsilon": EPSILON,
        "num_views": 1,
        "lambda_p": args.lambda_p if method.startswith("mmel") else None,
        "lambda_t": args.lambda_t if method == "mmel-s" else None,
        "data": None,
    }
    if method == "baseline":
        return settings
    of_data = label_settings if labels == "teacher" else augment_settings
    settings |= {"num_views": args.num_views, "data": of_data(args, task)}
    if method == "da-long":
        # Every view once in so many epochs.
        settings["epochs"] *= args.num_views
        settings["eval_every"] = args.num_views
    return settings | runs.chosen(args, settings)


def _some(args, *names):
    return {name: getattr(args, name) for name in names}


def preset_name(preset):
    """A name for a preset, without a path of the machine in it."""
    return preset if "://" in preset else pathlib.Path(preset).name or preset


def run_name(settings):
    student = settings["student"].rpartition("/")[2]
    parts = [settings["task"], student, settings["method"], settings["labels"]]
    named = "-".join(part for part in parts if part)
    return f"{named}-seed{settings['seed']}-{runs.digest(settings)}"


def record_path(argv):
    """Where the record of one run goes; `argv` names one of everything."""
    args = parse_arguments(argv)
    (task,), (method,), (seed,) = args.tasks, args.methods, args.seeds
    labels = None if method == "baseline" else args.labels[0]
    settings = train_settings(args, task, method, labels, seed)
    return pathlib.Path(args.out) / f"{run_name(settings)}.json"


def folder(args, kind, settings):
    """Where the files of a step are, another folder for other settings."""
    name = f"{settings['task']}-{runs.digest(settings)}"
    return args.work_dir / kind / name
