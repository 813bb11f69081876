"""`compare`: runs of one seed have one start, views, order and steps."""

import collections
import contextlib
import gc
import itertools
import json
import os
import time
import warnings
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_mmel import contract
from keras_mmel import counts
from keras_mmel.comparison import finished_runs
from keras_mmel.comparison import methods
from keras_mmel.comparison.results import Comparison
from keras_mmel.scores import evaluate_views
from keras_mmel.scores import held_out

# Groups in a batch of arrays: what `fit` takes by default.
_BATCH_SIZE = 32


def compare(
    make_model: Callable[[], keras.Model],
    groups: Callable[[int], Any],
    test: Any,
    objectives: Sequence[Any] | Mapping[str, Any] = ("uniform", "hard"),
    seeds: int | Iterable[int] = 5,
    *,
    epochs: int = 1,
    plain: bool = True,
    baseline: str | None = None,
    records: str | os.PathLike | None = None,
    about: Mapping[str, Any] | None = None,
    callbacks: Callable[[str], Sequence[Any]] | None = None,
    verbose: bool = True,
) -> Comparison:
    """Trains a model with several objectives and compares them, seed by seed.

    All runs of one seed begin with the same weights and see the same views in
    the same order, in the same number of steps. Beside them stands plain
    training at equal cost: each of its batches has as many views as a batch of
    groups, one view of each example, drawn from the same views, in as many
    steps (it goes through the examples `num_views` times as often).

    Every finished run is written to `records`, and a comparison that was
    stopped goes on when it is called again.

    Args:
        make_model: Makes a compiled model, on several replicas in the scope
            of one strategy for all. Its optimizer, loss and metrics are those
            of all methods.
        groups: From a seed to batches of groups with a known number of
            batches, such as `group_views(..., seed=seed)`; or to arrays,
            `({"views": x}, y)`, of which batches of 32 are made as `fit` does,
            also where TensorFlow is not installed. It is called anew for every
            run.
        test: Groups for `evaluate_views`, or plain examples for `evaluate`: a
            dataset or a pair of arrays; or a dict of several, whose keys come
            before the names of their scores.
        objectives: Names or `Objective`s; or a dict from the name of a method
            to one, or to a function that wraps the model in an `MMELModel`.
        seeds: The seeds, or how many, from 0.
        epochs: Passes over the groups.
        plain: Whether to add plain training, as the method `"plain"`.
        baseline: Method that the others are compared with; the first of
            `objectives` where it is None.
        records: Folder of the finished runs, a file for each. Belongs to one
            comparison: objectives, steps, shape of the views, optimizer and
            initial weights are checked, functions and data cannot be.
        about: What the files say besides, such as the command and the commit.
        callbacks: From the name of a method to new callbacks of its runs, such
            as a `LambdaSchedule` of one of them. They cannot be checked, as
            functions.
        verbose: Whether to print a line for each run.

    Returns:
        A `Comparison`: print it, or ask it for `table`, `difference`, `plot`.

    Raises:
        TypeError: If `make_model` or `groups` is not a function, or `test`
            is no test data.
        ValueError: If the model is not compiled, belongs to several workers
            or does not begin with the same weights for every method, the
            groups have no known number of batches, an objective or the
            baseline is unknown, or a file in `records` is of other settings.

    Example:

    ```python
    def groups(seed):
        return keras_mmel.data.group_views(
            examples, augment, num_views=5, batch_size=16, seed=seed
        )

    comparison = keras_mmel.compare(
        make_model, groups, test_groups, epochs=20
    )
    print(comparison)
    ```
    """
    functions = {"make_model": make_model, "groups": groups}
    functions |= {} if callbacks is None else {"callbacks": callbacks}
    for name, value in functions.items():
        if not callable(value):
            raise TypeError(
                f"`{name}` must be a function, since every run starts anew"
                f"{', from a seed' if name == 'groups' else ''}. "
                f"Received: {name} of type {type(value).__name__}"
            )
    objective_of = methods.named_methods(objectives, plain)
    if baseline is None:
        baseline = next(iter(objective_of), None)
    if baseline not in objective_of:
        raise ValueError(
            f"`baseline` must be one of {list(objective_of)}. "
            f"Received: baseline={baseline!r}"
        )
    distinct_seeds = _distinct(seeds)
    epochs = counts.check_count("epochs", epochs, minimum=1)
    # What cannot be kept should fail before the first run, not after it.
    json.dumps(about)
    parts = _check_parts(test)
    if records is not None:
        os.makedirs(records, exist_ok=True)
    runs: list[dict[str, Any]] = []
    total = len(distinct_seeds) * len(objective_of)
    trained, start = 0, time.time()
    for seed in distinct_seeds:
        starts = set()
        for method, objective in objective_of.items():
            model, data, settings = _prepare(
                make_model, groups, method, objective, seed, epochs
            )
            starts.add(settings["start"])
            if len(starts) > 1:
                raise ValueError(
                    "`make_model` must give a new model at every call, with "
                    "the same weights for the same random seed of Keras. "
                    f"Received: others for {method!r}, seed {seed}"
                )
            path = records and finished_runs.record_path(records, settings)
            record = path and finished_runs.read_record(path, settings)
            if not record:
                if verbose:
                    # As the mean of those before; of the first, unknown.
                    left = (time.time() - start) / max(trained, 1)
                    left *= (total - len(runs)) * bool(trained)
                    print(
                        f"{len(runs) + 1} of {total}: seed {seed}, {method}"
                        f"{_minutes(left)}",
                        flush=True,
                    )
                trained += 1
                watch = callbacks(method) if callbacks else None
                result = _train(model, data, settings, parts, watch)
                record = {**(about or {}), **result}
                if path:
                    finished_runs.write_record(path, record)
            runs.append(record)
            del model, data
            gc.collect()  # so that one model is in memory at a time
    _warn_of_equal_seeds(runs)
    return Comparison(runs, baseline)


