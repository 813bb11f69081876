"""What a run of GLUE depends on, and the names that follow from it."""

import pathlib

from examples import options
from examples.glue_tasks import TASKS
from examples.options import digest

METHODS = ("baseline", "da-long", "uniform", "mmel-h", "mmel-s")
LABELS = ("teacher", "original")
# As in BERT's own code. The paper does not tell.
EPSILON = 1e-6
# Never decayed, as in BERT: by name, for a bias of attention is a matrix.
NOT_DECAYED = ("bias", "gamma", "beta")


def augment_settings(args, task):
    """What the augmented files of a task depend on."""
    return {
        "task": task,
        "masked_lm": preset_name(args.masked_lm),
        "num_augmented": args.num_augmented or args.num_views - 1,
        "mask_ratio": args.mask_ratio,
        "search": args.search,
        "unit": args.unit,
        "pairs": args.pairs,
        "augment_seed": args.augment_seed,
        "max_length": args.max_length,
        "limit": args.limit,
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
    return augment_settings(args, task) | {
        "teacher": teacher_settings(args, task)
    }


def train_settings(args, task, method, labels, seed):
    """Everything that the result of one run depends on."""
    settings = {
        "task": task,
        "method": method,
        "labels": labels,
        "seed": seed,
        "student": preset_name(args.student),
        "epochs": args.epochs or TASKS[task].epochs,
        "eval_every": 1,
        "batch_size": args.batch_size,
        "learning_rate": args.learning_rate,
        "weight_decay": args.weight_decay,
        "epsilon": EPSILON,
        "dropout": args.dropout,
        "max_length": args.max_length,
        "limit": args.limit,
        "eval_limit": args.eval_limit,
        "num_views": 1,
        "lambda_p": None,
        "lambda_t": None,
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
    if method.startswith("mmel"):
        settings["lambda_p"] = args.lambda_p
    if method == "mmel-s":
        settings["lambda_t"] = args.lambda_t
    return settings | options.chosen(args, settings)


def runs(args, task):
    """(method, labels) of a task's runs, in the order in which they run."""
    chosen = []
    for method in args.methods:
        if method == "baseline":
            chosen.append((method, None))
        else:
            chosen.extend((method, labels) for labels in args.labels)
    return chosen


def preset_name(preset):
    """A name for a preset, without a path of the machine in it."""
    if "://" in preset:
        return preset
    return pathlib.Path(preset).name or preset


def run_name(settings):
    """A name for the files of a run, another one for other settings."""
    student = settings["student"].rpartition("/")[2]
    parts = [settings["task"], student, settings["method"], settings["labels"]]
    named = "-".join(part for part in parts if part)
    return f"{named}-seed{settings['seed']}-{digest(settings)}"
