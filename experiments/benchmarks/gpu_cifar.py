r"""CIFAR-10 on one GPU, on the JAX backend: MMEL beside its baselines.

    python -m experiments.benchmarks.packed_images packed --data_dir DATA
    python -m experiments.benchmarks.gpu_cifar packed --method da uniform mmel-h

`MMELModel` and Keras's own step on JAX; TensorFlow need not be there. Methods,
networks, schedule, scores and options are those of `experiments.rivals`, and
the randomness of the views is JAX's. Every run leaves a record under --out,
which names the card; the same command skips what has one.

One minute on two CPU cores, to see that it works:

    python -m experiments.benchmarks.gpu_cifar packed --depth 8 --limit 200 \
        --epochs 1 --test_limit 200 --batch_size 50 --num_views 3 --method all
"""

import argparse
import os
import pathlib
import sys
import time

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import jax
import keras
import numpy as np

# For its methods.
import experiments.rivals  # noqa: F401
from examples import cifar as recipe
from experiments import RESULTS
from experiments import records
from experiments.benchmarks import jax_training
from experiments.benchmarks import packed_images
from experiments.training import cifar
from experiments.training import images

TRAINING_IMAGES = 50_000
# Steps of one program. Every run whose epoch has a multiple of it shares the
# compiled program with the others of its method.
CHUNK = 10


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benchmarks.gpu_cifar",
        description=__doc__.partition("\n")[0],
        epilog="Further options are those of experiments.training.cifar.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("images", help="folder that .packed_images wrote")
    add("--out", default=f"{RESULTS}/gpu", help="folder of the records")
    add("--commit", help="of the code, for a copy that has no history")
    add("--time", type=int, metavar="STEPS", help="time steps, train nothing")
    own, rest = parser.parse_known_args(argv)
    args = cifar.parse_arguments(rest)
    for name, value in vars(own).items():
        setattr(args, name, value)
    if args.augment_original or args.fixed_views or args.replicas != 1:
        parser.error("views are new in each epoch, on one device")
    # Scores are those of the last epoch.
    args.eval_every = args.epochs
    return args


class Trainings:
    """One compiled program for all runs that differ in nothing but values."""

    def __init__(self):
        self._trainings = {}
        self._scorers = {}

    def start(self, settings: dict) -> tuple:
        """The program for a run, and the state that it starts from."""
        keras.utils.set_random_seed(settings["seed"])
        keras.config.set_dtype_policy(settings["mixed_precision"] or "float32")
        rate = settings["learning_rate"]
        model = cifar.build_model(settings, 1, learning_rate=rate)
        if settings["method"] == "mmel-h":
            model.lambda_p = float(settings["lambda_p"])
        same = {"da-long": "da"}
        kind = (
            same.get(settings["method"], settings["method"]),
            *(settings[name] for name in ("depth", "num_views", "lambda_t")),
            settings["mixed_precision"],
        )
        if settings["method"] != "mmel-h":
            kind += (settings["lambda_p"],)
        if kind not in self._trainings:
            self._trainings[kind] = jax_training.ScannedTraining(
                model, settings["num_views"]
            )
        training = self._trainings[kind]
        return training, training.state(model)

    def scores(self, settings, training, state, test_set) -> dict:
        """Scores of what `state` holds."""
        training.write_back(state)
        trained = getattr(training.model, "model", training.model)
        key = settings["depth"], settings["mixed_precision"]
        scorer = self._scorers.setdefault(key, trained)
        # One model to predict with is one program to compile.
        scorer.set_weights(trained.get_weights())
        return images.score(scorer, *test_set)


def epoch_batches(settings, train_set, epoch, rates):
    """The chunks of an epoch, which depend on the seed and epoch alone."""
    pictures, labels = train_set
    batch, steps = settings["batch_size"], len(rates)
    random = np.random.default_rng((settings["seed"], epoch))
    order = random.permutation(len(labels))[: steps * batch]
    order = order.reshape(steps, batch)
    key = jax.random.fold_in(jax.random.key(settings["seed"]), epoch)
    keys = jax.random.split(key, steps)
    for start in range(0, steps, CHUNK):
        part = slice(start, start + CHUNK)
        chosen = order[part]
        yield pictures[chosen], labels[chosen], keys[part], rates[part]


