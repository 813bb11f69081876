"""What the experiments of docs/experiments.md share: runs in one record."""

import datetime
import functools
import math
import pathlib
import time

import tensorflow as tf

import keras_mmel
from experiments import records
from keras_mmel.comparison import Comparison

RUNS = pathlib.Path("runs/evidence")
RESULTS = records.ROOT / "experiments/results/evidence"
TRIAL = RUNS / "trial"


def single_threaded():
    """One thread for TensorFlow, so that CPU-seconds compare."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def one_thread():
    """The same for a dataset."""
    options = tf.data.Options()
    options.threading.private_threadpool_size = 1
    return options


def compare(
    name, make_model, groups, test, methods, seeds, *, epochs=1, plain=True
):
    """Compares with one model for all methods; the record grows run by run.

    Args:
        name: Of the record.
        make_model: As for `keras_mmel.compare`.
        groups: The same.
        test: The same.
        methods: Objectives by name, the baseline first.
        seeds: The seeds.
        epochs: Passes over the groups.
        plain: Whether plain training is compared, too.

    Returns:
        The `Comparison` of all runs of the record.
    """
    return _grow(
        name,
        lambda method: make_model,
        groups,
        test,
        methods,
        seeds,
        plain_seeds=seeds if plain else (),
        epochs=epochs,
    )


def best_rates(
    name,
    model_maker,
    groups,
    held_out,
    methods,
    rates,
    chosen_by,
    seed,
    *,
    epochs,
    plain=True,
):
    """Chooses the rate of every method by a score on held-out groups.

    The record grows run by run, as those of the comparisons do.

    Args:
        name: Of the record.
        model_maker: From a rate to a `make_model`.
        groups: As for `keras_mmel.compare`.
        held_out: Groups.
        methods: Objectives by name.
        rates: To choose from.
        chosen_by: Name of the score; the largest accuracy, else the smallest.
        seed: Of the runs.
        epochs: Passes over the groups.
        plain: Whether plain training has a rate, too.

    Returns:
        Rates by method.
    """
    path = RESULTS / f"{name}.json"
    about = {"chosen_by": chosen_by, "seed": seed}
    record = {**about, "made": [], "cpu_hours": 0.0, "scores": {}}
    if path.exists():
        record = _with_origins(records.read_record(path))
    scores = record["scores"]
    methods = methods | ({"plain": None} if plain else {})
    for rate in rates:
        for method, objective in methods.items():
            of_method = scores.setdefault(method, {})
            if str(rate) in of_method:
                continue
            run = _run(
                model_maker(rate),
                groups,
                held_out,
                method,
                objective,
                seed,
                epochs,
            )
            of_method[str(rate)] = run["scores"][chosen_by]
            _add_origin(record)
            record["cpu_hours"] += round(run["cpu_seconds"] / 3600, 5)
            records.write_record(path, record)
    pick = max if "accuracy" in chosen_by else min
    best = {m: pick(rates, key=lambda r: scores[m][str(r)]) for m in methods}
    if record.get("rates") != best:
        records.write_record(path, record | {"rates": best})
    return best


def rates_of(*names):
    """Rates by method that `best_rates` chose before.

    Args:
        *names: Of its records; later ones go first.
    """
    rates = {}
    for name in names:
        rates |= records.read_record(RESULTS / f"{name}.json")["rates"]
    return rates


def compare_at(
    name, model_maker, rates, groups, test, methods, seeds, plain_seeds, epochs
):
    """Compares methods that have a rate each; the record grows run by run.

    Args:
        name: Of the record.
        model_maker: From a rate to a `make_model`.
        rates: Rates by method.
        groups: As for `keras_mmel.compare`.
        test: The same.
        methods: Objectives by name, the baseline first.
        seeds: The seeds.
        plain_seeds: Those of plain training.
        epochs: Passes over the groups.

    Returns:
        The `Comparison` of all runs of the record.
    """
    return _grow(
        name,
        lambda method: model_maker(rates[method]),
        groups,
        test,
        methods,
        seeds,
        plain_seeds=plain_seeds,
        epochs=epochs,
        rates=rates,
    )


def _grow(
    name,
    maker_of,
    groups,
    test,
    methods,
    seeds,
    *,
    plain_seeds,
    epochs,
    rates=None,
):
    """Makes the runs that the record has not, and writes it after each.

    So a record is all that a stopped experiment goes on from, in another
    checkout as well. All methods of a seed come before the next seed.
    """
    _environment()
    path = RESULTS / f"{name}.json"
    record = _open_record(path, next(iter(methods)), rates)
    finished = {(run["method"], run["seed"]) for run in record["runs"]}
    for seed in seeds:
        plain = {"plain": None} if seed in plain_seeds else {}
        for method, objective in (methods | plain).items():
            if (method, seed) in finished:
                continue
            start = time.perf_counter()
            run = _run(
                maker_of(method), groups, test, method, objective, seed, epochs
            )
            _add_run(record, run, time.perf_counter() - start)
            records.write_record(path, record)
    return Comparison(record["runs"], record["baseline"])


def _open_record(path, baseline, rates):
    """The record of an experiment, begun where there is none."""
    if not path.exists():
        record = {"baseline": baseline, "made": [], "runs": []}
        return record if rates is None else record | {"rates": rates}
    record = _with_origins(records.read_record(path))
    if rates is not None:
        common = record["rates"].keys() & rates.keys()
        if any(record["rates"][method] != rates[method] for method in common):
            raise ValueError(
                f"{path.name} holds runs with other rates. "
                f"Received: {record['rates']} and {rates}"
            )
        record["rates"] |= rates
    return record


def _with_origins(record):
    """A record as they are now, from one that named its last run's origin."""
    if "made" not in record:
        names = ("command", "environment")
        record["made"] = [{name: record.pop(name) for name in names}]
        for run in record.get("runs", ()):
            run["made"] = 0
    return record


