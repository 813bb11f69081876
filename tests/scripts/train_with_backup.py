"""A run that is killed at its third epoch and started again: FOLDER.

It is killed only where FOLDER/killed does not exist yet.
"""

import os
import pathlib
import signal
import sys

import keras
import numpy as np

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


def train(folder):
    case = cases.Case(model="dropout", examples=8, epochs=4)
    mmel = cases.compiled(case)
    schedule = [2.0, 0.5, 0.5, 1.0].__getitem__
    callbacks = [
        keras.callbacks.BackupAndRestore(folder / "backup", save_freq="epoch"),
        keras_mmel.callbacks.LambdaSchedule(schedule),
        KillOnce(folder / "killed"),
    ]
    return cases.state(mmel, case, cases.fit(mmel, case, callbacks=callbacks))


if __name__ == "__main__":
    strict.use()
    folder = pathlib.Path(sys.argv[1])
    np.savez(folder / "final.npz", **train(folder))
