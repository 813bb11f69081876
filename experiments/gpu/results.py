"""What a run leaves: one record a part, and the state to go on from.

A part has few files, whatever it runs, so that they are easily carried: a
record that grows run by run, and the state of the run in progress.
"""

import json
import pathlib
import time

import jax
import numpy as np

from experiments import records
from keras_mmel.whole_files import replacing

SAVE_EVERY = 60.0  # seconds


class Results:
    """The runs of a part, in one record.

    Args:
        out: Folder of the records.
        part: Name of the record.
        packed: Folder that `pack` wrote; a copy without history has its commit.
        command: The command line.
    """

    def __init__(self, out, part, packed, command):
        self.path = pathlib.Path(out) / f"{part}.json"
        self.record = {"made": [], "runs": []}
        if self.path.exists():
            self.record = records.read_record(self.path)
        self.origin = {"command": command, "environment": environment(packed)}

    def has(self, settings: dict) -> bool:
        """Whether a run with these settings is finished."""
        return any(run["settings"] == settings for run in self.record["runs"])

    def add(self, settings: dict, **found) -> None:
        """Write the record, with one more run."""
        made = self.record["made"]
        if self.origin not in made:
            made.append(self.origin)
        run = {"settings": settings, "made": made.index(self.origin), **found}
        self.record["runs"].append(run)
        self.write()

    def write(self) -> None:
        records.write_record(self.path, self.record)


def environment(packed) -> dict:
    """That of a record, with what JAX computes on."""
    found = records.environment()
    pack = pathlib.Path(packed) / "base" / "pack.json"
    if found["commit"] is None and pack.exists():
        facts = json.loads(pack.read_text(encoding="utf-8"))
        found |= {name: facts[name] for name in ("commit", "dirty")}
    devices = [device.device_kind for device in jax.devices()]
    return {**found, "accelerators": devices, "jax": jax.__version__}


class SavedState:
    """The state of the run in progress, in one file.

    Args:
        path: Of the file.
        every: Seconds between two times at which it is due.
    """

    def __init__(self, path, every: float = SAVE_EVERY):
        self.path, self.every = pathlib.Path(path), every
        self.last = time.monotonic()

    def is_due(self) -> bool:
        return time.monotonic() - self.last >= self.every

    def save(self, state, **position) -> None:
        """Arrays, and what JSON holds."""
        values = {f"v{i}": v for i, v in enumerate(jax.tree.leaves(state))}
        with replacing(self.path) as file:
            np.savez(file, position=json.dumps(position), **values)
        self.last = time.monotonic()

    def load(self, like, settings: dict) -> tuple:
        """State and position; `like` and `None` where none is of this run."""
        if not self.path.exists():
            return like, None
        with np.load(self.path) as file:
            position = json.loads(str(file["position"]))
            if position["settings"] != settings:
                return like, None
            values = [file[f"v{i}"] for i in range(len(file.files) - 1)]
        return jax.tree.unflatten(jax.tree.structure(like), values), position
