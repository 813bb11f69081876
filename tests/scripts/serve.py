"""Runs exported models with TensorFlow alone: FOLDER.

For every FOLDER/NAME with the inputs in FOLDER/NAME.pickle it writes what is
served for all of them and for the first one to FOLDER/NAME.out.npz; for every
one with the texts in FOLDER/NAME.json, what every signature gives to
FOLDER/NAME.out.json. A model of ids, FOLDER/NAME.ids, is called with what the
signature `tokenize` returns.
"""

import json
import pathlib
import pickle
import sys

from tests.scripts import strict
from tests.scripts.hide import hide

hide("keras", "keras_mmel", "keras_hub", "tensorflow_text", "tokenizers")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

strict.use()


def serve(path, loaded):
    """What is served for pickled inputs."""
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


def serve_texts(path, loaded):
    """What the signatures give for texts."""
    texts = json.loads(path.read_text())
    inputs = {name: tf.constant(side) for name, side in texts.items()}
    found = {}
    for name, function in loaded.signatures.items():
        given = {} if name == "label_names" else inputs
        found[name] = {k: plain(v) for k, v in function(**given).items()}
    if path.with_suffix(".ids").exists():
        model = tf.saved_model.load(path.with_suffix(".ids"))
        tokens = loaded.signatures["tokenize"](**inputs)
        found["of ids"] = plain(model.serve(tokens))
    path.with_suffix(".out.json").write_text(json.dumps(found))


def plain(tensor):
    value = tensor.numpy()
    if value.dtype == object:
        return [text.decode() for text in value]
    return value.tolist()


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    for ending, function in ((".pickle", serve), (".json", serve_texts)):
        for path in sorted(folder.glob(f"*{ending}")):
            function(path, tf.saved_model.load(folder / path.stem))
