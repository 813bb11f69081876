"""Load saved text models with nothing but `import keras_mmel`."""

import json
import pathlib
import sys

import keras
import numpy as np

import keras_mmel

folder = pathlib.Path(sys.argv[1])
late = {"keras_hub", "tokenizers", "tensorflow_text"} & set(sys.modules)
found = {"loaded too early": sorted(late)}
x = dict(np.load(folder / "x.npz"))
y = {}
for name in ("classifier", "masked_lm"):
    model = keras.saving.load_model(folder / f"{name}.keras")
    found[name] = [type(model).__name__, model.tokenizer.fingerprint]
    y[name] = model({key: x[key] for key in model.input}).numpy()
np.savez(folder / "y.npz", **y)
(folder / "found.json").write_text(json.dumps(found))
assert callable(keras_mmel.text.files.read_records)
