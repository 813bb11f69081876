"""Options that the scripts of the experiments share, and names of runs.

Where the paper is silent a run may choose otherwise than by default (see
docs/choices.md). What is as by default is not among the settings of a run:
runs from before it could be chosen keep their names.
"""

import argparse
import hashlib
import json
import math
from collections.abc import Iterable
from collections.abc import Mapping

CHOICES = ("augment_original", "fixed_views", "soft_gradient")


def add_objective(parser: argparse.ArgumentParser) -> None:
    """The options of the objectives."""
    add = parser.add_argument
    add("--lambda_p", type=kl_coefficient, default=1.0, help="from 0 to inf")
    add("--lambda_t", type=float, default=1.0)


def kl_coefficient(text: str) -> float | str:
    """A value of --lambda_p; infinity stays a word, which JSON has not."""
    value = float(text)
    if not value >= 0:
        raise argparse.ArgumentTypeError(f"must be from 0 to inf, not {text}")
    return "inf" if math.isinf(value) else value


def add_soft_gradient(parser: argparse.ArgumentParser) -> None:
    """The option that lets the gradient through the soft target."""
    parser.add_argument(
        "--soft_gradient",
        action="store_true",
        help="mmel-s: the gradient flows through the soft target, too",
    )


def add_image_choices(parser: argparse.ArgumentParser) -> None:
    """What an image script may choose otherwise than by default."""
    add = parser.add_argument
    add(
        "--augment_original",
        action="store_true",
        help="view 0 of a group is augmented as well",
    )
    add(
        "--fixed_views",
        type=int,
        metavar="N",
        help="augmented views of an image in all, made once from the seed, of "
        "which each epoch takes some; new ones in every epoch without it",
    )
    add_soft_gradient(parser)


def add_image_training(parser: argparse.ArgumentParser) -> None:
    """How an image script trains, with the paper's defaults."""
    add = parser.add_argument
    add("--learning_rate", type=float, default=0.1)
    add("--weight_decay", type=float, default=5e-4)
    add(
        "--mixed_precision",
        choices=("mixed_float16", "mixed_bfloat16"),
        help="float32 throughout where it is left out",
    )


def add_replicas(parser: argparse.ArgumentParser) -> None:
    """On how many devices."""
    parser.add_argument(
        "--replicas", type=int, default=1, help="GPUs, else parts of the CPU"
    )


def add_places(parser: argparse.ArgumentParser, name: str) -> None:
    """Where a script computes and writes: nothing that a result depends on."""
    add = parser.add_argument
    add("--threads", type=int, help="CPU threads; one per core by default")
    add("--out", default=f"runs/{name}/records", help="folder of the records")
    add("--work_dir", default=f"runs/{name}", help="folder to go on from")


def check_positive(
    parser: argparse.ArgumentParser,
    args: argparse.Namespace,
    names: Iterable[str],
) -> None:
    """Refuse counts below 1; None is none."""
    for name in names:
        value = getattr(args, name)
        if value is not None and value < 1:
            parser.error(f"--{name} must be at least 1")


def check_replicas(
    parser: argparse.ArgumentParser, args: argparse.Namespace
) -> None:
    """Refuse batches that the replicas cannot share."""
    if args.batch_size % args.replicas:
        parser.error("--batch_size must be a multiple of --replicas")


def check_image_choices(
    parser: argparse.ArgumentParser,
    args: argparse.Namespace,
    methods: Iterable[str],
) -> None:
    """Refuse a pool with fewer views than the methods take of it."""
    if args.fixed_views is None:
        return
    alone = all(method in ("da", "da-long") for method in methods)
    taken = 1 if alone else args.num_views - (not args.augment_original)
    if args.fixed_views < max(taken, 1):
        parser.error(
            f"--fixed_views must be at least {max(taken, 1)}: so many "
            "augmented views a group takes"
        )


def chosen(args: argparse.Namespace, settings: Mapping) -> dict:
    """What a run chooses otherwise than by default, where it matters to it.

    Args:
        args: the options; those that a script does not have are as by default.
        settings: `method` and `num_views` of the run.

    Returns:
        Some of `CHOICES`; settings of the run like others.
    """
    given = {
        name: value
        for name in CHOICES
        if (value := getattr(args, name, None)) not in (None, False)
    }
    if settings["num_views"] == 1:
        # A single view is always augmented.
        given.pop("augment_original", None)
    if settings["method"] != "mmel-s":
        given.pop("soft_gradient", None)
    return given


def described(settings: Mapping) -> str:
    """The method of a run, and what it chooses otherwise than by default."""
    words = [settings["method"]]
    for name in CHOICES:
        if name in settings:
            value = settings[name]
            words.append(name if value is True else f"{name} {value}")
    return ", ".join(words)


def digest(settings: Mapping) -> str:
    """8 hex digits, others for other settings."""
    text = json.dumps(settings, sort_keys=True).encode()
    return hashlib.sha256(text).hexdigest()[:8]
