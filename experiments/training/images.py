"""What the runs on CIFAR and on ImageNet share: options, settings, training."""

import argparse
import sys
from collections.abc import Callable
from collections.abc import Iterable

import keras
import numpy as np
import scipy.special

import keras_mmel
from examples import cifar as recipe
from experiments.training import runs
from keras_mmel import objectives
from keras_mmel.scores.summary import calibration_error


def _soft(model, settings):
    soft = objectives.Soft(
        float(settings["lambda_p"]),
        settings["lambda_t"],
        stop_gradient=not settings.get("soft_gradient", False),
    )
    return keras_mmel.MMELModel(model, soft)


def _hard(model, settings):
    hard = objectives.Hard(float(settings["lambda_p"]))
    return keras_mmel.MMELModel(model, hard)


# Method to what it makes of a model. `experiments.rivals` adds some.
METHODS = {
    "da": lambda model, settings: model,
    "da-long": lambda model, settings: model,
    "uniform": lambda model, settings: keras_mmel.MMELModel(model, "uniform"),
    "mmel-h": _hard,
    "mmel-s": _soft,
}
# Whose result depends on it.
WITH_LAMBDA_P = {"mmel-h", "mmel-s"}


def add_options(parser: argparse.ArgumentParser, name: str) -> None:
    """The options of an image script, with the paper's defaults."""
    add = parser.add_argument
    add("--seeds", nargs="+", type=int, default=[0])
    add("--num_views", type=int, default=10, help="the original included")
    add("--learning_rate", type=float, default=0.1)
    add("--weight_decay", type=float, default=5e-4)
    runs.add_objective(parser)
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
    add("--limit", type=int, help="number of training images")
    add(
        "--mixed_precision",
        choices=("mixed_float16", "mixed_bfloat16"),
        help="float32 throughout where it is left out",
    )
    add("--replicas", type=int, default=1, help="GPUs to train on")
    runs.add_places(parser, name)


def check_options(
    parser: argparse.ArgumentParser,
    args: argparse.Namespace,
    methods: Iterable[str],
) -> None:
    """Refuse what cannot be."""
    counts = ("epochs", "batch_size", "num_views", "replicas", "limit")
    runs.check_positive(parser, args, counts)
    if args.batch_size % args.replicas:
        parser.error("--batch_size must be a multiple of --replicas")
    if args.fixed_views is None:
        return
    alone = all(method in ("da", "da-long") for method in methods)
    taken = 1 if alone else args.num_views - (not args.augment_original)
    if args.fixed_views < max(taken, 1):
        parser.error(
            f"--fixed_views must be at least {max(taken, 1)}: so many "
            "augmented views a group takes"
        )


def settings_of(args: argparse.Namespace, method: str, seed: int) -> dict:
    """The settings of a run that both scripts have."""
    settings = {
        "method": method,
        "seed": seed,
        "depth": args.depth,
        "batch_size": args.batch_size,
        "num_views": 1 if method in ("da", "da-long") else args.num_views,
        "lambda_p": args.lambda_p if method in WITH_LAMBDA_P else None,
        "lambda_t": args.lambda_t if method == "mmel-s" else None,
        "learning_rate": args.learning_rate,
        "momentum": recipe.MOMENTUM,
        "weight_decay": args.weight_decay,
        "drop_factor": recipe.DROP_FACTOR,
        "limit": args.limit,
        "replicas": args.replicas,
        "mixed_precision": args.mixed_precision,
    }
    return settings | runs.chosen(args, settings)


def compile_model(
    model: keras.Model, settings: dict, learning_rate: float | Callable
) -> keras.Model:
    """Wrap `model` as the method asks; compile as section 4.1 of the paper."""
    model = METHODS[settings["method"]](model, settings)
    recipe.compile_model(model, learning_rate, settings["momentum"])
    model.optimizer.build(model.trainable_variables)
    return model


def schedule(
    settings: dict, steps_per_epoch: int
) -> keras.optimizers.schedules.LearningRateSchedule:
    """The rate of each step: down at parts of the run (section 4.1)."""
    steps, drops = settings["epochs"] * steps_per_epoch, settings["drops"]
    return keras.optimizers.schedules.PiecewiseConstantDecay(
        # Keras drops the rate after the step of this number.
        [round(drop * steps) - 1 for drop in drops],
        [
            settings["learning_rate"] * settings["drop_factor"] ** i
            for i in range(len(drops) + 1)
        ],
    )


def training_data(settings: dict, examples, augment: Callable, **options):
    """Groups of views, or single augmented views for the baselines.

    Args:
        settings: Those of the run.
        examples: A `tf.data.Dataset` of (image, label), one at a time.
        augment: An augmentation of `keras_mmel.data`.
        options: Further ones of `group_views`.

    Returns:
        A `tf.data.Dataset` of batches.
    """
    single = settings["num_views"] == 1
    groups = keras_mmel.data.group_views(
        examples,
        augment,
        settings["num_views"],
        settings["batch_size"],
        seed=settings["seed"],
        augment_original=single or settings.get("augment_original", False),
        pool=settings.get("fixed_views"),
        **options,
    )
    if single:
        groups = groups.map(lambda x, y: (x["views"][:, 0], y))
    return groups


def train(
    settings: dict,
    progress: runs.Progress,
    strategy,
    images: int,
    build: Callable[[int], keras.Model],
    data: Callable,
    **options,
) -> keras.Model:
    """Train by `settings`.

    Args:
        settings: Those of the run.
        progress: Of the run; what it finds on disk is gone on from.
        strategy: A `tf.distribute.Strategy`.
        images: How many training images there are.
        build: From the steps of an epoch to the compiled model.
        data: From a `keras_mmel.data.EpochCounter` to the training data.
        options: Further ones of `fit`.
    """
    steps = images // settings["batch_size"]
    if not steps:
        raise ValueError(
            "The batch size must be at most the number of training images. "
            f"Received: batch_size={settings['batch_size']} for {images} images"
        )
    keras.utils.clear_session()
    keras.utils.set_random_seed(settings["seed"])
    keras.config.set_dtype_policy(settings["mixed_precision"] or "float32")
    with strategy.scope():
        model = build(steps)
        progress.restore(model)
    counter = keras_mmel.data.EpochCounter(progress.epoch)
    model.fit(
        data(counter),
        epochs=settings["epochs"],
        initial_epoch=progress.epoch,
        callbacks=[counter, progress],
        # The data are shuffled; plain Keras would warn that it does not.
        shuffle=False,
        verbose=1 if sys.stdout.isatty() else 2,
        **options,
    )
    return model


def score(model: keras.Model, images: np.ndarray, labels: np.ndarray) -> dict:
    """Accuracy, NLL and calibration error of a model that gives logits."""
    logits = model.predict(images, batch_size=250, verbose=0)
    log_p = scipy.special.log_softmax(np.asarray(logits, "float64"), axis=1)
    right = log_p.argmax(axis=1) == labels
    return {
        "accuracy": float(right.mean()),
        "nll": float(-log_p[np.arange(len(labels)), labels].mean()),
        "ece": calibration_error(np.exp(log_p.max(axis=1)), right),
    }


def set_up_devices(replicas: int, threads: int | None):
    """Bound the threads; return the strategy to build the model under."""
    import tensorflow as tf

    if threads:
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
    if replicas == 1:
        return tf.distribute.get_strategy()
    return tf.distribute.MirroredStrategy([f"GPU:{i}" for i in range(replicas)])
