"""The callback under `MirroredStrategy`, and on JAX and torch alone."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose
from numpy.testing import assert_array_equal

from keras_mmel.diagnostics import Run
from keras_mmel.diagnostics import ViewWeights
from tests import oracle
from tests.diagnostics import watched

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_without_tensorflow(backend, tmp_path):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    path = tmp_path / "run.npz"
    done = subprocess.run(
        [sys.executable, "-m", "tests.diagnostics.watch_on_backend", path],
        env=os.environ
        | {
            "KERAS_BACKEND": backend,
            "JAX_PLATFORMS": "cpu",
            # Compiled fast, for few steps.
            "XLA_FLAGS": "--xla_backend_optimization_level=0",
        },
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert f"{backend} [2, 3]" in done.stdout
    assert len(list(tmp_path.glob("view_weights/events.out.tfevents.*"))) == 1
    run = Run.load(path)
    for weights, losses in zip(run.weights, run.losses, strict=True):
        expected = oracle.view_weights(losses, 1.0, run.mask)
        assert_allclose(weights, expected, rtol=1e-5, atol=1e-7)
    # It trains between the looks.
    assert np.nanmax(np.abs(run.losses[0] - run.losses[1])) > 1e-3


def fit(strategy, callbacks):
    with strategy.scope():
        mmel = watched.compiled(watched.restless, "soft")
    x, y = watched.data(mask=True, teacher=True)
    history = mmel.fit(x, y, batch_size=4, verbose=0, callbacks=callbacks)
    return mmel, history.history


def states(mmel):
    """Values of all variables on all replicas."""
    found = []
    for variable in [*mmel.variables, *mmel.optimizer.variables]:
        value = variable.value
        parts = getattr(value, "values", [value])
        found += [np.asarray(part) for part in parts]
    return found


@pytest.mark.slow
@pytest.mark.own_process
def test_two_replicas_train_on_as_if_nobody_looked():
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    plain, expected = fit(strategy, [])
    probe = watched.data(mask=True, teacher=True, groups=9)
    callback = ViewWeights(probe, every_n_steps=2)
    seen, found = fit(strategy, [callback])
    assert found == expected
    for ours, theirs in zip(states(seen), states(plain), strict=True):
        assert_array_equal(ours, theirs)
    assert callback.run.steps == [2, 3]
    # One device with the same weights sees the same view weights.
    alone = watched.compiled(watched.restless, "soft")
    alone.model.set_weights([np.asarray(w) for w in seen.model.weights])
    for state, trained in zip(
        alone._random_states(), seen._random_states(), strict=True
    ):
        state.assign(np.asarray(trained))
    again = ViewWeights(probe)
    again.set_model(alone)
    again.on_train_end()
    assert_allclose(again.run.weights[-1], callback.run.weights[-1], rtol=1e-5)
