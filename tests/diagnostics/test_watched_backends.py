"""The callback on JAX and torch, where TensorFlow is not installed."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from keras_mmel.diagnostics import Run
from tests import oracle

HERE = pathlib.Path(__file__).resolve().parent


@pytest.mark.parametrize(
    "backend",
    [
        pytest.param(
            name,
            marks=pytest.mark.skipif(
                importlib.util.find_spec(name) is None,
                reason=f"{name} is not installed",
            ),
        )
        for name in ("jax", "torch")
    ],
)
def test_training_is_the_same_and_weights_are_recorded(backend, tmp_path):
    paths = os.pathsep.join(map(str, [HERE, HERE.parent]))
    environment = os.environ | {
        "KERAS_BACKEND": backend,
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": paths,
    }
    path = tmp_path / "run.npz"
    done = subprocess.run(
        [sys.executable, HERE / "watch_on_backend.py", path],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert f"{backend} [2, 4, 6]" in done.stdout
    assert "refused: `log_dir` needs TensorFlow" in done.stdout
    run = Run.load(path)
    for weights, losses in zip(run.weights, run.losses, strict=True):
        expected = oracle.view_weights(losses, 1.0, run.mask)
        assert_allclose(weights, expected, rtol=1e-5, atol=1e-7)
    # It trains between the looks.
    assert np.nanmax(np.abs(run.losses[0] - run.losses[1])) > 1e-3