def _warn_of_equal_seeds(runs):
    """Warns where all runs of two seeds are one and the same."""
    outcomes = collections.defaultdict(list)
    for run in runs:
        outcomes[run["seed"]].append((run["scores"], run["log"]))
    for first, second in itertools.combinations(outcomes, 2):
        if outcomes[first] == outcomes[second]:
            warnings.warn(
                "All runs of two seeds came out the same: intervals and p say "
                "nothing. Neither `make_model` nor `groups` may set a seed "
                f"that is none of the run. Received: seeds {first}, {second}",
                stacklevel=3,
            )
            return


def _prepare(make_model, groups, method, objective, seed, epochs):
    """Model and data of a run, and the settings that its record says."""
    keras.utils.set_random_seed(seed)
    model, batches = make_model(), groups(seed)
    example = held_out.example_batch(batches) or (None,)
    _, _, weight = keras.utils.unpack_x_y_sample_weight(example)
    # With weights plain examples are groups of one view.
    plain = None if weight is None else "uniform"
    model = methods.model_of(model, objective or plain)
    prepared = _of_arrays if isinstance(batches, tuple) else _of_batches
    x, steps, data = prepared(batches, objective, seed)
    settings = {
        "method": method,
        "objective": finished_runs.text_of(objective),
        "seed": seed,
        "epochs": epochs,
        "steps": steps,
        "views": [list(v.shape) for v in keras.tree.flatten(x["views"])],
        "start": _start(model, x["views"]),
        "weights": model.count_params(),
        "optimizer": model.optimizer.get_config(),
    }
    return model, data, finished_runs.plain_settings(settings)


