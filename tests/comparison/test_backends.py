"""Scores and comparisons on JAX and torch are those of TensorFlow."""

import importlib.util
import json

import pytest
from numpy.testing import assert_allclose

from tests.scripts import compare_on_backend
from tests.scripts.child import run


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_scores_are_the_same(backend):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    output = run(
        "compare_on_backend", KERAS_BACKEND=backend, JAX_PLATFORMS="cpu"
    )
    found = json.loads(output.splitlines()[-1])
    expected = compare_on_backend.scores()
    assert found["backend"] == backend
    for name, value in expected["evaluated"].items():
        assert_allclose(found["evaluated"][name], value, rtol=1e-5, atol=1e-6)
    for method, scores in expected["compared"].items():
        for name, value in scores.items():
            other = found["compared"][method][name]
            assert_allclose(other, value, rtol=1e-4, atol=1e-5)
