"""Saved and resumed: what a fresh process makes of the files."""

import signal

import keras
import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.testing import assert_array_equal

import keras_mmel
from tests.scripts import saving_cases
from tests.scripts import user_objects
from tests.scripts.child import Child
from tests.scripts.child import run
from tests.scripts.child import selected
from tests.scripts.saving_cases import BATCH
from tests.scripts.saving_cases import FEATURES
from tests.scripts.saving_cases import KERAS_ONLY
from tests.scripts.saving_cases import WITH_USER_OBJECTS
from tests.scripts.state import differences
from tests.scripts.state import state

# Keras's own way of saving a variable of TensorFlow, with NumPy 2.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation")

FIT = {"batch_size": BATCH, "shuffle": False, "verbose": 0}
ALL = {**KERAS_ONLY, **WITH_USER_OBJECTS}


def trained(build=saving_cases.adam, epochs=1, **fit):
    mmel = build()
    x, y = saving_cases.groups()
    mmel.fit(x, y, epochs=epochs, **FIT, **fit)
    return mmel


def built(build):
    """Not trained; Keras warns where the optimizer has no variables yet."""
    mmel = build()
    mmel.optimizer.build(mmel.trainable_variables)
    return mmel


def plain_examples(count=9, seed=5):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, FEATURES)).astype("float32")


# Resuming in a fresh process


def train_and_save(name, folder):
    """Trains an epoch and saves; the child goes on from the file."""
    keras.utils.set_random_seed(1)
    mmel = ALL[name]()
    x, y = data_of(name)
    data = {"views": x["views"], "y": np.array(y)}
    callbacks = []
    if name in saving_cases.SCHEDULES:
        schedule = keras_mmel.callbacks.LambdaSchedule(
            saving_cases.SCHEDULES[name]
        )
        callbacks.append(schedule)
    mmel.fit(x, y, epochs=1, callbacks=callbacks, **FIT)
    if callbacks:
        data["lambda_p"] = mmel.lambda_p
    mmel.save(folder / f"{name}.keras")
    np.savez(folder / f"{name}.npz", **data)
    return mmel


def go_on(name, mmel):
    """The state of the run that was not broken off."""
    x, y = data_of(name)
    history = mmel.fit(x, y, epochs=2, **FIT)
    return state(mmel, history, x["views"][:, 0])


def data_of(name):
    x, y = saving_cases.groups()
    return x, saving_cases.labels(name, y)


@pytest.fixture(scope="module")
def runs(request, tmp_path_factory):
    """For every case the state of the unbroken and of the resumed run."""
    root = tmp_path_factory.mktemp("resume")
    names = {"dropout", *selected(request, "name")}
    folders = {"keras_only": KERAS_ONLY, "user_objects": WITH_USER_OBJECTS}
    models = {}
    for folder, cases in folders.items():
        (root / folder).mkdir()
        for name in names & cases.keys():
            models[name] = train_and_save(name, root / folder)
    plain, x = trained(), plain_examples()
    plain.model.save(root / "plain.keras")
    np.savez(root / "plain.npz", x=x)
    child = Child("resume", root)
    unbroken = {name: go_on(name, mmel) for name, mmel in models.items()}
    unbroken["plain"] = {"prediction": plain.predict(x, verbose=0)}
    child.finish()
    resumed = {}
    for path in root.rglob("*.out.npz"):
        with np.load(path) as values:
            resumed[path.name.removesuffix(".out.npz")] = dict(values)
    return unbroken, resumed


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=[pytest.mark.slow] if name in saving_cases.SLOW else [],
        )
        for name in ALL
    ],
)
def test_a_resumed_run_is_bit_equal(runs, name):
    unbroken, resumed = runs[0][name], runs[1][name]
    assert "error" not in resumed, resumed["error"].item()
    assert differences(resumed, unbroken) == {}
    assert "log/loss" in unbroken and "predict/0" in unbroken
    assert np.isfinite(unbroken["log/loss"]).all()


def test_the_wrapped_model_loads_without_keras_mmel(runs):
    assert differences(runs[1]["plain"], runs[0]["plain"]) == {}


def test_saving_does_not_change_the_run(runs):
    keras.utils.set_random_seed(1)
    mmel = saving_cases.dropout()
    x, y = saving_cases.groups()
    mmel.fit(x, y, epochs=1, **FIT)
    history = mmel.fit(x, y, epochs=2, **FIT)
    found = state(mmel, history, x["views"][:, 0])
    assert differences(found, runs[0]["dropout"]) == {}


