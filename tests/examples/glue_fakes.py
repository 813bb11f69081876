"""GLUE tasks of a few made sentences, in place of TFDS."""

import numpy as np

from examples import glue_data
from keras_mmel.text import files
from tests.text import tiny

SIZES = {"train": 24, "validation": 12, "test": 9}


class Source:
    """Examples whose label shows in their first word."""

    def __init__(self, task, split, hidden, limit):
        self._task = task
        self._hidden = hidden
        self._count = min(SIZES[split], limit or SIZES[split])
        self._seed = list(SIZES).index(split)
        self.num_texts = len(task.columns)
        self.label_kind = "value" if task.is_regression else "class"
        if hidden:
            self.label_kind = None
        self.label_names = None

    def __len__(self):
        return self._count

    def read(self, start, stop):
        rng = np.random.default_rng(self._seed)
        for number in range(len(self)):
            label = int(rng.integers(0, 2))
            texts = tuple(
                " ".join([("bad", "good")[label], *rng.choice(tiny.WORDS, 5)])
                for _ in range(self.num_texts)
            )
            if start <= number < stop:
                # In another order than that of the ids.
                name = str(len(self) - 1 - number)
                if self._hidden:
                    label = None
                elif self._task.is_regression:
                    label = 4.0 * label
                yield files.Example(name, texts, label)

    def describe(self):
        return {"split": self._seed}


def install(monkeypatch):
    """Let `examples.glue` read these instead of TFDS."""

    def source(task, split, data_dir, limit=None, hidden=False):
        return Source(task, split, hidden, limit)

    monkeypatch.setattr(glue_data, "source", source)
    monkeypatch.setattr(glue_data, "splits", lambda *_: tuple(SIZES))
