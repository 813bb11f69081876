"""Runs exported models with TensorFlow alone: FOLDER.

For every FOLDER/NAME with the inputs in FOLDER/NAME.npz it writes what the
serving signature gives for a batch of 9 and of 1 to FOLDER/NAME.out.npz.
"""

import pathlib
import sys

from tests.scripts import strict
from tests.scripts.hide import hide

hide("keras", "keras_mmel")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

strict.use()


def main(folder):
    for path in sorted(folder.glob("*.npz")):
        loaded = tf.saved_model.load(folder / path.stem)
        serve = loaded.signatures["serving_default"]
        with np.load(path) as values:
            inputs = {name: values[name] for name in values}
        _, signature = serve.structured_input_signature
        if list(inputs) == ["x"]:
            inputs = {name: inputs["x"] for name in signature}
        found = {}
        for size in (9, 1):
            batch = {n: tf.constant(v[:size]) for n, v in inputs.items()}
            (found[str(size)],) = serve(**batch).values()
        for name, spec in signature.items():
            found[f"shape/{name}"] = np.array(
                [-1 if size is None else size for size in spec.shape]
            )
            found[f"dtype/{name}"] = spec.dtype.name
        np.savez(path.with_suffix(".out.npz"), **found)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