def _of_arrays(arrays, objective, seed):
    """The groups, the steps of an epoch, and what `fit` takes."""
    x, y, weight = keras.utils.unpack_x_y_sample_weight(arrays)
    contract.check_groups(x)
    count, views, _ = contract.sizes_of(x)
    examples, batch_size = (x, y, weight), _BATCH_SIZE
    if objective is None:
        examples = methods.plain_arrays(x, y, weight, seed)
        batch_size *= views
    data = dict(zip(("x", "y", "sample_weight"), examples, strict=True))
    return x, -(-count // _BATCH_SIZE), data | {"batch_size": batch_size}


def _of_batches(batches, objective, seed):
    """As `_of_arrays`, of a dataset."""
    steps = int(getattr(batches, "cardinality", lambda: -1)())
    if steps < 1:
        raise ValueError(
            "`groups` must give a dataset with a known number of batches. "
            f"Received: {type(batches).__name__}, cardinality {steps}"
        )
    x = batches.element_spec[0]
    contract.check_groups(x)
    if objective is None:
        batches = methods.plain_batches(batches, seed)
    return x, steps, {"x": batches, "steps_per_epoch": steps, "shuffle": False}


def _minutes(seconds):
    """How long it still takes, in words; nothing where that is not known."""
    if not seconds:
        return ""
    if seconds < 90:
        return f", about {seconds:.0f} seconds left"
    return f", about {seconds / 60:.0f} minutes left"


def _train(model, data, settings, parts, callbacks):
    """Trains and scores; the record of the run."""
    start = time.process_time()
    data |= {"epochs": settings["epochs"], "callbacks": callbacks}
    with _freed_with(model):
        history = model.fit(**data, verbose=0).history
        scores = _scores_of(model, parts)
    last_epoch = {name: values[-1] for name, values in history.items()}
    return {
        "method": settings["method"],
        "seed": settings["seed"],
        "settings": settings,
        "scores": scores,
        "log": _single_numbers(last_epoch),
        "cpu_seconds": round(time.process_time() - start, 2),
    }


def _freed_with(model):
    """Of TensorFlow's graphs; other backends have none."""
    if keras.backend.backend() != "tensorflow":
        return contextlib.nullcontext()
    from keras_mmel.training.graphs import freed_with

    return freed_with(model)


def _check_parts(test):
    """Checks the test data, before any training.

    Args:
        test: A dataset, a `PyDataset` or a tuple of arrays; or a dict of
            several, whose keys come before the names of their scores.

    Returns:
        The data of each part, by what comes before the names of its scores.

    Raises:
        TypeError: If it is no test data.
    """
    parts = {"": test}
    if isinstance(test, Mapping) and not contract.is_group(test):
        parts = {f"{name}_": data for name, data in test.items()}
    for data in parts.values():
        if held_out.example_batch(data) is None:
            raise TypeError(
                "`test` must be a dataset or a tuple of arrays, with labels, "
                f"or a dict of several. Received: {type(data).__name__}"
            )
    return parts


def _scores_of(model, parts):
    """Scores a model on groups by `evaluate_views`, on examples by `evaluate`.

    Args:
        model: A compiled model.
        parts: From `_check_parts`.

    Returns:
        Names and values of the scores of all parts.
    """
    scores = {}
    for prefix, data in parts.items():
        x, y, weight = keras.utils.unpack_x_y_sample_weight(data)
        if contract.is_group(held_out.example_batch(data)[0]):
            of_part = evaluate_views(model, x, y, sample_weight=weight)
        else:
            of_part = model.evaluate(
                x, y, sample_weight=weight, verbose=0, return_dict=True
            )
        scores |= _single_numbers(of_part, prefix)
    return scores


def _single_numbers(values, prefix=""):
    """The entries that are one number: a metric may give one a class."""
    return {prefix + n: float(v) for n, v in values.items() if not np.ndim(v)}


def _distinct(seeds):
    if isinstance(seeds, (int, np.integer)):
        seeds = range(int(seeds))
    distinct = list(dict.fromkeys(map(int, seeds)))
    if not distinct:
        raise ValueError("`seeds` must have at least one. Received: none")
    return distinct


def _start(model, views):
    """A number that other initial weights would change; builds the model."""
    if not model.built:

        def single_example(spec):
            shape = [1, *(size or 1 for size in spec.shape[2:])]
            return keras.ops.zeros(shape, spec.dtype.name)

        model(keras.tree.map_structure(single_example, views))
    arrays = map(keras.ops.convert_to_numpy, model.weights)
    total = sum(np.abs(array).sum(dtype="float64") for array in arrays)
    return float(f"{total:.5g}")  # the same on machines that round otherwise
