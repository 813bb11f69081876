"""The runs of a comparison: same start, same views, same order, same steps."""

import contextlib
import gc
import json
import os
import pathlib
import re
import time
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_mmel import contract
from keras_mmel.comparison.results import Comparison
from keras_mmel.mmel_model import MMELModel
from keras_mmel.objectives import Objective
from keras_mmel.objectives import get
from keras_mmel.scores.of_views import evaluate_views
from keras_mmel.training import replicas
from keras_mmel.training.graphs import freed_with

PLAIN = "plain"


def compare(
    make_model: Callable[[], keras.Model],
    groups: Callable[[int], tf.data.Dataset],
    test: Any,
    objectives: Sequence[Any] | Mapping[str, Any] = ("uniform", "hard"),
    seeds: int | Iterable[int] = 5,
    *,
    epochs: int = 1,
    plain: bool = True,
    baseline: str | None = None,
    records: str | os.PathLike | None = None,
    about: Mapping[str, Any] | None = None,
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
            batches, such as `group_views(..., seed=seed)`. It is called anew
            for every run.
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

    found = keras_mmel.compare(make_model, groups, test_groups, epochs=20)
    print(found)
    ```
    """
    for name, value in (("make_model", make_model), ("groups", groups)):
        if not callable(value):
            raise TypeError(
                f"`{name}` must be a function, since every run starts anew"
                f"{', from a seed' if name == 'groups' else ''}. "
                f"Received: {name} of type {type(value).__name__}"
            )
    if isinstance(objectives, (str, Objective)):
        objectives = [objectives]
    if not isinstance(objectives, Mapping):
        objectives = {
            o if isinstance(o, str) else repr(get(o)): o for o in objectives
        }
    methods: dict[str, Any] = dict(objectives)
    for objective in methods.values():
        if not callable(objective):
            get(objective)
    if PLAIN in methods:
        raise ValueError(
            f"`objectives` must name none {PLAIN!r}, which `plain=True` adds. "
            f"Received: {list(methods)}"
        )
    if plain:
        methods[PLAIN] = None
    baseline = next(iter(methods), None) if baseline is None else baseline
    if baseline not in methods:
        raise ValueError(
            f"`baseline` must be one of {list(methods)}. "
            f"Received: baseline={baseline!r}"
        )
    if isinstance(seeds, (int, np.integer)):
        seeds = range(int(seeds))
    seeds = list(dict.fromkeys(map(int, seeds)))
    if not seeds:
        raise ValueError("`seeds` must have at least one. Received: none")
    if epochs < 1:
        raise ValueError(f"`epochs` must be at least 1. Received: {epochs}")
    json.dumps(about)  # fails before the first run, not after it
    parts = _parts(test)
    if records is not None:
        pathlib.Path(records).mkdir(parents=True, exist_ok=True)
    runs = []
    for seed in seeds:
        starts = set()
        for method, objective in methods.items():
            keras.utils.set_random_seed(seed)
            model = _compiled(make_model(), objective)
            data, steps, views = _training_data(groups(seed), objective, seed)
            starts.add(_start(model, views))
            if len(starts) > 1:
                raise ValueError(
                    "`make_model` must give a new model at every call, which "
                    "begins with the same weights for the same "
                    "`keras.utils.set_random_seed`. "
                    f"Received: others for {method!r}, seed {seed}"
                )
            settings = {
                "method": method,
                "objective": _text(objective),
                "seed": seed,
                "epochs": epochs,
                "steps": steps,
                "views": [list(v.shape) for v in keras.tree.flatten(views)],
                "start": max(starts),
                "weights": model.count_params(),
                "optimizer": model.optimizer.get_config(),
            }
            settings = json.loads(
                json.dumps(settings, default=_text), object_hook=_unnumbered
            )
            path = None
            if records is not None:
                name = re.sub(r"[^\w.]+", "-", f"{method}-{seed}.json")
                path = pathlib.Path(records) / name
            record = _read(path, settings)
            if record is None:
                start = time.process_time()
                with freed_with(model):
                    log = model.fit(
                        data,
                        epochs=epochs,
                        steps_per_epoch=steps,
                        shuffle=False,
                        verbose=0,
                    ).history
                    scores = _scores(model, parts)
                record = {
                    **(about or {}),
                    "method": method,
                    "seed": seed,
                    "settings": settings,
                    "scores": scores,
                    "log": _numbers({name: v[-1] for name, v in log.items()}),
                    "cpu_seconds": round(time.process_time() - start, 2),
                }
                _write(path, record)
            if verbose:
                seconds = record["cpu_seconds"]
                print(f"seed {seed}, {method}: {seconds} CPU s", flush=True)
            runs.append(record)
            del model, data
            gc.collect()  # so that one model is in memory at a time
    return Comparison(runs, baseline)


def plain_batches(groups: tf.data.Dataset, seed: int) -> tf.data.Dataset:
    """Makes batches of single views that cost what batches of groups cost.

    Endless batches of b * k plain examples: one view of each of b groups, from
    k passes, each with new views. Padding views are not chosen.
    """
    x = groups.element_spec[0]
    size, views = keras.tree.flatten(x["views"])[0].shape[:2]
    if size is None or views is None:
        raise ValueError(
            "Plain training needs batches of a known size: make the groups "
            "with `drop_remainder=True`, or give `plain=False`. "
            f"Received: {x}"
        )

    # TensorFlow's operations, whatever the backend: it runs in tf.data.
    def choose(number, batch):
        x, y, weight = keras.utils.unpack_x_y_sample_weight(batch)
        key = tf.stack([tf.constant(seed, tf.int64), number])
        chance = tf.random.stateless_uniform((size, views), key)
        if x.get("mask") is not None:
            chance = tf.where(tf.cast(x["mask"], tf.bool), chance, -1.0)
        chosen = tf.argmax(chance, axis=1)
        one = tf.nest.map_structure(
            lambda v: tf.gather(v, chosen, axis=1, batch_dims=1), x["views"]
        )
        label = contract.split_labels(y).label
        return (one, label) if weight is None else (one, label, weight)

    chosen = groups.repeat().enumerate().map(choose)
    # Padded, since texts of several batches differ in length.
    plain = chosen.unbatch().padded_batch(size * views, drop_remainder=True)
    return plain.prefetch(2)


def _training_data(groups, objective, seed):
    """Batches for a method, how many are an epoch, and what views are like."""
    steps = int(getattr(groups, "cardinality", lambda: -1)())
    if steps < 1:
        raise ValueError(
            "`groups` must give a dataset with a known number of batches, so "
            "that all methods make as many steps. "
            f"Received: {type(groups).__name__}, cardinality {steps}"
        )
    x = groups.element_spec[0]
    contract.check_groups(x)
    data = groups if objective else plain_batches(groups, seed)
    return data, steps, x["views"]


def _start(model, views):
    """A number that other initial weights would change; builds the model."""
    if not model.built:

        def one(spec):
            shape = [1, *(size or 1 for size in spec.shape[2:])]
            return keras.ops.zeros(shape, spec.dtype.name)

        model(keras.tree.map_structure(one, views))
    arrays = map(keras.ops.convert_to_numpy, model.weights)
    total = sum(np.abs(array).sum(dtype="float64") for array in arrays)
    return float(f"{total:.5g}")  # the same on machines that round otherwise


def _compiled(model, objective):
    """The model, or an `MMELModel` around it that is compiled like it."""
    if not getattr(model, "compiled", False):
        raise ValueError(
            "`make_model` must give a compiled model: the optimizer, loss and "
            f"metrics of all methods. Received: {model!r}"
        )
    strategy = getattr(model, "distribute_strategy", None)
    if replicas.has_workers(strategy):
        raise ValueError(
            "`make_model` must give a model of one process: runs are shared "
            "among machines by their seeds. Give each machine `seeds` of its "
            "own, and all of them one folder as `records`. "
            f"Received: a model under {type(strategy).__name__}"
        )
    if objective is None:
        return model
    loss, metrics = model._compile_loss, model._compile_metrics
    with strategy.scope() if strategy else contextlib.nullcontext():
        known = isinstance(objective, (str, Objective))
        wrapped = MMELModel(model, objective) if known else objective(model)
        wrapped.compile(
            optimizer=model.optimizer,
            loss=loss and loss._user_loss,
            loss_weights=loss and loss._user_loss_weights,
            metrics=metrics and metrics._user_metrics,
            weighted_metrics=metrics and metrics._user_weighted_metrics,
            run_eagerly=model.run_eagerly,
            steps_per_execution=model.steps_per_execution,
            jit_compile=model.jit_compile,
        )
    return wrapped


def _parts(test):
    """How to score each part of the test data, by what is before its scores."""
    named = {"": test}
    if isinstance(test, Mapping) and not contract.is_group(test):
        named = {f"{name}_": data for name, data in test.items()}
    parts = {}
    for prefix, data in named.items():
        first = getattr(data, "element_spec", data)
        if isinstance(data, keras.utils.PyDataset):
            first = data[0]
        if not isinstance(first, tuple):
            raise TypeError(
                "`test` must be a dataset or a tuple of arrays, with labels, "
                f"or a dict of several. Received: {type(data).__name__}"
            )
        given = data if isinstance(data, tuple) else (data,)
        names = ("x", "y", "sample_weight")
        given = dict(zip(names, given, strict=False))
        parts[prefix] = (contract.is_group(first[0]), given)
    return parts


def _scores(model, parts):
    """Scores on all test data, groups or plain examples."""
    scores = {}
    for prefix, (is_group, given) in parts.items():
        if is_group:
            found = evaluate_views(model, **given)
        else:
            found = model.evaluate(**given, verbose=0, return_dict=True)
        scores |= {prefix + k: value for k, value in _numbers(found).items()}
    return scores


def _numbers(found):
    # A metric may give one number for each class.
    return {k: float(v) for k, v in found.items() if not np.ndim(v)}


def _text(value):
    return repr(value).split(" at 0x")[0]


def _unnumbered(config):
    # Keras numbers the names of optimizers, also of one inside another.
    return config | {"name": None} if "name" in config else config


def _read(path, settings):
    """The record of a finished run, or None."""
    if path is None or not path.exists():
        return None
    try:
        record = json.loads(path.read_text())
        of_file = dict(record["settings"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path} is no record of a run. Delete it to make the run again."
        ) from error
    different = {
        name: (of_file.get(name), value)
        for name, value in settings.items()
        if of_file.get(name) != value
    }
    if different:
        raise ValueError(
            f"{path} is of another comparison; give `records` a new folder. "
            f"Received, in the file and now: {different}"
        )
    return record


def _write(path, record):
    """The whole file or none."""
    if path is not None:
        half = path.with_suffix(".half")
        half.write_text(json.dumps(record, indent=1) + "\n")
        os.replace(half, path)
