"""What the experiments of docs/experiments.md share: runs, then one record."""

import pathlib
import time

import tensorflow as tf

import keras_mmel
from examples import records

RUNS = pathlib.Path("runs/evidence")
RESULTS = records.ROOT / "experiments/results/evidence"


def single_threaded():
    """One thread for TensorFlow, so that CPU-seconds compare."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def one_thread():
    """The same for a dataset."""
    options = tf.data.Options()
    options.threading.private_threadpool_size = 1
    return options


def compare(name, make_model, groups, test, methods, seeds, **settings):
    """Compares, resuming, and writes one record of all runs.

    Args:
        name: Of the record, and of the folder of its runs.
        make_model: As for `keras_mmel.compare`.
        groups: The same.
        test: The same.
        methods: Objectives by name.
        seeds: The seeds.
        **settings: Further arguments of `keras_mmel.compare`.

    Returns:
        The `Comparison`.
    """
    start = time.time()
    about = {"environment": records.environment()}
    found = keras_mmel.compare(
        make_model,
        groups,
        test,
        methods,
        seeds,
        records=RUNS / name,
        about=about,
        **settings,
    )
    runs = [
        {
            "method": run["method"],
            "seed": run["seed"],
            "scores": {k: round(v, 6) for k, v in run["scores"].items()},
            "log": {k: round(v, 6) for k, v in run["log"].items()},
            "cpu_seconds": run["cpu_seconds"],
        }
        for run in found.runs
    ]
    records.write_record(
        RESULTS / f"{name}.json",
        {
            "command": records.command_line(),
            "settings": [run["settings"] for run in found.runs][0],
            "baseline": found.baseline,
            **about,
            "hours": round((time.time() - start) / 3600, 3),
            "runs": runs,
        },
    )
    print(found)
    return found
