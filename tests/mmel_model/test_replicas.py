"""`fit` under `tf.distribute.MirroredStrategy` beside a single device.

The cases are in `scripts/replica_cases.py`; one process trains them all for
each number of replicas.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose

from tests.mmel_model.reference import Reference
from tests.scripts import replica_models
from tests.scripts.child import Child
from tests.scripts.child import selected
from tests.scripts.replica_cases import CASES
from tests.scripts.replica_cases import EVEN
from tests.scripts.replica_cases import OBJECTIVES
from tests.scripts.replica_cases import REFUSED
from tests.scripts.replica_cases import SLOW
from tests.scripts.replica_cases import UNEVEN
from tests.scripts.replica_cases import data_for

REPLICAS = (1, 2, 4)
ALWAYS = [f"{name}_uneven_last" for name in OBJECTIVES]
ALWAYS += ["lambda_p", "steps_per_execution"]
TOLERANCE = {"mixed_float16": 3e-3}
# Keras weights the losses of single outputs as if all replicas had the same
# number of examples, in plain `fit` as well.
NOT_EXACT = {"two_outputs_uneven": {"log/first_loss", "log/second_loss"}}


@pytest.fixture(scope="module")
def results(request, tmp_path_factory):
    """What was found: replicas (0: no strategy) -> case -> name -> value."""
    folder = tmp_path_factory.mktemp("replicas")
    names = [*selected(request, "name"), *ALWAYS]
    children = {
        count: Child(
            "train_on_replicas", count, folder / f"{count}.npz", *names
        )
        for count in (4, 2, 1, 0)
    }
    found = {}
    for count, child in children.items():
        child.finish()
        found[count] = cases = {name: {} for name in CASES}
        with np.load(folder / f"{count}.npz") as values:
            for key in values:
                case, name = key.split(":", 1)
                cases[case][name] = values[key]
    return found


def runs(cases):
    return [
        pytest.param(
            name,
            count,
            id=f"{name}-{count}",
            marks=[pytest.mark.slow] if name in SLOW else [],
        )
        for name in cases
        for count in REPLICAS
        if count in CASES[name].replicas
    ]


def assert_equal_to_one_device(results, name, replicas):
    expected, found = results[0][name], results[replicas][name]
    assert "error" not in expected, expected["error"].item()
    assert "error" not in found, found["error"].item()
    assert found.keys() == expected.keys()
    assert any(key.startswith("weight/") for key in found)
    for key in expected.keys() - NOT_EXACT.get(name, set()):
        assert_allclose(
            found[key],
            expected[key],
            rtol=1e-6,
            atol=TOLERANCE.get(name, 1e-6),
            err_msg=key,
        )


@pytest.mark.parametrize("name, replicas", runs(EVEN))
def test_even_batches_equal_one_device(results, name, replicas):
    assert_equal_to_one_device(results, name, replicas)


@pytest.mark.parametrize("name, replicas", runs(UNEVEN))
def test_uneven_batches_equal_one_device(results, name, replicas):
    assert_equal_to_one_device(results, name, replicas)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_uneven_batches_equal_a_plain_loop(results, objective):
    name = f"{objective}_uneven_last"
    case = CASES[name]
    keras.utils.set_random_seed(7)
    reference = Reference(
        replica_models.mlp(),
        replica_models.sgd(),
        objective,
        lambda_p=0.5 if objective == "hard" else 1.0,
    )
    x, y, _ = data_for(case)
    batches = [
        ({"views": x["views"][rows]}, y[rows])
        for rows in (slice(0, 8), slice(8, 15))
    ]
    logs = reference.fit(batches, case.epochs)
    weights = reference.model.get_weights()
    for found in (results[count][name] for count in (0, *REPLICAS)):
        for key, values in logs.items():
            assert_allclose(found[f"log/{key}"], values, 1e-5, err_msg=key)
        for i, value in enumerate(weights):
            assert_allclose(found[f"weight/{i}"], value, 1e-5, 2e-6)


@pytest.mark.parametrize("name, replicas", runs(REFUSED))
def test_a_replica_without_examples_is_refused(results, name, replicas):
    found = results[replicas][name]
    message = found["message"].item()
    assert "A replica got no example of a batch" in message
    assert f"the number of replicas, {replicas}, divides" in message
    expected = results[0][name]
    assert expected["type"] == "none"
    for key in expected:
        if key.startswith("weight/"):
            assert_allclose(found[key], expected[key], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("replicas", [1, 2])
def test_steps_per_execution(results, replicas):
    plain = results[replicas]["steps_per_execution"].pop("plain").item()
    if plain != "none":
        assert replicas > 1
        pytest.skip(
            f"plain Keras fails on TensorFlow {tf.__version__} with "
            f"{replicas} replicas and steps_per_execution: {plain[:60]}"
        )
    assert_equal_to_one_device(results, "steps_per_execution", replicas)


def test_lambda_p_of_every_epoch_is_logged(results):
    logged = results[2]["lambda_p"]["log/lambda_p"]
    assert_allclose(logged, CASES["lambda_p"].lambdas, rtol=1e-7)
