"""Load saved text models with nothing but `import keras_mmel`."""

import pathlib
import sys

import keras
import numpy as np

import keras_mmel

folder = pathlib.Path(sys.argv[1])
print(not {"keras_hub", "tokenizers", "tensorflow_text"} & set(sys.modules))
x = dict(np.load(folder / "x.npz"))
y = {}
for name in ("classifier", "masked_lm"):
    model = keras.saving.load_model(folder / f"{name}.keras")
    print(type(model).__name__, model.tokenizer.fingerprint)
    wanted = {key: x[key] for key in model.input}
    y[name] = model(wanted).numpy()
np.savez(folder / "y.npz", **y)
assert callable(keras_mmel.text.files.read_records)