def learning_rates(settings, steps_per_epoch):
    """The rate of every step, `(epochs, steps)`."""
    schedule = images.schedule(settings, steps_per_epoch)
    steps = np.arange(settings["epochs"] * steps_per_epoch)
    rates = np.asarray(jax.vmap(schedule)(steps), "float32")
    return rates.reshape(settings["epochs"], steps_per_epoch)


def train(settings, train_set, trainings):
    """Train by `settings`; return the program, its state, curves, seconds."""
    training, state = trainings.start(settings)
    steps = len(train_set[0]) // settings["batch_size"]
    rates, fresh = learning_rates(settings, steps), state[3]
    # Before the clock runs.
    for chunk in epoch_batches(settings, train_set, 0, rates[0]):
        training.compile(state, *chunk)
    curves, start = {}, time.perf_counter()
    for epoch in range(settings["epochs"]):
        state = (*state[:3], jax.tree.map(np.zeros_like, fresh))
        for chunk in epoch_batches(settings, train_set, epoch, rates[epoch]):
            state, logs = training.steps(state, *chunk)
        for name, value in logs.items():
            curves.setdefault(name, []).append(float(value))
    return training, state, curves, time.perf_counter() - start


def time_steps(settings, train_set, trainings, number):
    """Print the milliseconds of a step, after those that compile."""
    training, state = trainings.start(settings)
    rates = np.full(CHUNK, 1e-3, "float32")
    chunk = next(iter(epoch_batches(settings, train_set, 0, rates)))
    state, _ = jax.block_until_ready(training.steps(state, *chunk))
    begin = time.perf_counter()
    for _ in range(number // CHUNK):
        state, _ = training.steps(state, *chunk)
    jax.block_until_ready(state)
    step = (time.perf_counter() - begin) / (number // CHUNK * CHUNK)
    print(f"  {1000 * step:.2f} ms a step", flush=True)


def environment(commit):
    """Of the record, with the card that JAX sees."""
    found = records.environment()
    if found["commit"] is None and commit:
        found["commit"] = commit
    devices = jax.devices()
    if devices[0].platform != "cpu":
        found["accelerators"] = [device.device_kind for device in devices]
    return {**found, "jax": jax.__version__}


def main(argv=None, load=packed_images.load):
    args = parse_arguments(argv)
    train_set, test_set = load(args.images)
    if args.limit is None and len(train_set[0]) != TRAINING_IMAGES:
        raise FileNotFoundError(
            f"Without --limit, `images` must have all {TRAINING_IMAGES} "
            f"images. Received: a folder with {len(train_set[0])}"
        )
    train_set = recipe.balanced_subset(*train_set, args.limit)
    test_set = recipe.balanced_subset(*test_set, args.test_limit)
    words = sys.argv[1:] if argv is None else argv
    command = records.command_line([__file__, *words])
    trainings = Trainings()
    runs = [(m, seed) for seed in args.seeds for m in args.methods]
    for method, seed in runs:
        settings = cifar.run_settings(args, method, seed)
        settings["backend"] = "jax"
        name = cifar.run_name(settings)
        path = pathlib.Path(args.out) / f"{name}.json"
        print(name, flush=True)
        if records.is_recorded(path):
            print("  finished before", flush=True)
            continue
        if args.time:
            time_steps(settings, train_set, trainings, args.time)
            continue
        training, state, curves, seconds = train(settings, train_set, trainings)
        scores = trainings.scores(settings, training, state, test_set)
        records.write_record(
            path,
            {
                "command": command,
                "method": method,
                "seed": seed,
                "settings": settings,
                "environment": environment(args.commit),
                "hours": seconds / 3600,
                "curves": curves,
                "scores": scores | {"seconds": seconds},
            },
        )
        print(
            f"  accuracy {scores['accuracy']:.4f}, nll {scores['nll']:.4f}, "
            f"{seconds:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
