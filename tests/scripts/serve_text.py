"""Runs exported text classifiers with TensorFlow alone: FOLDER.

For every FOLDER/NAME with the texts in FOLDER/NAME.json it writes what every
signature gives to FOLDER/NAME.out.json. A model of ids,
FOLDER/NAME.ids, is called with what the signature `tokenize` returns.
"""

import json
import pathlib
import sys

from tests.scripts import strict
from tests.scripts.hide import hide

hide("keras", "keras_mmel", "keras_hub", "tensorflow_text", "tokenizers")

import tensorflow as tf  # noqa: E402

strict.use()


def plain(tensor):
    value = tensor.numpy()
    if value.dtype == object:
        return [text.decode() for text in value]
    return value.tolist()


def main(folder):
    for path in sorted(folder.glob("*.json")):
        loaded = tf.saved_model.load(folder / path.stem)
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


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