def test_unregistered_classes_are_given_as_custom_objects(tmp_path):
    class Distance(keras.losses.Loss):
        def call(self, y_true, y_pred):
            y_true = keras.ops.cast(y_true, y_pred.dtype)
            return keras.ops.mean(keras.ops.abs(y_true - y_pred), axis=-1)

    def soft_distance(target, y_pred):
        return keras.ops.mean(keras.ops.abs(target - y_pred), axis=-1)

    mmel = keras_mmel.MMELModel(
        saving_cases.mlp(), "soft", soft_loss=soft_distance
    )
    mmel.compile("sgd", Distance())
    x, _ = saving_cases.groups()
    y = np.ones((len(x["views"]), 3), "float32")
    mmel.fit(x, y, **FIT)
    mmel.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(
        tmp_path / "model.keras",
        custom_objects={"Distance": Distance, "soft_distance": soft_distance},
    )
    histories = [m.fit(x, y, **FIT).history for m in (mmel, loaded)]
    assert histories[0] == histories[1]


def test_config_round_trip():
    objective = keras_mmel.objectives.Soft(0.2, 0.7, stop_gradient=False)
    mmel = keras_mmel.MMELModel(
        saving_cases.functional(),
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


# Weights


@pytest.mark.parametrize("objective", ["hard", "soft", "uniform"])
def test_weights_of_the_wrapper(tmp_path, objective):
    mmel = trained(saving_cases.sgd_batch_norm)
    mmel.save_weights(tmp_path / "wrapper.weights.h5")
    other = saving_cases.wrap(
        saving_cases.mlp(keras.layers.BatchNormalization()),
        objective,
        optimizer=keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    )
    other.optimizer.build(other.trainable_variables)
    if objective != "uniform":
        # A setting of the new wrapper, which weights do not change.
        other.lambda_p = 3.0
    other.load_weights(tmp_path / "wrapper.weights.h5")
    assert state_of_model(other) == state_of_model(mmel)
    for found, expected in zip(
        other.optimizer.variables, mmel.optimizer.variables, strict=True
    ):
        assert_array_equal(found.numpy(), expected.numpy())
    if objective != "uniform":
        assert other.lambda_p == 3.0


def test_weights_of_the_wrapped_model(tmp_path):
    mmel = trained(saving_cases.sgd_batch_norm)
    mmel.model.save_weights(tmp_path / "model.weights.h5")
    other = saving_cases.sgd_batch_norm()
    before = state_of_model(other)
    other.model.load_weights(tmp_path / "model.weights.h5")
    assert before != state_of_model(mmel) == state_of_model(other)


def state_of_model(mmel):
    return [weight.numpy().tolist() for weight in mmel.model.weights]


# Callbacks of Keras


def test_model_checkpoint(tmp_path):
    x, y = saving_cases.groups()
    checkpoints = [
        keras.callbacks.ModelCheckpoint(tmp_path / "{epoch}.keras"),
        keras.callbacks.ModelCheckpoint(
            tmp_path / "{epoch}.weights.h5", save_weights_only=True
        ),
        keras.callbacks.ModelCheckpoint(
            tmp_path / "best.keras",
            monitor="val_loss",
            save_best_only=True,
            initial_value_threshold=1e9,
        ),
    ]
    mmel = saving_cases.dropout()
    history = mmel.fit(
        x,
        y,
        epochs=3,
        callbacks=checkpoints,
        validation_data=(x["views"][:, 0], y),
        **FIT,
    )
    whole = state(mmel, None, x["views"][:, 0])

    loaded = keras.models.load_model(tmp_path / "3.keras")
    assert differences(state(loaded, None, x["views"][:, 0]), whole) == {}

    weights = built(saving_cases.dropout)
    weights.load_weights(tmp_path / "3.weights.h5")
    assert state_of_model(weights) == state_of_model(mmel)

    second = keras.models.load_model(tmp_path / "2.keras")
    repeated = second.fit(x, y, **FIT).history
    assert repeated["loss"][0] == history.history["loss"][2]
    assert differences(state(second, None, x["views"][:, 0]), whole) == {}

    best = keras.models.load_model(tmp_path / "best.keras")
    loss, _ = best.evaluate(x["views"][:, 0], y, verbose=0)
    assert_allclose(loss, min(history.history["val_loss"]), rtol=1e-6)


def test_a_killed_run_goes_on_where_it_was(tmp_path):
    killed, unbroken = tmp_path / "killed", tmp_path / "unbroken"
    for folder in (killed, unbroken):
        folder.mkdir()
    (unbroken / "killed").touch()
    first = Child("train_with_backup", killed)
    other = Child("train_with_backup", unbroken)
    first.finish(-signal.SIGKILL)
    assert not (killed / "final.npz").exists()
    run("train_with_backup", killed)
    other.finish()
    found = dict(np.load(killed / "final.npz"))
    expected = dict(np.load(unbroken / "final.npz"))
    assert found.pop("epochs").tolist() == [2, 3]
    assert expected.pop("epochs").tolist() == [0, 1, 2, 3]
    for key in expected:
        if key.startswith("log/"):
            expected[key] = expected[key][2:]
    assert differences(found, expected) == {}
