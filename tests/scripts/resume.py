"""Loads saved models and goes on training: FOLDER.

FOLDER/plain.keras is a model of plain Keras; FOLDER/keras_only/*.keras need
nothing but `keras` and `keras_mmel`, FOLDER/user_objects/*.keras what a user
has registered too.
"""

import importlib
import pathlib
import sys
import traceback

import keras
import numpy as np

from tests.scripts import strict

strict.use()


def load_plain(folder):
    """The wrapped model by itself, without `keras_mmel`."""
    model = keras.models.load_model(folder / "plain.keras")
    with np.load(folder / "plain.npz") as data:
        prediction = model.predict(data["x"], verbose=0)
    if "keras_mmel" in sys.modules:
        raise RuntimeError("keras_mmel was imported")
    np.savez(folder / "plain.out.npz", prediction=prediction)


def load_all(folder):
    """The wrappers, or why they could not be loaded."""
    found = {}
    for path in sorted(folder.glob("*.keras")):
        try:
            found[path] = keras.models.load_model(path)
        except Exception:
            found[path] = traceback.format_exc()
    return found


def main(folder):
    load_plain(folder)
    importlib.import_module("keras_mmel")
    loaded = load_all(folder / "keras_only")
    if "tests.scripts.user_objects" in sys.modules:
        raise RuntimeError("tests.scripts.user_objects was imported")
    saved = importlib.import_module("tests.saved_cases")
    loaded |= load_all(folder / "user_objects")
    for path, mmel in loaded.items():
        found = {"error": mmel}
        if not isinstance(mmel, str):
            case = {**saved.SAVED, **saved.SAVED_WITH_USER_OBJECTS}[path.stem]
            try:
                found = saved.go_on(mmel, case)
            except Exception:
                found = {"error": traceback.format_exc()}
        np.savez(path.with_suffix(".out.npz"), **found)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
