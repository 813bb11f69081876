"""Loads saved models and goes on training: FOLDER.

FOLDER/plain.keras is a model of plain Keras; keras_only/*.keras need nothing
but `keras` and `keras_mmel`, user_objects/*.keras the module of that name too.
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


def go_on(path):
    """Loads one wrapper, trains, and gives all of its state."""
    from tests.scripts.state import state

    mmel = keras.models.load_model(path)
    with np.load(path.with_suffix(".npz")) as data:
        views, y = data["views"], data["y"]
        lambda_p = data["lambda_p"] if "lambda_p" in data else None
    if lambda_p is not None and mmel.lambda_p != lambda_p:
        raise RuntimeError(f"lambda_p is {mmel.lambda_p}, not {lambda_p}")
    y = list(y) if y.ndim == 2 else y
    history = mmel.fit(
        {"views": views}, y, batch_size=4, epochs=2, shuffle=False, verbose=0
    )
    return state(mmel, history, views[:, 0])


def go_on_with_all(folder):
    for path in sorted(folder.glob("*.keras")):
        try:
            found = go_on(path)
        except Exception:
            found = {"error": traceback.format_exc()}
        np.savez(path.with_suffix(".out.npz"), **found)


def main(folder):
    load_plain(folder)
    importlib.import_module("keras_mmel")
    go_on_with_all(folder / "keras_only")
    if "tests.scripts.user_objects" in sys.modules:
        raise RuntimeError("tests.scripts.user_objects was imported")
    importlib.import_module("tests.scripts.user_objects")
    go_on_with_all(folder / "user_objects")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
