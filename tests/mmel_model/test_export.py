"""Exported models: what TensorFlow alone makes of the files."""

import keras
import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.scripts import saving_cases
from tests.scripts import user_objects
from tests.scripts.child import run
from tests.scripts.saving_cases import BATCH
from tests.scripts.saving_cases import FEATURES

FIT = {"batch_size": BATCH, "shuffle": False, "verbose": 0}


def plain_examples(count=9, seed=5):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, FEATURES)).astype("float32")


def dict_model():
    inputs = {
        "left": keras.Input((FEATURES,), name="left"),
        "right": keras.Input((FEATURES,), name="right"),
    }
    merged = keras.layers.Concatenate()([inputs["left"], inputs["right"]])
    return keras.Model(inputs, keras.layers.Dense(3)(merged))


def image_model():
    return keras.Sequential(
        [
            keras.Input((6, 6, 3), dtype="uint8"),
            keras.layers.Rescaling(1 / 255),
            keras.layers.Flatten(),
            keras.layers.Dense(3),
        ]
    )


def export_inputs(name):
    rng = np.random.default_rng(2)
    if name == "uint8":
        return rng.integers(0, 256, (9, 6, 6, 3)).astype("uint8")
    if name == "dict":
        return {"left": plain_examples(), "right": plain_examples(seed=6)}
    return plain_examples()


EXPORTED = {
    "functional": saving_cases.functional,
    "sequential": lambda: saving_cases.mlp(keras.layers.Dropout(0.4)),
    "subclassed": lambda: user_objects.TwoDense(6),
    "uint8": image_model,
    "dict": dict_model,
}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """What was predicted before export, and by TensorFlow alone after it."""
    folder = tmp_path_factory.mktemp("exported")
    expected = {}
    for name, build in EXPORTED.items():
        keras.utils.set_random_seed(1)
        x = export_inputs(name)
        views = keras.tree.map_structure(
            lambda part: np.stack([part, part[::-1], part], axis=1), x
        )
        mmel = saving_cases.wrap(build())
        mmel.fit({"views": views}, np.arange(9) % 3, **FIT)
        mmel.export(folder / name, verbose=False)
        first = keras.tree.map_structure(lambda part: part[:1], x)
        expected[name] = {
            9: mmel.predict(x, verbose=0),
            1: mmel.predict(first, verbose=0),
        }
        np.savez(folder / f"{name}.npz", **(x if name == "dict" else {"x": x}))
    run("serve", folder)
    found = {
        name: dict(np.load(folder / f"{name}.out.npz")) for name in EXPORTED
    }
    return expected, found


@pytest.mark.parametrize("size", [1, 9])
@pytest.mark.parametrize("name", EXPORTED)
def test_exported_models_serve_plain_examples(served, name, size):
    expected, found = served[0][name][size], served[1][name][str(size)]
    assert found.shape == (size, 3)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", EXPORTED)
def test_the_serving_signature_is_of_plain_examples(served, name):
    found, x = served[1][name], export_inputs(name)
    shapes = [v.tolist() for k, v in found.items() if k.startswith("shape/")]
    dtypes = {str(v) for k, v in found.items() if k.startswith("dtype/")}
    leaves = keras.tree.flatten(x)
    assert shapes == [[-1, *leaf.shape[1:]] for leaf in leaves]
    assert dtypes == {leaves[0].dtype.name}


def test_a_model_that_was_never_built_is_not_exported(tmp_path):
    mmel = saving_cases.wrap(user_objects.TwoDense(6))
    with pytest.raises(ValueError, match="not yet been built"):
        mmel.export(tmp_path / "exported")
    assert not (tmp_path / "exported").exists()
