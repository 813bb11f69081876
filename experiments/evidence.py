"""What the experiments of docs/experiments.md share: runs, then one record."""

import pathlib

import tensorflow as tf

import keras_mmel
from experiments import records
from keras_mmel.comparison import Comparison

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
    found = _compare(name, make_model, groups, test, methods, seeds, **settings)
    _write(name, found)
    return found


def best_rates(
    name, model_maker, groups, held_out, methods, rates, chosen_by, seed, **rest
):
    """Chooses the rate of every method by a score on held-out groups.

    Args:
        name: Of the record, and of the folder of its runs.
        model_maker: From a rate to a `make_model`.
        groups: As for `keras_mmel.compare`.
        held_out: Groups.
        methods: Objectives by name.
        rates: To choose from.
        chosen_by: Name of the score; the largest accuracy, else the smallest.
        seed: Of the runs.
        **rest: Further arguments of `keras_mmel.compare`.

    Returns:
        Rates by method.
    """
    scores, runs = {}, []
    for rate in rates:
        found = _compare(
            f"{name}-{rate}",
            model_maker(rate),
            groups,
            held_out,
            methods,
            [seed],
            **rest,
        )
        runs += found.runs
        for method in found.methods:
            value = float(found.values(method, chosen_by)[0])
            scores.setdefault(method, {})[rate] = value
    pick = max if "accuracy" in chosen_by else min
    best = {m: pick(found, key=found.get) for m, found in scores.items()}
    record = {
        "command": records.command_line(),
        "environment": records.environment(),
        "cpu_hours": _cpu_hours(runs),
        "chosen_by": chosen_by,
        "seed": seed,
        "scores": {
            method: {str(rate): value for rate, value in found.items()}
            for method, found in scores.items()
        },
        "rates": best,
    }
    records.write_record(RESULTS / f"{name}.json", record)
    return best


def compare_at(
    name, model_maker, rates, groups, test, methods, seeds, plain_seeds, **rest
):
    """Compares methods that have a rate each, and writes one record.

    Args:
        name: Of the record, and of the folder of its runs.
        model_maker: From a rate to a `make_model`.
        rates: Rates by method.
        groups: As for `keras_mmel.compare`.
        test: The same.
        methods: Objectives by name, the baseline first.
        seeds: The seeds.
        plain_seeds: Those of plain training.
        **rest: Further arguments of `keras_mmel.compare`.

    Returns:
        The `Comparison`.
    """
    runs = []
    for seed in seeds:  # all methods of a seed, so that a part is of use
        for method, objective in methods.items():
            runs += _compare(
                name,
                model_maker(rates[method]),
                groups,
                test,
                {method: objective},
                [seed],
                plain=False,
                **rest,
            ).runs
        if seed in plain_seeds:
            maker = model_maker(rates["plain"])
            runs += _compare(name, maker, groups, test, {}, [seed], **rest).runs
    found = Comparison(runs, next(iter(methods)))
    _write(name, found, rates=rates)
    return found


def _compare(name, *args, **settings):
    about = {"environment": records.environment()}
    return keras_mmel.compare(
        *args, records=RUNS / name, about=about, **settings
    )


def _cpu_hours(runs):
    # Of the processor, since runs may be finished by several calls.
    return round(sum(run["cpu_seconds"] for run in runs) / 3600, 3)


def _write(name, found, **more):
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
    seeds = [run["seed"] for run in found.runs]
    record = {
        "command": records.command_line(),
        "environment": found.runs[-1]["environment"],
        "cpu_hours": _cpu_hours(found.runs),
        "settings": {**found.runs[0]["settings"], "seed": sorted(set(seeds))},
        "baseline": found.baseline,
        **more,
        "runs": runs,
    }
    records.write_record(RESULTS / f"{name}.json", record)
    print(found)
