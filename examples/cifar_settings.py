"""What a run on CIFAR depends on: its options, settings and name."""

import argparse
import hashlib
import json
from collections.abc import Iterable

from examples import cifar_data
from examples import cifar_model

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
    add("--lambda_p", type=float, default=1.0)
    add("--lambda_t", type=float, default=1.0)
    add("--learning_rate", type=float, default=0.1)
    add("--weight_decay", type=float, default=5e-4)
    add("--limit", type=int, help="class-balanced number of training images")
    add("--test_limit", type=int, help="the same for test images")
    add(
        "--mixed_precision",
        choices=("mixed_float16", "mixed_bfloat16"),
        help="float32 throughout where it is left out",
    )


def check_arguments(
    parser: argparse.ArgumentParser, args: argparse.Namespace
) -> None:
    """Refuse what cannot be, and name the methods in `args.methods`."""
    for name in ("epochs", "batch_size", "num_views", "eval_every", "replicas"):
        if getattr(args, name) < 1:
            parser.error(f"--{name} must be at least 1")
    if args.batch_size % args.replicas:
        parser.error("--batch_size must be a multiple of --replicas")
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
    return {
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


def run_name(settings: dict) -> str:
    """A name for the files of a run, another one for other settings."""
    text = json.dumps(settings, sort_keys=True).encode()
    digest = hashlib.sha256(text).hexdigest()[:8]
    return (
        "{dataset}-resnet{depth}-{method}-seed{seed}-".format(**settings)
        + digest
    )
