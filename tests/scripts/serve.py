"""Runs exported models with TensorFlow alone: FOLDER.

For every FOLDER/NAME with the inputs in FOLDER/NAME.pickle it writes what is
served for all of them and for the first one to FOLDER/NAME.out.npz.
"""

import pathlib
import pickle
import sys

from tests.scripts import strict
from tests.scripts.hide import hide

hide("keras", "keras_mmel")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

strict.use()


def main(folder):
    for path in sorted(folder.glob("*.pickle")):
        loaded = tf.saved_model.load(folder / path.stem)
        x = pickle.loads(path.read_bytes())
        first = tf.nest.map_structure(lambda leaf: leaf[:1], x)
        served = loaded.signatures["serving_default"]
        specs = served.structured_input_signature[1].values()
        np.savez(
            path.with_suffix(".out.npz"),
            all=loaded.serve(x),
            first=loaded.serve(first),
            inputs=sorted(f"{spec.dtype.name} {spec.shape}" for spec in specs),
        )


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
