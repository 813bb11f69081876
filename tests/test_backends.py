"""The same training on JAX and torch, each in a process of its own."""

import functools
import importlib.util

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.scripts import train_on_backend
from tests.scripts.backend_cases import CASES
from tests.scripts.backend_cases import SLOW
from tests.scripts.child import Child
from tests.scripts.child import selected

# Keras's own way of saving a variable of TensorFlow, with NumPy 2.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation")

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


@pytest.fixture(scope="module")
def names(request):
    """The cases of the tests that will run."""
    return selected(request, "name")


@pytest.fixture(scope="module")
def on_tensorflow(names):
    """Function that gives what TensorFlow finds, trained once."""
    return functools.cache(
        lambda: {name: train_on_backend.train(CASES[name]) for name in names}
    )


@pytest.fixture(scope="module")
def results(request, tmp_path_factory, names, on_tensorflow):
    """What the backend gave, by "case:name"."""
    path = tmp_path_factory.mktemp("backend") / f"{request.param}.npz"
    child = Child("train_on_backend", path, *names, KERAS_BACKEND=request.param)
    on_tensorflow()
    child.finish()
    with np.load(path) as found:
        found = dict(found)
    assert found["backend"] == request.param
    return found


@each_backend
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name in CASES
    ],
)
def test_training_equals_tensorflow(results, on_tensorflow, name):
    if results["backend"] not in CASES[name].backends:
        pytest.skip(f"Keras refuses {name} on {results['backend']}")
    assert f"{name}:error" not in results, results[f"{name}:error"].item()
    expected = on_tensorflow()[name]
    found = {
        key.split(":")[1]: value
        for key, value in results.items()
        if key.startswith(f"{name}:")
    }
    assert found.keys() == expected.keys()
    assert {"log/original_loss", "log/effective_views", "log/val_loss"} < set(
        expected
    )
    for key in expected:
        assert np.all(np.isfinite(expected[key])) or key == "log/lambda_p"
        assert_allclose(
            found[key], expected[key], rtol=1e-5, atol=1e-5, err_msg=key
        )
    assert expected.get("resumes", True) and found.get("resumes", True)


@each_backend
def test_dropout_drops_and_resumes_bit_equal(results):
    assert "dropout:error" not in results, results["dropout:error"].item()
    hidden_kernel, hidden_bias, kernel, bias = results["dropout:moved"]
    assert bias > 1e-3
    assert max(hidden_kernel, hidden_bias, kernel) == 0
    assert results["dropout:resumes"]


@each_backend
def test_bad_data_is_refused(results):
    messages = {
        key.split(":")[1]: value.item()
        for key, value in results.items()
        if key.startswith("refused:")
    }
    assert all(found.startswith("ValueError") for found in messages.values())
    assert "`fit` takes groups" in messages["plain"]
    assert "must have shape (batch)" in messages["labels"]
    assert "unknown keys ['masks']" in messages["unknown_key"]


@each_backend
def test_tensorflow_was_not_needed(results):
    assert not results["tensorflow"]
