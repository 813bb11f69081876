"""Saved, resumed and exported: what fresh processes make of the files."""

import pickle
import signal

import keras
import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.testing import assert_equal

import keras_mmel
from tests import cases
from tests import networks
from tests.cases import Case
from tests.saved_cases import SAVED
from tests.saved_cases import SAVED_SLOW
from tests.saved_cases import SAVED_WITH_USER_OBJECTS
from tests.saved_cases import go_on
from tests.scripts import train_with_backup
from tests.scripts import user_objects
from tests.scripts.child import Child
from tests.scripts.child import run
from tests.scripts.child import selected

ALL = {**SAVED, **SAVED_WITH_USER_OBJECTS}
EXPORTED = {"hard", "float16", "accumulation", "subclassed", "bert"}


def over(names):
    return pytest.mark.parametrize(
        "name",
        [
            pytest.param(
                name,
                marks=[pytest.mark.slow] if name in SAVED_SLOW else [],
            )
            for name in ALL
            if name in names
        ],
    )


# The cases, each trained, saved, exported, resumed and served


@pytest.fixture(scope="module")
def runs(request, tmp_path_factory):
    """Of every case: its model, and the states of three processes."""
    root = tmp_path_factory.mktemp("saved")
    found = {}
    for folder in ("keras_only", "user_objects", "exported"):
        (root / folder).mkdir()
    for name in selected(request, "name"):
        case = ALL[name]
        mmel = cases.compiled(case)
        before = [weight.numpy() for weight in mmel.trainable_weights]
        cases.fit(mmel, case)
        for weight, old in zip(mmel.trainable_weights, before, strict=True):
            if not weight.path.endswith("key/bias"):
                assert np.any(weight.numpy() != old), weight.path
        folder = "keras_only" if name in SAVED else "user_objects"
        mmel.save(root / folder / f"{name}.keras")
        found[name] = {"mmel": mmel}
        if name in EXPORTED:
            x, _ = cases.plain_examples(case)
            mmel.export(root / "exported" / name, verbose=False)
            path = root / "exported" / f"{name}.pickle"
            path.write_bytes(pickle.dumps(x))
            found[name]["predicted"] = mmel.predict(x, verbose=0)
    plain = cases.build(Case())
    x, _ = cases.plain_examples(Case())
    keras_mmel.MMELModel(plain).model.save(root / "plain.keras")
    np.savez(root / "plain.npz", x=x)
    resuming, serving = Child("resume", root), Child("serve", root / "exported")
    for name, one in found.items():
        one["state"] = go_on(one["mmel"], ALL[name])
    found["plain"] = {"state": {"prediction": plain.predict(x, verbose=0)}}
    resuming.finish()
    serving.finish()
    for path in root.rglob("*.out.npz"):
        kind = "served" if path.parent.name == "exported" else "resumed"
        with np.load(path) as values:
            found[path.name.removesuffix(".out.npz")][kind] = dict(values)
    return found


@over(ALL)
def test_a_resumed_run_is_bit_equal(runs, name):
    resumed, unbroken = runs[name]["resumed"], runs[name]["state"]
    assert "error" not in resumed, resumed["error"].item()
    different = cases.differences(resumed, unbroken)
    if name.startswith("bert"):
        # Its attention is summed by as many threads as are free.
        assert different.pop("predict/0", 0) < 1e-6
    assert different == {}
    assert np.isfinite(unbroken["log/loss"]).all()


def test_the_wrapped_model_loads_without_keras_mmel(runs):
    plain = runs["plain"]
    assert cases.differences(plain["resumed"], plain["state"]) == {}


@over(EXPORTED)
def test_exported_models_serve_plain_examples(runs, name):
    served, predicted = runs[name]["served"], runs[name]["predicted"]
    accuracy = 1e-6 if ALL[name].precision == "float32" else 2e-2
    assert_allclose(served["all"], predicted, accuracy, accuracy)
    assert_allclose(served["first"], predicted[:1], accuracy, accuracy)
    if name == "bert":
        # keras-hub leaves the length open.
        return
    leaves = keras.tree.flatten(cases.inputs(ALL[name], (1,)))
    expected = [
        f"{leaf.dtype.name} (None, {', '.join(map(str, leaf.shape[1:]))})"
        for leaf in leaves
    ]
    assert served["inputs"].tolist() == sorted(expected)


