"""Watches a fit on the backend of KERAS_BACKEND, without TensorFlow."""

import pathlib
import sys

from tests.scripts import strict
from tests.scripts.hide import hide

if __name__ == "__main__":
    hide("tensorflow")

import keras
import numpy as np

from keras_mmel.diagnostics import Run
from keras_mmel.diagnostics import ViewWeights
from tests.diagnostics import watched

strict.use()


def train(callbacks):
    mmel = watched.compiled(watched.restless)
    x, y = watched.data(watched.restless, mask=True)
    history = mmel.fit(x, y, batch_size=4, verbose=0, callbacks=callbacks)
    return mmel, history.history


def main(path):
    plain, expected = train([])
    probe = watched.data(mask=True, groups=9)
    paths = {"save_to": path, "log_dir": pathlib.Path(path).parent}
    callback = ViewWeights(probe, every_n_steps=2, **paths)
    seen, found = train([callback])
    if found != expected:
        raise RuntimeError(f"{found} is not {expected}")
    for ours, theirs in zip(seen.variables, plain.variables, strict=True):
        np.testing.assert_array_equal(
            keras.ops.convert_to_numpy(ours.value),
            keras.ops.convert_to_numpy(theirs.value),
            err_msg=ours.path,
        )
    print(keras.config.backend(), Run.load(path).steps)


if __name__ == "__main__":
    main(sys.argv[1])
