"""A run that is killed at its third epoch and started again: FOLDER.

It is killed only where FOLDER/killed-0 does not exist yet, with the number of
the worker where TF_CONFIG names one. The backup is the chief's.
"""

import os
import pathlib
import signal
import sys

import keras
import numpy as np
import tensorflow as tf

import keras_mmel
from tests import cases
from tests.scripts import strict


class KillOnce(keras.callbacks.Callback):
    def __init__(self, marker):
        super().__init__()
        self.marker = marker

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 2 and not self.marker.exists():
            self.marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def train(folder, strategy=None, worker=0):
    case = cases.Case(model="dropout", examples=8, epochs=4)
    strategy = strategy or tf.distribute.get_strategy()
    mmel = cases.compiled(case, strategy.scope)
    schedule = [2.0, 0.5, 0.5, 1.0].__getitem__
    backup = keras.callbacks.BackupAndRestore(
        folder / "backup",
        save_freq=10**9 if worker else "epoch",
        double_checkpoint=True,
        delete_checkpoint=not worker,
    )
    callbacks = [
        backup,
        keras_mmel.callbacks.LambdaSchedule(schedule),
        KillOnce(folder / f"killed-{worker}"),
    ]
    # The views of an epoch are its own, also after the restart.
    data = {"x": cases.made_groups(case), "y": None, "batch_size": None}
    log = cases.fit(mmel, case, callbacks=callbacks, **data)
    return cases.state(mmel, case, log)


if __name__ == "__main__":
    strict.use()
    folder, strategy, worker = pathlib.Path(sys.argv[1]), None, 0
    if "TF_CONFIG" in os.environ:
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        worker = strategy.cluster_resolver.task_id
    found = train(folder, strategy, worker)
    np.savez(folder / f"final-{worker}.npz", **found)
