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
much of the weight these have, looked at before every epoch. The recipe is that
of `examples.quickstart`; nothing was tuned.

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

from examples import quickstart
from examples import records
from examples import runs
from experiments import RESULTS
from experiments import digits_training
from experiments import digits_views

METHODS = ("plain", *digits_training.OBJECTIVES)
NUM_VIEWS = 6


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
    add("--epochs", type=int, default=12, help=f"{quickstart.PASSES} passes")
    add("--threads", type=int, default=1, help="CPU threads")
    add(
        "--out",
        default=f"{RESULTS}/digits",
        help="folder of the records",
    )
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
                "passes": quickstart.PASSES,
                "batch_size": quickstart.BATCH_SIZE,
                "learning_rate": quickstart.LEARNING_RATE,
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


def main(argv=None):
    args = parse_arguments(argv)
    words = sys.argv[1:] if argv is None else argv
    command = records.command_line([__file__, *words])
    run_all(args, pathlib.Path(args.out), command)


def run_all(args, out, command):
    """Make the records that are not there."""
    tf.config.threading.set_intra_op_parallelism_threads(args.threads)
    tf.config.threading.set_inter_op_parallelism_threads(args.threads)
    for settings in configurations(args):
        name = record_name(settings)
        path = out / f"{name}.json"
        if records.is_recorded(path):
            print(f"{name}: finished before", flush=True)
            continue
        start, cpu = time.perf_counter(), time.process_time()
        keras.utils.clear_session()
        trainer = digits_training.Trainer(settings)
        found = [trainer.run(seed) for seed in range(args.seeds)]
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
