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
from tests.scripts import saving_cases
from tests.scripts import strict
from tests.scripts.state import state

strict.use()


class KillOnce(keras.callbacks.Callback):
    def __init__(self, marker):
        super().__init__()
        self.marker = marker

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 2 and not self.marker.exists():
            self.marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def main(folder):
    keras.utils.set_random_seed(3)
    mmel = saving_cases.dropout()
    schedule = [2.0, 0.5, 0.5, 1.0]
    x, y = saving_cases.groups()
    history = mmel.fit(
        x,
        y,
        batch_size=saving_cases.BATCH,
        epochs=4,
        shuffle=False,
        verbose=0,
        callbacks=[
            keras.callbacks.BackupAndRestore(
                folder / "backup", save_freq="epoch"
            ),
            keras_mmel.callbacks.LambdaSchedule(schedule.__getitem__),
            KillOnce(folder / "killed"),
        ],
    )
    found = state(mmel, history, x["views"][:, 0])
    np.savez(folder / "final.npz", epochs=history.epoch, **found)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
