"""Trains cases on the backend named by KERAS_BACKEND: OUT.npz [CASE ...]

On JAX and torch TensorFlow is hidden as if it were not installed.
"""

import os
import pathlib
import sys
import tempfile

from tests.scripts.hide import hide

if os.environ.get("KERAS_BACKEND") in ("jax", "torch"):
    hide("tensorflow")

import keras
import numpy as np

from keras_mmel import objectives
from keras_mmel.diagnostics import Run
from keras_mmel.diagnostics import ViewWeights
from tests import cases
from tests import networks
from tests import saved_cases
from tests.cases import Case
from tests.scripts import strict
from tests.scripts.child import attempted

CASES = {
    "hard": Case(objectives.Hard(0.5), evaluate=True),
    "ball": Case(objectives.KLBall(0.3)),
    "moving": Case(
        objectives.Hard(0.5), sample_weight=True, mask=True, moving=True
    ),
    "soft_through": Case(objectives.Soft(0.3, 0.7, stop_gradient=False)),
    "masked": Case(model="masked", regression=True),
    "uniform": Case("uniform"),
    "soft_everything": Case("soft", **cases.EVERYTHING),
    "regression": Case("soft", regression=True, teacher=True, mask=True),
    "batch_norm": Case(
        model="synchronized",
        optimizer=cases.adamw(global_clipnorm=1.0),
        lambdas=(2.0, 0.1, float("inf")),
        epochs=3,
    ),
    "without_training": Case("soft", model="without_training"),
    "run_eagerly": Case(mask=True, compile={"run_eagerly": True}),
    "steps_per_execution": Case(compile={"steps_per_execution": 2}),
}
# Keras refuses it there.
REFUSED_BY_KERAS = {("torch", "steps_per_execution")}
SLOW = {"uniform", "soft_through", "run_eagerly", "without_training"}
SLOW |= {"steps_per_execution", "regression", "batch_norm"}
SLOW |= {"ball"}


def resumes(mmel, case):
    """Whether the saved model, trained on, gives the same numbers."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.keras"
        mmel.save(path)
        loaded = keras.models.load_model(path)
    runs = [saved_cases.go_on(m, case) for m in (mmel, loaded)]
    return cases.differences(*runs) == {}


def train(name):
    """Logs, weights and predictions by name."""
    case = CASES[name]
    mmel = cases.compiled(case)
    x, y, _ = cases.data_for(case)
    found = {"view_weights": mmel.view_weights(x, y)}
    found |= cases.result(mmel, case, cases.fit(mmel, case))
    if name == "batch_norm" and keras.backend.backend() != "tensorflow":
        found["resumes"] = resumes(mmel, case)
    return found


def refusal(x, y):
    """The message of `fit` for data that breaks the contract."""
    mmel = cases.compiled(Case())
    try:
        mmel.fit(x, y, verbose=0)
    except ValueError as error:
        return str(error)
    return "none"


def refusals():
    x, y, _ = cases.data_for(Case())
    return {
        "refused:plain": refusal(x["views"][:, 0], y),
        "refused:labels": refusal(x, y[:, None] + np.zeros(3)),
        "refused:unknown_key": refusal({**x, "masks": y}, y),
    }


def dropout():
    """What moves where all is dropped, and `resumes` with dropout."""
    # With a rate of almost 1 the head sees nothing, and learns nothing.
    build = networks.mlp(lambda: keras.layers.Dropout(0.9999))
    networks.MODELS["nothing"] = build, networks.MODELS["mlp"][1]
    case = Case(model="nothing")
    mmel = cases.compiled(case)
    before = mmel.model.get_weights()
    cases.fit(mmel, case)
    moved = [
        np.max(np.abs(new - old))
        for new, old in zip(mmel.model.get_weights(), before, strict=True)
    ]
    # On torch only a seeded layer has a random state of its own.
    case = Case(model="seeded_dropout")
    mmel = cases.compiled(case)
    cases.fit(mmel, case)
    return {"dropout:moved": moved, "dropout:resumes": resumes(mmel, case)}


def watched():
    """The records of a callback, and whether it touched what it watched."""
    case = Case(model="batch_norm", mask=True)
    mmel = cases.compiled(case)
    expected = cases.state(mmel, case, cases.fit(mmel, case, epochs=2))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "run.npz"
        x, y, _ = cases.data_for(case)
        paths = {"save_to": path, "log_dir": folder}
        callback = ViewWeights((x, y), every_n_steps=2, **paths)
        mmel = cases.compiled(case)
        history = cases.fit(mmel, case, epochs=2, callbacks=[callback])
        found = cases.state(mmel, case, history)
        run, events = Run.load(path), path.parent.glob("*/events.out.*")
        return {
            "watched:differs": list(cases.differences(found, expected)),
            "watched:events": len(list(events)),
            "watched:steps": run.steps,
            "watched:weights": run.weights,
            "watched:losses": run.losses,
            "watched:mask": run.mask,
        }


MORE = {"dropout": dropout, "watched": watched}


def main(path, names):
    strict.use()
    backend = keras.backend.backend()
    names = [n for n in names if (backend, n) not in REFUSED_BY_KERAS]
    of_cases = attempted(train, [n for n in names if n in CASES])
    found = {"backend": backend, **refusals(), **of_cases}
    for name in set(names) - set(CASES):
        found |= MORE[name]()
    found["tensorflow"] = "tensorflow" in sys.modules
    np.savez(path, **found)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] or [*CASES])
