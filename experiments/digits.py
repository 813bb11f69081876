"""When the hard objective hurts: shifts that cut digits away.

    python -m experiments.digits

A small convnet learns 200 of scikit-learn's digits from groups of six views,
the original and five random shifts by up to 1, 2 or 3 pixels of 8. A larger
shift cuts away more, and some views lose their label. Methods:

    plain          the originals alone, for as many steps
    uniform        six views of each digit, all of the same weight
    hard           the views weighted by their losses (mmel-h)
    soft           the same against the prediction for the original (mmel-s)
    uniform-whole  as `uniform`, without views that lost over 20 % of their ink
    hard-whole     as `hard`, without them
    uniform-fewer  as `uniform`, without as many views of each group, whatever
                   they have lost; and `hard-fewer`

Beside accuracy on the other digits, as they are and shifted by a pixel, a
record holds how many of the views have lost their label (a classifier of all
digits takes what is left for another one) or over 20 % of their ink, and how
much of the weight these have, looked at before every epoch. Nothing was tuned.

A record for each method and shift, under --out; one that is there is not made
again. About 20 minutes on one core. `python -m experiments.report` makes the
table and the figure.
"""

import argparse
import os
import pathlib
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf

import keras_mmel
from examples import quickstart
from experiments import RESULTS
from experiments import digits_views
from experiments import records
from experiments.training import runs

OBJECTIVES = ("uniform", "hard", "soft")
METHODS = ("plain", *OBJECTIVES, "uniform-whole", "hard-whole")
METHODS += ("uniform-fewer", "hard-fewer")
NUM_VIEWS = 6
# Of what an epoch consists: a pass starts a pipeline, which costs more than
# the ten steps that it feeds.
PASSES = 4
BATCH_SIZE = 20
LEARNING_RATE = 2e-3


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m experiments.digits",
        description=__doc__.partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--methods", nargs="+", choices=METHODS, default=[*METHODS])
    add("--shifts", nargs="+", type=int, choices=(1, 2, 3), default=[1, 2, 3])
    add("--seeds", type=int, default=10, help="runs of each")
    add("--epochs", type=int, default=12, help=f"{PASSES} passes")
    add("--threads", type=int, default=1, help="CPU threads")
    add("--out", default=f"{RESULTS}/digits", help="folder of the records")
    args = parser.parse_args(argv)
    runs.check_positive(parser, args, ("seeds", "epochs", "threads"))
    return args


def configurations(args):
    """The settings of every record, in the order in which they are made."""
    found = []
    for shift in args.shifts:
        for method in args.methods:
            plain = method == "plain"
            settings = {
                "method": method,
                # Plain training has no views and runs once for all.
                "shift": None if plain else shift,
                "num_views": 1 if plain else NUM_VIEWS,
                "seeds": args.seeds,
                "epochs": args.epochs,
                "passes": PASSES,
                "batch_size": BATCH_SIZE,
                "learning_rate": LEARNING_RATE,
                "training_digits": digits_views.TRAINING_DIGITS,
                "lambda_p": 1.0,
                "lambda_t": 1.0,
                "cut": digits_views.CUT,
            }
            if settings not in found:
                found.append(settings)
    return found


def record_name(settings):
    shift = settings["shift"]
    name = settings["method"] + (f"-shift{shift}" if shift else "")
    return f"{name}-{runs.digest(settings)}"


class Look(keras.callbacks.Callback):
    """Before every epoch: which views are bad, and what they weigh.

    The groups are those of the first pass of that epoch.

    Args:
        settings: Those of the run.
        seed: Its seed.
    """

    def __init__(self, settings, seed):
        super().__init__()
        self.curves = {}
        self._settings, self._seed = settings, seed
        cut, lost = digits_views.what_is_lost(settings["shift"])
        self._bad = {"cut": cut > settings["cut"], "lost": lost}

    def on_epoch_begin(self, epoch, logs=None):
        shift, views = self._settings["shift"], self._settings["num_views"]
        (_, labels), _ = digits_views.load()
        groups, down, right = digits_views.groups_of(
            shift, views, self._seed, epoch
        )
        x = {"views": groups}
        mask = np.ones(down.shape, bool)
        if masked := digits_views.mask_of(self._settings["method"]):
            x, _ = masked(x, labels)
            mask = x["mask"].numpy()
        weights = self.model.view_weights(x, labels)
        rows = np.arange(len(labels))[:, None]
        for name, table in self._bad.items():
            bad = table[rows, down + shift, right + shift] & mask
            for what, value in (
                (f"{name}_views", bad.sum() / mask.sum()),
                (f"{name}_weight", (weights * bad).sum() / weights.sum()),
            ):
                self.curves.setdefault(what, []).append(round(float(value), 5))


def train(settings, seed):
    """One run; its part of the record."""
    keras.utils.clear_session()
    keras.utils.set_random_seed(seed)
    model = network = quickstart.make_network()
    callbacks = []
    if settings["method"] != "plain":
        # Its default settings: lambda_p = lambda_t = 1.
        objective = settings["method"].partition("-")[0]
        model = keras_mmel.MMELModel(network, objective)
        callbacks = [Look(settings, seed)]
    model.compile(
        keras.optimizers.Adam(settings["learning_rate"]),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    start = time.process_time()
    log = model.fit(
        digits_views.training_data(settings, seed),
        epochs=settings["epochs"],
        verbose=0,
        shuffle=False,
        callbacks=callbacks,
    ).history
    names = ("loss", "effective_views")
    curves = {
        name: np.round(log[name], 5).tolist() for name in names if name in log
    }
    for look in callbacks:
        curves |= look.curves
    network.compile(
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    _, (images, labels) = digits_views.load()
    loss, accuracy = network.evaluate(images, labels, verbose=0)
    moved = digits_views.neighbours(images), np.tile(labels, 8)
    scores = {
        "accuracy": accuracy,
        "accuracy_shifted": network.evaluate(*moved, verbose=0)[1],
        "test_loss": loss,
        "cpu_seconds": round(time.process_time() - start, 2),
    }
    for name, curve in curves.items():
        if name != "loss":
            scores[name] = float(np.mean(curve))
    return {"seed": seed, "scores": scores, "curves": curves}


def main(argv=None):
    args = parse_arguments(argv)
    words = sys.argv[1:] if argv is None else argv
    command = records.command_line([__file__, *words])
    tf.config.threading.set_intra_op_parallelism_threads(args.threads)
    tf.config.threading.set_inter_op_parallelism_threads(args.threads)
    for settings in configurations(args):
        name = record_name(settings)
        path = pathlib.Path(args.out) / f"{name}.json"
        if records.is_recorded(path):
            print(f"{name}: finished before", flush=True)
            continue
        start, cpu = time.perf_counter(), time.process_time()
        found = [train(settings, seed) for seed in range(args.seeds)]
        cpu = time.process_time() - cpu
        records.write_record(
            path,
            {
                "command": command,
                "method": settings["method"],
                "settings": settings,
                "environment": records.environment(),
                "hours": (time.perf_counter() - start) / 3600,
                "cpu_seconds": cpu,
                "runs": found,
            },
        )
        accuracy = np.mean([run["scores"]["accuracy"] for run in found])
        print(f"{name}: {accuracy:.2%}, {cpu:.0f} CPU s", flush=True)


if __name__ == "__main__":
    main()
