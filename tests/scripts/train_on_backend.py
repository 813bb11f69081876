"""Trains cases on the backend named by KERAS_BACKEND: OUT.npz CASE ...

On JAX and torch TensorFlow is hidden as if it were not installed.
"""

import os
import pathlib
import sys
import tempfile
import traceback

from tests.scripts.hide import hide

if os.environ.get("KERAS_BACKEND") in ("jax", "torch"):
    hide("tensorflow")

import keras
import numpy as np

import keras_mmel
from tests.scripts import backend_cases
from tests.scripts import strict

FIT = {"batch_size": 4, "shuffle": False, "verbose": 0}


def resumes(mmel, x, y, weight):
    """Whether the saved model, trained on, gives the same numbers."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.keras"
        mmel.save(path)
        loaded = keras.models.load_model(path)
    logs = [
        m.fit(x, y, sample_weight=weight, epochs=2, **FIT).history
        for m in (mmel, loaded)
    ]
    same = all(
        np.array_equal(a, b)
        for a, b in zip(
            mmel.model.get_weights(), loaded.model.get_weights(), strict=True
        )
    )
    return logs[0] == logs[1] and same


def train(case):
    """Logs, weights and predictions by name."""
    keras.utils.set_random_seed(0)
    mmel = backend_cases.compiled(case)
    x, y, weight = backend_cases.data_for(case)
    found = {"view_weights": mmel.view_weights(x, y)}
    callbacks = []
    if case.lambdas:
        schedule = keras_mmel.callbacks.LambdaSchedule(case.lambdas.__getitem__)
        callbacks.append(schedule)
    plain = x["views"][:, 0]
    label = y["label"] if case.teacher else y
    history = mmel.fit(
        x,
        y,
        sample_weight=weight,
        epochs=3,
        callbacks=callbacks,
        validation_data=(plain, label),
        **FIT,
    ).history
    found |= {f"log/{name}": value for name, value in history.items()}
    logs = mmel.evaluate(
        plain, label, batch_size=4, return_dict=True, verbose=0
    )
    found |= {f"evaluate/{name}": value for name, value in logs.items()}
    found["predict"] = mmel.predict(plain, batch_size=4, verbose=0)
    for i, value in enumerate(mmel.model.get_weights()):
        found[f"weight/{i}"] = value
    if case.resumed:
        found["resumes"] = resumes(mmel, x, y, weight)
    return found


def refusal(x, y):
    """The message of `fit` for data that breaks the contract."""
    mmel = backend_cases.compiled(backend_cases.CASES["hard"])
    try:
        mmel.fit(x, y, **FIT)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "none"


def refusals():
    x, y, _ = backend_cases.data_for(backend_cases.CASES["hard"])
    return {
        "plain": refusal(x["views"][:, 0], y),
        "labels": refusal(x, y[:, None] + np.zeros(3)),
        "unknown_key": refusal({**x, "masks": y}, y),
    }


def dropout_findings():
    """What moves where all is dropped, and `resumes` with dropout."""
    keras.utils.set_random_seed(0)
    # With a rate of almost 1 the head sees nothing, and learns nothing.
    model = backend_cases.mlp(keras.layers.Dropout(0.9999))
    case = backend_cases.Case(model=lambda: model)
    mmel = backend_cases.compiled(case)
    x, y, weight = backend_cases.data_for(case)
    before = model.get_weights()
    mmel.fit(x, y, **FIT)
    after = model.get_weights()
    # On torch only a seeded layer has a random state of its own.
    dropout = keras.layers.Dropout(0.4, seed=5)
    case = backend_cases.Case(model=lambda: backend_cases.mlp(dropout))
    mmel = backend_cases.compiled(case)
    mmel.fit(x, y, **FIT)
    return {
        "dropout:moved": [
            np.max(np.abs(new - old))
            for new, old in zip(after, before, strict=True)
        ],
        "dropout:resumes": resumes(mmel, x, y, weight),
    }


def main(path, names):
    strict.use()
    results = {"backend": keras.backend.backend()}
    for name, case in backend_cases.CASES.items():
        here = keras.backend.backend() in case.backends
        if name not in names or not here:
            continue
        try:
            found = train(case)
        except Exception:
            found = {"error": traceback.format_exc()}
        results |= {f"{name}:{key}": value for key, value in found.items()}
    for name, message in refusals().items():
        results[f"refused:{name}"] = message
    try:
        results |= dropout_findings()
    except Exception:
        results["dropout:error"] = traceback.format_exc()
    results["tensorflow"] = "tensorflow" in sys.modules
    np.savez(path, **results)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
