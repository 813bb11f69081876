"""Curves and times of a run, and a file from which it can go on."""

import json
import os
import pathlib
import tempfile
import time
import zipfile

import keras
import numpy as np

from examples import records


class Progress(keras.callbacks.Callback):
    """Curves and times of a run; after every epoch, all of it in one file.

    The file is replaced as a whole and holds every variable beside the curves,
    so a run that is killed at any moment goes on from a whole epoch.
    """

    def __init__(self, path):
        super().__init__()
        self.path = pathlib.Path(path)
        self.curves = {}
        self.epoch = 0
        self.seconds = self.cpu_seconds = 0.0
        self._start = None

    def restore(self, model):
        """Continue `model` from the file, if there is one."""
        if not self.path.exists():
            return
        try:
            with self.path.open("rb") as raw, np.load(raw) as file:
                state = json.loads(str(file["state"]))
                values = [file[f"v{i}"] for i in range(len(file.files) - 1)]
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise ValueError(
                "The checkpoint of a stopped run cannot be read. Delete it to "
                f"begin the run anew. Received: {self.path} ({error})"
            ) from error
        for name, value in state.items():
            setattr(self, name, value)
        for part, value in zip(_parts(model), values, strict=True):
            part.assign(value)

    def record(self, command, settings, scores):
        """The record of the run, for `records.write_record`."""
        return {
            "command": command,
            "method": settings["method"],
            "seed": settings["seed"],
            "settings": settings,
            "environment": records.environment(),
            "hours": self.seconds / 3600,
            "curves": self.curves,
            "scores": scores,
        }

    def on_epoch_begin(self, epoch, logs=None):
        self._start = time.perf_counter(), time.process_time()

    def on_test_begin(self, logs=None):
        self._stop_clock()

    def on_epoch_end(self, epoch, logs=None):
        self._stop_clock()
        self.epoch = epoch + 1
        for name, value in logs.items():
            self.curves.setdefault(name, []).append(float(value))
        if "val_loss" in logs:
            self.curves.setdefault("val_epoch", []).append(self.epoch)
        self._save()

    def _stop_clock(self):
        # Times are those of training: what tests take depends on
        # `eval_every`.
        if self._start is not None:
            self.seconds += time.perf_counter() - self._start[0]
            self.cpu_seconds += time.process_time() - self._start[1]
            self._start = None

    def _save(self):
        state = {
            name: getattr(self, name)
            for name in ("curves", "epoch", "seconds", "cpu_seconds")
        }
        values = {
            f"v{i}": part.numpy() for i, part in enumerate(_parts(self.model))
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(
            dir=self.path.parent, prefix=f".{self.path.name}."
        )
        with os.fdopen(handle, "wb") as file:
            np.savez(file, state=json.dumps(state), **values)
        os.replace(temporary, self.path)


def _parts(model):
    """Every variable as its copies on the replicas.

    Copies differ where replicas do not tell each other: the moving statistics
    of batch normalization are each replica's own.
    """
    strategy = model.distribute_strategy
    variables = [*model.variables, *model.optimizer.variables]
    return [
        part
        for variable in variables
        for part in strategy.experimental_local_results(variable.value)
    ]
