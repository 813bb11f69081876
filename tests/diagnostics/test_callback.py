"""The callback: what it records, when, and that it touches nothing.

`tests/test_backends.py` has it on JAX and torch.
"""

import contextlib
import dataclasses
import random

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose
from numpy.testing import assert_array_equal

import keras_mmel
from keras_mmel.diagnostics import Run
from keras_mmel.diagnostics import ViewWeights
from keras_mmel.diagnostics import callback as callbacks
from tests import cases
from tests import networks
from tests import oracle
from tests.cases import Case

EAGER = {"run_eagerly": True}


class Restless(keras.layers.Layer):
    """Draws noise and counts its calls, in training and in inference."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seeds = keras.random.SeedGenerator(5)
        self.calls = self.add_weight(initializer="zeros", trainable=False)

    def call(self, x):
        self.calls.assign_add(1.0)
        noise = keras.random.normal(keras.ops.shape(x), seed=self.seeds)
        return x + 0.01 * noise


networks.MODELS["restless"] = (
    networks.mlp(
        Restless,
        keras.layers.BatchNormalization,
        lambda: keras.layers.Dropout(0.4),
    ),
    networks.MODELS["mlp"][1],
)


def trained(case, *watching, scope=contextlib.nullcontext):
    """A model, and all that its training left."""
    mmel = cases.compiled(case, scope)
    history = cases.fit(mmel, case, callbacks=[*watching])
    return mmel, cases.state(mmel, case, history)


def groups_of(case, examples=9):
    return cases.data_for(dataclasses.replace(case, examples=examples))[:2]


def random_numbers():
    """The next number of every generator of the process."""
    return [
        random.random(),
        np.random.random(),
        float(tf.random.uniform(())),
        float(keras.random.uniform(())),
    ]


def check_untouched(case, folder, scope=contextlib.nullcontext):
    """Trains without and with the callback; the model and the run."""
    _, expected = trained(case, scope=scope)
    numbers = random_numbers()
    paths = {"log_dir": folder, "save_to": folder / "run.npz"}
    callback = ViewWeights(groups_of(case), every_n_steps=1, **paths)
    mmel, found = trained(case, callback, scope=scope)
    assert random_numbers() == numbers
    assert cases.differences(found, expected) == {}
    return mmel, callback.run


TWO = {"examples": 12, "epochs": 2}
HARD = Case(mask=True, compile=EAGER, **TWO)
CASES = {
    "hard": HARD,
    "restless": Case(
        "soft", "restless", mask=True, teacher=True, compile=EAGER, **TWO
    ),
    "uniform": Case("uniform", compile={"steps_per_execution": 2}, **TWO),
    "xla": Case(compile={"jit_compile": True}, **TWO),
}
SLOW = pytest.param("xla", marks=pytest.mark.slow)


@pytest.mark.parametrize("name", ["hard", "restless", "uniform", SLOW])
def test_training_is_the_same_bit_for_bit(name, tmp_path):
    case = CASES[name]
    mmel, run = check_untouched(case, tmp_path)
    is_pairs = mmel.steps_per_execution == 2
    assert run.steps == ([2, 3, 5, 6] if is_pairs else [1, 2, 3, 4, 5, 6])
    assert run.epochs == ([1, 1, 2, 2] if is_pairs else [1] * 3 + [2] * 3)
    # One event for each record, after the first of every file.
    (events,) = (tmp_path / "view_weights").iterdir()
    count = sum(1 for _ in tf.data.TFRecordDataset(str(events)))
    assert count == 1 + len(run.steps)
    # The records are what the model itself says about the probe.
    x, y = groups_of(case)
    mask = x.get("mask", np.ones((9, cases.VIEWS), bool))
    assert_array_equal(run.mask, mask)
    assert run.original_counts is not mmel.objective.soft_targets
    if name != "restless":
        assert_allclose(run.weights[-1], mmel.view_weights(x, y), rtol=1e-5)
    if case.objective == "hard":
        for weights, losses in zip(run.weights, run.losses, strict=True):
            expected = oracle.view_weights(losses, 1.0, mask)
            assert_allclose(weights, expected, **oracle.WEIGHT)
        assert run.lambda_p == [1.0] * 6
        assert run.objective == {"name": "Hard", "lambda_p": 1.0}


@pytest.mark.slow
@pytest.mark.own_process
def test_two_replicas_train_on_as_if_nobody_looked(tmp_path):
    scope = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope
    case = Case(model="batch_norm", mask=True, **TWO)
    mmel, run = check_untouched(case, tmp_path, scope)
    assert run.steps == [1, 2, 3, 4, 5, 6]
    # One device with the same weights sees the same view weights.
    alone = cases.compiled(case)
    alone.model.set_weights(mmel.model.get_weights())
    expected = alone.view_weights(*groups_of(case))
    assert_allclose(run.weights[-1], expected, rtol=1e-5)


@pytest.fixture(scope="module")
def of_one_fit(tmp_path_factory):
    """Many callbacks that saw one fit of three epochs of three steps."""
    path = tmp_path_factory.mktemp("run") / "folder" / "run.npz"
    probe, sizes = groups_of(HARD), []
    bad = {**probe[0], "views": probe[0]["views"].copy()}
    bad["views"][2, 0] = np.nan
    watching = {
        "every": ViewWeights(probe, every_n_steps=3, save_to=path),
        "default": ViewWeights(probe),
        "late": ViewWeights(probe, every_n_steps=15),
        "steps": ViewWeights(probe, every_n_steps=4),
        "bad": ViewWeights((bad, probe[1]), every_n_steps=3),
    }
    reader = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda *_: sizes.append(len(Run.load(path).weights))
    )
    mmel = cases.compiled(HARD)
    callbacks = [*watching.values(), reader]
    history = cases.fit(mmel, HARD, epochs=3, callbacks=callbacks)
    found = {"mmel": mmel, "history": history, "files": sizes}
    return {**watching, **found, "path": path, "probe": probe}


def test_losses_are_those_of_the_formula(of_one_fit):
    (x, labels), run = of_one_fit["probe"], of_one_fit["every"].run
    views = np.nan_to_num(x["views"])
    logits = np.asarray(of_one_fit["mmel"].model(views.reshape(27, 5)))
    logits = logits.reshape(9, 3, 4).astype("float64")
    expected = np.log(np.exp(logits).sum(axis=2))
    expected -= logits[np.arange(9), :, labels]
    expected[~x["mask"]] = np.nan
    assert_allclose(run.losses[-1], expected, rtol=1e-5)
    assert_array_equal(run.classes, labels)


def test_looks_and_logs_of_all_epochs(of_one_fit):
    assert of_one_fit["every"].run.steps == [3, 6, 9]
    assert of_one_fit["steps"].run.steps == [4, 8, 9]
    # Each look writes the file, and nothing beside it.
    assert of_one_fit["files"] == [1, 2, 3]
    assert len(Run.load(of_one_fit["path"]).logs) == 3
    assert len(list(of_one_fit["path"].parent.iterdir())) == 1
    # No 15th step came, and the end of training is always seen.
    run = of_one_fit["late"].run
    assert run.steps == [9]
    by_default = of_one_fit["default"].run
    assert (by_default.steps[0], by_default.steps[-1]) == (3, 9)
    assert by_default.logs == run.logs
    assert [log["epoch"] for log in run.logs] == [1, 2, 3]
    assert [log["step"] for log in run.logs] == [3, 6, 9]
    for name in ("loss", "original_loss", "effective_views", "accuracy"):
        assert [log[name] for log in run.logs] == of_one_fit["history"][name]


def test_a_loss_that_is_not_finite_is_recorded(of_one_fit):
    run = of_one_fit["bad"].run
    assert run.summaries[-1]["not_finite"] == 1
    assert np.isnan(run.weights[-1][2, run.mask[2]]).all()
    assert np.isfinite(run.summaries[-1]["effective_views"])


def test_only_looks_after_steps_make_keras_wait_for_steps(of_one_fit):
    name = "on_train_batch_end"
    assert name not in {*vars(ViewWeights), *vars(of_one_fit["default"])}
    assert name in vars(of_one_fit["steps"])


def test_lambda_is_recorded_as_it_changes_and_a_second_fit_goes_on():
    schedule = keras_mmel.callbacks.LambdaSchedule([np.inf, 2.0].__getitem__)
    case = Case(batch_size=7, epochs=2, compile=EAGER)
    mmel = cases.compiled(case)
    callback = ViewWeights(groups_of(case), every_n_steps=1)
    cases.fit(mmel, case, callbacks=[schedule, callback])
    run = callback.run
    assert run.lambda_p == [np.inf, 2.0]
    assert_allclose(run.weights[0], 1 / cases.VIEWS, rtol=1e-6)
    assert run.logs[1]["lambda_p"] == 2.0
    cases.fit(mmel, case, batch_size=4, epochs=1, callbacks=[callback])
    assert (run.steps, run.epochs) == ([1, 2, 3, 4], [1, 2, 1, 1])


@pytest.mark.parametrize("epoch, look", [(1.0, 0.25), (1.0, 0.001), (0.5, 3.0)])
def test_looks_stay_within_their_share(epoch, look, monkeypatch):
    """With a clock that the test turns."""
    now, looks = [100.0], []
    callback = ViewWeights(groups_of(HARD))
    shape = callback.probe.mask.shape

    def measure(*_):
        looks.append(len(callback.run.logs))
        now[0] += look if len(looks) > 1 else 50.0  # The first warms up.
        return np.full(shape, 0.25), np.ones(shape)

    monkeypatch.setattr(callbacks.probes, "measure", measure)
    monkeypatch.setattr(callbacks.time, "perf_counter", lambda: now[0])
    callback.set_model(cases.compiled(HARD))
    callback.on_train_begin()
    for number in range(1000):
        callback.on_epoch_begin(number)
        now[0] += epoch
        callback.on_epoch_end(number)
    assert looks[:2] == [1, 2]
    # As many as fit: one look per `look / 0.01` seconds, or every epoch.
    expected = min(1000, 1 + int(0.01 * 1000 * epoch / look))
    assert abs(len(looks) - expected) <= 2
    assert (len(looks) - 1) * look <= max(0.01 * 1000 * epoch, look)


def test_other_models_are_refused():
    with pytest.raises(TypeError, match="MMELModel.*Received: a Sequential"):
        ViewWeights(groups_of(HARD)).set_model(keras.Sequential())


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"every_n_steps": 0}, "must be at least 1.*Received: .*=0"),
        ({"every_n_steps": 1.5}, "`every_n_steps` must be"),
        ({"num_groups": 0}, "`num_groups` must be at least 1"),
        ({"view_names": ["a", "b"]}, "one name for each of the 3 views"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises((TypeError, ValueError), match=message):
        ViewWeights(groups_of(HARD), **settings)
