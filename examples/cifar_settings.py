"""What a run on CIFAR depends on: its options, settings and name."""

import argparse
from collections.abc import Iterable

from examples import cifar_data
from examples import cifar_model
from examples import options

METHODS = ("da", "da-long", "uniform", "mmel-h", "mmel-s")
RIVALS = ("maxup", "tilted", "consistency")
# Whose result depends on it.
WITH_LAMBDA_P = ("mmel-h", "mmel-s", "tilted")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that a result depends on, with the paper's defaults."""
    add = parser.add_argument
    add("--dataset", choices=cifar_data.CLASSES, default="cifar10")
    add(
        "--method",
        nargs="+",
        choices=(*METHODS, *RIVALS, "all", "rivals"),
        default=["mmel-h"],
        help="all: the five of the paper; rivals: the other three",
    )
    add("--depth", type=int, default=20, help="6n + 2")
    add("--seeds", nargs="+", type=int, default=[0])
    add("--epochs", type=int, default=200, help="da-long: times num_views")
    add("--batch_size", type=int, default=128, help="images, not views")
    add("--num_views", type=int, default=10, help="the original included")
    options.add_objective(parser)
    options.add_image_training(parser)
    add("--limit", type=int, help="class-balanced number of training images")
    add("--test_limit", type=int, help="the same for test images")


def check_arguments(
    parser: argparse.ArgumentParser, args: argparse.Namespace
) -> None:
    """Refuse what cannot be, and name the methods in `args.methods`."""
    counts = ("epochs", "batch_size", "num_views", "eval_every", "replicas")
    options.check_positive(parser, args, counts)
    options.check_replicas(parser, args)
    args.methods = methods(args.method)


def methods(words: Iterable[str]) -> tuple[str, ...]:
    """The methods that `--method` names, each once."""
    groups = {"all": METHODS, "rivals": RIVALS}
    return tuple(
        dict.fromkeys(m for word in words for m in groups.get(word, (word,)))
    )


def run_settings(args: argparse.Namespace, method: str, seed: int) -> dict:
    """Everything that the result of one run depends on."""
    views = args.num_views if method not in ("da", "da-long") else 1
    stretch = args.num_views if method == "da-long" else 1
    settings = {
        "dataset": args.dataset,
        "method": method,
        "seed": seed,
        "depth": args.depth,
        "epochs": args.epochs * stretch,
        "batch_size": args.batch_size,
        "num_views": views,
        "lambda_p": args.lambda_p if method in WITH_LAMBDA_P else None,
        "lambda_t": args.lambda_t if method == "mmel-s" else None,
        "learning_rate": args.learning_rate,
        "momentum": cifar_model.MOMENTUM,
        "weight_decay": args.weight_decay,
        "drops": list(cifar_model.DROPS),
        "drop_factor": cifar_model.DROP_FACTOR,
        "limit": args.limit,
        "test_limit": args.test_limit,
        "eval_every": args.eval_every * stretch,
        "replicas": args.replicas,
        "mixed_precision": args.mixed_precision,
    }
    return settings | options.chosen(args, settings)


def run_name(settings: dict) -> str:
    """A name for the files of a run, another one for other settings."""
    name = "{dataset}-resnet{depth}-{method}-seed{seed}".format(**settings)
    return f"{name}-{options.digest(settings)}"