def test_a_model_that_was_never_built_is_not_exported(tmp_path):
    mmel = keras_mmel.MMELModel(user_objects.TwoDense(6))
    with pytest.raises(ValueError, match="not yet been built"):
        mmel.export(tmp_path / "exported")
    assert not (tmp_path / "exported").exists()


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_was(tmp_path):
    killed, unbroken = tmp_path / "killed", tmp_path / "unbroken"
    for folder in (killed, unbroken):
        folder.mkdir()
    (unbroken / "killed-0").touch()
    child = Child("train_with_backup", killed)
    expected = train_with_backup.train(unbroken)
    child.finish(-signal.SIGKILL)
    run("train_with_backup", killed)
    found = dict(np.load(killed / "final-0.npz"))
    for key in expected:
        if key.startswith("log/"):
            assert len(found[key]) == 2
            expected[key] = expected[key][2:]
    assert cases.differences(found, expected) == {}


# Configurations and weights


def test_unregistered_classes_are_given_as_custom_objects(tmp_path):
    class Distance(user_objects.PowerError):
        pass

    def soft_distance(target, y_pred):
        return keras.ops.mean(keras.ops.abs(target - y_pred), axis=-1)

    case = Case("soft", loss=Distance(), soft_loss=soft_distance)
    mmel = cases.compiled(case)
    cases.fit(mmel, case)
    mmel.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(
        tmp_path / "model.keras",
        custom_objects={"Distance": Distance, "soft_distance": soft_distance},
    )
    assert cases.fit(mmel, case) == cases.fit(loaded, case)


def test_config_round_trip():
    objective = keras_mmel.objectives.Soft(0.2, 0.7, stop_gradient=False)
    mmel = keras_mmel.MMELModel(
        networks.functional(),
        objective,
        soft_loss=user_objects.squared_distance,
        name="wrapper",
    )
    mmel.lambda_p = 0.4
    loaded = keras_mmel.MMELModel.from_config(mmel.get_config())
    assert loaded.name == "wrapper"
    assert loaded.get_config() == mmel.get_config()
    assert loaded.model.get_config() == mmel.model.get_config()
    assert loaded.objective.lambda_t == 0.7
    assert loaded.objective.stop_gradient is False


def weights_of(mmel):
    return [weight.numpy().tolist() for weight in mmel.model.weights]


def test_weights_of_the_wrapper_and_of_the_wrapped_model(tmp_path):
    case = Case(model="batch_norm")
    mmel = cases.compiled(case)
    cases.fit(mmel, case)
    mmel.save_weights(tmp_path / "wrapper.weights.h5")
    mmel.model.save_weights(tmp_path / "model.weights.h5")
    for objective in ("hard", "soft"):
        other = cases.compiled(Case(objective, model="batch_norm"))
        other.optimizer.build(other.trainable_variables)
        # A setting of the new wrapper, which weights do not change.
        other.lambda_p = 3.0
        assert weights_of(other) != weights_of(mmel)
        other.load_weights(tmp_path / "wrapper.weights.h5")
        assert weights_of(other) == weights_of(mmel)
        found, expected = (m.optimizer.variables for m in (other, mmel))
        assert_equal(*([v.numpy() for v in one] for one in (found, expected)))
        assert other.lambda_p == 3.0
    other = cases.compiled(case)
    other.model.load_weights(tmp_path / "model.weights.h5")
    assert weights_of(other) == weights_of(mmel)


def test_a_checkpoint_goes_on_where_it_was(tmp_path):
    case = Case(model="dropout", epochs=3)
    mmel = cases.compiled(case)
    saved = keras.callbacks.ModelCheckpoint(tmp_path / "{epoch}.keras")
    log = cases.fit(mmel, case, callbacks=[saved])
    whole = cases.state(mmel, case)
    loaded = keras.models.load_model(tmp_path / "2.keras")
    repeated = cases.fit(loaded, case, epochs=1)
    assert repeated["loss"][0] == log["loss"][2]
    assert cases.differences(cases.state(loaded, case), whole) == {}