def _add_origin(record):
    """The number of this process among the origins of a record."""
    origin = {"command": records.command_line(), "environment": _environment()}
    if origin not in record["made"]:
        record["made"].append(origin)
    return record["made"].index(origin)


def _run(make_model, groups, test, method, objective, seed, epochs):
    """One run of `keras_mmel.compare`; plain training without objective."""
    return keras_mmel.compare(
        make_model,
        groups,
        test,
        {} if objective is None else {method: objective},
        [seed],
        epochs=epochs,
        plain=objective is None,
    ).runs[0]


def _add_run(record, run, seconds):
    """Puts a run of `keras_mmel.compare` into a record.

    A run says by the number `made` which of the record's origins it has: the
    commands, commits and machines are few, the runs many.
    """
    settings = dict(run["settings"])
    own = {name: settings.pop(name) for name in ("objective", "start")}
    for name in ("method", "seed", *["optimizer"] * ("rates" in record)):
        settings.pop(name)
    before = record.setdefault("settings", settings)
    different = {
        name: (before[name], value)
        for name, value in settings.items()
        if name in before and before[name] != value
    }
    starts = {
        other["start"]
        for other in record["runs"]
        if other["seed"] == run["seed"] and "start" in other
    }
    if different or starts - {own["start"]}:
        raise ValueError(
            "The record holds runs of another comparison. "
            f"Received, there and now: {different}, initial weights "
            f"{starts} and {own['start']}"
        )
    now = datetime.datetime.now(datetime.UTC)
    record["runs"].append(
        {
            "method": run["method"],
            "seed": run["seed"],
            **own,
            "scores": _rounded(run["scores"]),
            "log": _rounded(run["log"]),
            "cpu_seconds": run["cpu_seconds"],
            "seconds": round(seconds, 2),
            "finished": now.strftime("%Y-%m-%d %H:%M:%S"),
            "made": _add_origin(record),
        }
    )
    record["cpu_hours"] = _cpu_hours(record["runs"])


@functools.cache
def _environment():
    """That of the process: asked once, since a commit may follow its start.

    Each run has a time of its own.
    """
    environment = records.environment()
    del environment["date"]
    return environment


def _rounded(scores):
    """Six decimals of the finite scores, without the losses that are NLLs.

    Those on the test data proper have no name before them, whatever else is
    scored. What is not finite has no place in a record, and is not there.
    """
    return {
        name.removeprefix("test_"): round(value, 6)
        for name, value in scores.items()
        if math.isfinite(value)
        and scores.get(name.removesuffix("_loss") + "_nll") != value
    }


def _cpu_hours(runs):
    # Of the processor, since runs may be finished by several calls.
    return round(sum(run["cpu_seconds"] for run in runs) / 3600, 3)
