"""Trains cases on a number of replicas: REPLICAS OUT.npz CASE ...

A process of its own for each number: TensorFlow's collectives of a process
stay bound to the first size of a group that they see.
"""

import dataclasses
import sys

import numpy as np
import tensorflow as tf

from keras_mmel import objectives
from tests import cases
from tests.cases import Case
from tests.scripts import strict
from tests.scripts.child import attempted

# Sizes: 8 examples are 4, 4 or 2, 2, 2, 2; 7 split as 4, 3 and 2, 2, 2, 1; 15
# are batches of 8 and 7.
TABLE = {
    "hard_everything": Case(objectives.Hard(0.5), **cases.EVERYTHING),
    "soft_everything": Case("soft", **cases.EVERYTHING),
    "uniform_everything": Case("uniform", **cases.EVERYTHING),
    "hard_uneven": Case(objectives.Hard(0.5), examples=15, epochs=2),
    "soft_uneven": Case("soft", examples=15, dataset=True),
    "uniform_uneven": Case("uniform", examples=7, sample_weight=True),
    "sum": Case(
        reduction="sum",
        sample_weight=True,
        examples=15,
        optimizer=cases.sgd(0.01),
    ),
    "mean_with_sample_weight": Case(
        reduction="mean_with_sample_weight", sample_weight=True, examples=15
    ),
    "synchronized": Case(model="synchronized", examples=16),
    "lambda_p": Case(lambdas=(1.0, float("inf")), epochs=2, evaluate=True),
    "two_outputs": Case(model="two_outputs", examples=7, sample_weight=True),
    "moving": Case(
        objectives.Hard(0.5),
        model="two_outputs",
        examples=15,
        sample_weight=True,
        mask=True,
        moving=True,
    ),
    "masked_series": Case(model="masked", regression=True, examples=15),
    "distributed": Case(examples=16),
    "run_eagerly": Case(examples=15, compile={"run_eagerly": True}),
    "unbuilt": Case(model="unbuilt", examples=15, dataset=True),
    "add_loss": Case(model="add_loss"),
    "subclassed": Case(model="without_training", teacher=True),
    "mixed_float16": Case(precision="mixed_float16", examples=16),
    "steps_per_execution": Case(
        examples=24, compile={"steps_per_execution": 2}
    ),
    # A replica gets no example: it fails, and breaks what the process shares.
    "last_of_1": Case(examples=9),
}
# Numbers of replicas, where they are not 2.
COUNTS = {
    "hard_everything": (2, 4),
    "soft_everything": (2, 4),
    "hard_uneven": (1, 2, 4),
    "moving": (1, 2),
    "soft_uneven": (2, 4),
    "sum": (2, 4),
    "mean_with_sample_weight": (2, 4),
    # On several replicas plain Keras fails with it, too.
    "steps_per_execution": (1,),
    "last_of_1": (2, 4),
}
# Names, and names at a number of replicas.
SLOW = {
    "hard_everything",
    "soft_everything-4",
    "hard_uneven-1",
    "hard_uneven-4",
    "soft_uneven",
    "distributed",
    "moving-1",
    "synchronized",
    "two_outputs",
    "lambda_p",
    "mean_with_sample_weight",
    "last_of_1-4",
    "uniform_everything",
    "sum",
    "run_eagerly",
    "unbuilt",
    "add_loss",
    "subclassed",
    "mixed_float16",
    "steps_per_execution",
}


def case_of(name):
    """The case with batches of 8, as many as replicas divide."""
    case = TABLE[name]
    examples = 8 if case.examples == Case.examples else case.examples
    return dataclasses.replace(case, batch_size=8, examples=examples)


def train_distributed(case, scope):
    """From a dataset that the strategy has distributed already."""
    mmel = cases.compiled(case, scope)
    x, y, _ = cases.data_for(case)
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(case.batch_size)
    with scope():
        strategy = tf.distribute.get_strategy()
        data = strategy.experimental_distribute_dataset(data)
    log = cases.fit(mmel, case, x=data, y=None, batch_size=None)
    return cases.result(mmel, case, log)


def refusal(case, scope):
    """The error of `fit`, and the weights that it left."""
    mmel = cases.compiled(case, scope)
    try:
        cases.fit(mmel, case)
    except Exception as error:
        message = str(error)
    weights = enumerate(mmel.model.get_weights())
    return {"message": message, **{f"weight/{i}": w for i, w in weights}}


RUN = {"distributed": train_distributed, "last_of_1": refusal}


def main(replicas, path, names):
    strict.use()
    # As in conftest.py, before TensorFlow touches a device.
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0],
        [tf.config.LogicalDeviceConfiguration()] * replicas,
    )
    devices = [f"CPU:{i}" for i in range(replicas)]
    scope = tf.distribute.MirroredStrategy(devices).scope

    def train(name):
        return RUN.get(name, cases.train)(case_of(name), scope)

    np.savez(path, **attempted(train, names))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
