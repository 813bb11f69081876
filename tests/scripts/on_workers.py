"""Trains cases as one of the workers that TF_CONFIG names: FOLDER CASE ...

Each worker writes FOLDER/INDEX.npz; callbacks that write are the chief's alone.
"""

import contextlib
import pathlib
import sys

import keras
import numpy as np
import tensorflow as tf

import keras_mmel
from keras_mmel.diagnostics import ViewWeights
from tests import cases
from tests.cases import Case
from tests.scripts import strict
from tests.scripts.child import attempted

SIZES = {"batch_size": 8, "epochs": 2, "evaluate": True}
TABLE = {
    "hard": Case(
        optimizer=cases.adamw(), lambdas=(2.0, 0.5), examples=16, **SIZES
    ),
    # The last batch is one of 4 and 3.
    "soft_uneven": Case(
        "soft",
        model="l2",
        sample_weight=True,
        mask=True,
        teacher=True,
        examples=15,
        **SIZES,
    ),
    "watched": Case(model="synchronized", examples=16, **SIZES),
    "sharded": Case(examples=16, batch_size=8, epochs=2),
}


def train(name, scope=contextlib.nullcontext, folder=None, is_chief=True):
    """`cases.train`, watched by what writes to a folder."""
    case = TABLE[name]
    if name not in ("watched", "sharded"):
        return cases.train(case, scope)
    keras.utils.clear_session()
    mmel = cases.compiled(case, scope)
    if name == "sharded":
        return sharded(mmel, case)
    x, y, _ = cases.data_for(case)
    callbacks = []
    if folder:
        callbacks = [
            keras.callbacks.ModelCheckpoint(folder / "{epoch}.keras"),
            ViewWeights((x, y), every_n_steps=1, save_to=folder / "run.npz"),
        ]
    log = cases.fit(mmel, case, callbacks=callbacks)
    found = cases.result(mmel, case, log)
    if is_chief:
        scores = mmel.evaluate_views(x, y, batch_size=5)
        found |= {f"views/{name}": value for name, value in scores.items()}
    return found


def sharded(mmel, case):
    """From groups of which each worker makes its own."""
    counter = keras_mmel.data.EpochCounter()

    def part(context):
        shard = context.input_pipeline_id, context.num_input_pipelines
        return cases.made_groups(case, shard=shard, epoch_counter=counter)

    x = cases.made_groups(case, epoch_counter=counter)
    strategy = mmel._distribute_strategy
    if strategy is not None:
        x = strategy.distribute_datasets_from_function(part)
    data = {"x": x, "y": None, "batch_size": None}
    log = cases.fit(mmel, case, callbacks=[counter], **data)
    return cases.result(mmel, case, log)


def refusals(scope):
    """The errors of `compare`, and of a part of a batch in place of all."""

    def make_model():
        with scope():
            model = cases.build(Case())
            model.compile("sgd", "mse")
            return model

    def fit():
        case = TABLE["sharded"]
        groups = cases.made_groups(case, shard=(0, 2))
        cases.fit(cases.compiled(case, scope), case, x=groups)

    def compare():
        keras_mmel.compare(make_model, lambda seed: None, ([0], [0]))

    found = {}
    for call in (fit, compare):
        try:
            call()
        except ValueError as error:
            found[f"refused:{call.__name__}"] = str(error)
    return found


def main(folder, names):
    strict.use()
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    index = strategy.cluster_resolver.task_id
    chief = {"is_chief": False} if index else {"folder": folder}
    results = attempted(
        lambda name: train(name, strategy.scope, **chief), names
    )
    np.savez(folder / f"{index}.npz", **results, **refusals(strategy.scope))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2:])
