"""Trains cases on a number of replicas: REPLICAS OUT.npz CASE ...

A process of its own for each number: TensorFlow's collectives of a process
stay bound to the first size of a group that they see. 0 is no strategy.
"""

import contextlib
import sys
import traceback

import keras
import numpy as np
import tensorflow as tf

import keras_mmel
from tests.scripts import replica_models
from tests.scripts import strict
from tests.scripts.replica_cases import CASES
from tests.scripts.replica_cases import REFUSED
from tests.scripts.replica_cases import STEPS
from tests.scripts.replica_cases import data_for
from tests.scripts.replica_cases import plain_data

strict.use()


def compiled(case, scope):
    """A fresh `MMELModel`, always with the same weights."""
    keras.utils.clear_session()
    keras.utils.set_random_seed(7)
    objective = case.objective
    if objective == "hard":
        objective = keras_mmel.objectives.Hard(lambda_p=0.5)
    with scope():
        model = getattr(replica_models, case.model)()
        mmel = keras_mmel.MMELModel(model, objective)
        mmel.compile(
            getattr(replica_models, case.optimizer)(),
            **replica_models.settings(case),
        )
    return mmel


def fit_arguments(case):
    x, y, weight = data_for(case)
    data = {"x": x, "y": y, "batch_size": case.batch_size}
    if weight is not None:
        data["sample_weight"] = weight
    if case.dataset:
        parts = (x, y) if weight is None else (x, y, weight)
        dataset = tf.data.Dataset.from_tensor_slices(parts)
        data = {"x": dataset.batch(case.batch_size)}
    if case.lambdas:
        schedule = keras_mmel.callbacks.LambdaSchedule(case.lambdas.__getitem__)
        data["callbacks"] = [schedule]
    if case.evaluate:
        data["validation_data"] = plain_data(case.evaluate)
        data["validation_batch_size"] = case.batch_size
    return {**data, "epochs": case.epochs, "shuffle": False, "verbose": 0}


def train(case, scope):
    """Weights, logs, and what evaluate and predict give, by name."""
    mmel = compiled(case, scope)
    history = mmel.fit(**fit_arguments(case)).history
    found = {f"log/{name}": values for name, values in history.items()}
    if case.evaluate:
        x, y = plain_data(case.evaluate)
        settings = {"batch_size": case.batch_size, "verbose": 0}
        logs = mmel.evaluate(x, y, return_dict=True, **settings)
        found |= {f"evaluate/{name}": value for name, value in logs.items()}
        found["predict"] = mmel.predict(x, **settings)
    for i, value in enumerate(mmel.model.get_weights()):
        found[f"weight/{i}"] = value
    return found


def refusal(case, scope, replicas):
    """The error of `fit`, and the weights that it left.

    Without replicas, the weights after the batches that are large enough.
    """
    mmel = compiled(case, scope)
    arguments = fit_arguments(case)
    if not replicas and case.dataset:
        arguments["x"] = arguments["x"].take(1)
    found = {"type": "none", "message": ""}
    try:
        if replicas or case.dataset:
            mmel.fit(**arguments)
    except Exception as error:
        found = {"type": type(error).__name__, "message": str(error)}
    weights = enumerate(mmel.model.get_weights())
    return {**found, **{f"weight/{i}": value for i, value in weights}}


def plain_keras_error(case, scope):
    """The error of plain Keras with the settings of a case, or "none"."""
    with scope():
        model = replica_models.mlp()
        model.compile("sgd", **replica_models.settings(case))
    x, y = plain_data(case.examples)
    try:
        model.fit(x, y, batch_size=case.batch_size, verbose=0)
    except tf.errors.OpError as error:
        return {"plain": str(error)[:300]}
    return {"plain": "none"}


def main(replicas, path, names):
    # As in conftest.py, before TensorFlow touches a device.
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0],
        [tf.config.LogicalDeviceConfiguration()] * max(replicas, 1),
    )
    scope = contextlib.nullcontext
    if replicas:
        devices = [f"CPU:{i}" for i in range(replicas)]
        scope = tf.distribute.MirroredStrategy(devices).scope
    results = {}
    for name, case in CASES.items():
        if name not in names or replicas not in (0, *case.replicas):
            continue
        try:
            if name in REFUSED:
                found = refusal(case, scope, replicas)
            else:
                found = train(case, scope)
        except Exception:
            found = {"error": traceback.format_exc()}
        if case is STEPS and replicas:
            found |= plain_keras_error(case, scope)
        results |= {f"{name}:{key}": value for key, value in found.items()}
    np.savez(path, **results)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
