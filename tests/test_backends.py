"""The same training on JAX and torch, each in a process of its own."""

import functools
import importlib.util

import numpy as np
import pytest

from tests import cases
from tests import oracle
from tests.scripts import on_backend
from tests.scripts.child import Child
from tests.scripts.child import selected

BACKENDS = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(
            importlib.util.find_spec(name) is None,
            reason=f"{name} is not installed",
        ),
    )
    for name in ("jax", "torch")
]
each_backend = pytest.mark.parametrize("results", BACKENDS, indirect=True)
each_case = pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=[pytest.mark.slow] if name in on_backend.SLOW else []
        )
        for name in on_backend.CASES
    ],
)
on_tensorflow = functools.cache(on_backend.train)


@pytest.fixture(scope="module")
def results(request, tmp_path_factory):
    """What the backend gave, by "case:name"."""
    names = selected(request, "name")
    path = tmp_path_factory.mktemp("backend") / f"{request.param}.npz"
    child = Child("on_backend", path, *names, KERAS_BACKEND=request.param)
    for name in on_backend.CASES:
        if name in names:
            on_tensorflow(name)
    child.finish()
    with np.load(path) as found:
        found = {key: found[key][()] for key in found}
    assert found["backend"] == request.param
    return found


@each_backend
@each_case
def test_training_equals_tensorflow(results, name):
    if (results["backend"], name) in on_backend.REFUSED_BY_KERAS:
        pytest.skip(f"Keras refuses {name} on {results['backend']}")
    found, expected = cases.of_case(results, name), on_tensorflow(name)
    assert found.pop("resumes", True)
    # docs/limits.md: on JAX plain Keras, too, counts masked steps in metrics.
    of_keras = {"log/mae", "log/weighted"} if name == "masked" else set()
    cases.assert_close(found, expected, rtol=1e-5, atol=1e-5, but=of_keras)
    assert {"log/original_loss", "log/effective_views"} < set(expected)
    for key in expected.keys() - {"log/lambda_p"}:
        assert np.all(np.isfinite(expected[key]))


@pytest.mark.slow
@each_backend
@pytest.mark.parametrize("name", ["dropout"])
def test_dropout_drops_and_resumes_bit_equal(results, name):
    hidden_kernel, hidden_bias, kernel, bias = results["dropout:moved"]
    assert bias > 1e-3
    assert max(hidden_kernel, hidden_bias, kernel) == 0
    assert results["dropout:resumes"]


@pytest.mark.slow
@each_backend
@pytest.mark.parametrize("name", ["watched"])
def test_watching_the_weights_touches_nothing(results, name):
    assert results["watched:differs"].tolist() == []
    assert results["watched:steps"].tolist() == [2, 4]
    assert results["watched:events"] == 1
    weights, losses = results["watched:weights"], results["watched:losses"]
    for number in range(2):
        expected = oracle.view_weights(
            losses[number], 1.0, results["watched:mask"]
        )
        np.testing.assert_allclose(weights[number], expected, **oracle.WEIGHT)
    # It trains between the looks.
    assert np.nanmax(np.abs(losses[0] - losses[1])) > 1e-3


@each_backend
def test_bad_data_is_refused(results):
    assert "`fit` takes groups" in results["refused:plain"]
    assert "must have shape (batch)" in results["refused:labels"]
    assert "'masks'" in results["refused:unknown_key"]


@each_backend
def test_tensorflow_was_not_needed(results):
    assert not results["tensorflow"]
