"""The callback: what it records, when, and that it touches nothing."""

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
from tests import oracle
from tests.diagnostics import watched

SOFT = {"objective": "soft", "mask": True, "teacher": True, "run_eagerly": True}
CASES = {
    "eager": {"run_eagerly": True, "mask": True},
    "restless": {"build": watched.restless, **SOFT},
    "uniform": {"objective": "uniform", "steps_per_execution": 2},
    "text": {"build": watched.text, **SOFT},
    "xla": {"jit_compile": True},
}


def fit(case, *watching, epochs=2):
    """A trained model and its history."""
    settings = {"jit_compile": False, **CASES[case]}
    build = settings.pop("build", watched.dense)
    of_data = {k: settings.pop(k, False) for k in ("mask", "teacher")}
    mmel = watched.compiled(build, **settings)
    x, y = watched.data(build, **of_data)
    settings = {"batch_size": 4, "epochs": epochs, "verbose": 0}
    return mmel, mmel.fit(x, y, callbacks=[*watching], **settings).history


def probe_of(case):
    found = [CASES[case].get(k, False) for k in ("mask", "teacher")]
    build = CASES[case].get("build", watched.dense)
    return watched.data(build, *found, groups=9)


def random_numbers():
    """The next number of every generator of the process."""
    return [
        random.random(),
        np.random.random(),
        float(tf.random.uniform(())),
        float(keras.random.uniform(())),
    ]


SLOW = {"text", "xla"}


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=pytest.mark.slow if case in SLOW else ())
        for case in CASES
    ],
)
def test_training_is_the_same_bit_for_bit(case, tmp_path):
    plain, expected = fit(case)
    numbers = random_numbers()
    probe = probe_of(case)
    paths = {"log_dir": tmp_path, "save_to": tmp_path / "run.npz"}
    callback = ViewWeights(probe, every_n_steps=1, **paths)
    seen, found = fit(case, callback)
    assert random_numbers() == numbers
    assert found == expected
    for ours, theirs in zip(
        [*seen.variables, *seen.optimizer.variables],
        [*plain.variables, *plain.optimizer.variables],
        strict=True,
    ):
        assert_array_equal(ours.numpy(), theirs.numpy(), err_msg=ours.path)
    # The records are what the model itself says about the probe.
    run = callback.run
    is_pairs = seen.steps_per_execution == 2
    assert run.steps == ([2, 3, 5, 6] if is_pairs else [1, 2, 3, 4, 5, 6])
    assert run.epochs == ([1, 1, 2, 2] if is_pairs else [1] * 3 + [2] * 3)
    assert_array_equal(
        run.mask, probe[0].get("mask", np.ones((9, 4), dtype=bool))
    )
    assert run.original_counts is not seen.objective.soft_targets
    if case != "restless":
        weights = seen.view_weights(*probe)
        assert_allclose(run.weights[-1], weights, rtol=1e-5)
    if seen.objective == keras_mmel.objectives.Hard(1.0):
        for weights, losses in zip(run.weights, run.losses, strict=True):
            expected = oracle.view_weights(losses, 1.0, run.mask)
            assert_allclose(weights, expected, rtol=1e-5, atol=1e-7)
        assert run.lambda_p == [1.0] * 6
        assert run.objective == {"name": "Hard", "lambda_p": 1.0}


@pytest.fixture(scope="module")
def of_one_fit(tmp_path_factory):
    """Many callbacks that saw one fit of three epochs of three steps."""
    path = tmp_path_factory.mktemp("run") / "folder" / "run.npz"
    probe, found = probe_of("eager"), {"files": []}
    bad = {**probe[0], "views": probe[0]["views"].copy()}
    bad["views"][2, 1] = np.nan
    found["every"] = ViewWeights(probe, every_n_steps=3, save_to=path)
    found["default"] = ViewWeights(probe)
    found["late"] = ViewWeights(probe, every_n_steps=15)
    found["steps"] = ViewWeights(probe, every_n_steps=4)
    found["bad"] = ViewWeights((bad, probe[1]), every_n_steps=3)

    class Reader(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            found["files"].append(len(Run.load(path).weights))

    watching = [value for name, value in found.items() if name != "files"]
    found["mmel"], found["history"] = fit(
        "eager", *watching, Reader(), epochs=3
    )
    return {**found, "path": path, "probe": probe}


def test_losses_are_those_of_a_plain_loop(of_one_fit):
    probe, run = of_one_fit["probe"], of_one_fit["every"].run
    views, labels = probe[0]["views"], probe[1]
    logits = np.asarray(of_one_fit["mmel"](views.reshape(36, 5)), "float64")
    logits = logits.reshape(9, 4, 3)
    for group in range(9):
        expected = np.log(np.exp(logits[group]).sum(axis=1))
        expected -= logits[group, :, labels[group]]
        expected[~probe[0]["mask"][group]] = np.nan
        assert_allclose(run.losses[-1][group], expected, rtol=1e-5)
    assert_array_equal(run.classes, labels)


def test_intervals_and_logs_of_all_epochs(of_one_fit):
    assert of_one_fit["every"].run.steps == [3, 6, 9]
    assert of_one_fit["steps"].run.steps == [4, 8, 9]
    # No 15th step came, and the end of training is always seen.
    run = of_one_fit["late"].run
    assert run.steps == [9]
    of_epochs = of_one_fit["default"].run
    assert (of_epochs.steps[0], of_epochs.steps[-1]) == (3, 9)
    assert of_epochs.logs == run.logs
    assert [log["epoch"] for log in run.logs] == [1, 2, 3]
    assert [log["step"] for log in run.logs] == [3, 6, 9]
    for name in ("loss", "original_loss", "effective_views", "accuracy"):
        assert [log[name] for log in run.logs] == of_one_fit["history"][name]


def test_the_file_is_written_at_each_look(of_one_fit):
    path = of_one_fit["path"]
    assert of_one_fit["files"] == [1, 2, 3]
    assert len(Run.load(path).logs) == 3
    assert [file.name for file in path.parent.iterdir()] == ["run.npz"]


def test_a_loss_that_is_not_finite_is_recorded(of_one_fit):
    run = of_one_fit["bad"].run
    assert run.summaries[-1]["not_finite"] == 1
    assert np.isnan(run.weights[-1][2, run.mask[2]]).all()
    assert np.isfinite(run.summaries[-1]["effective_views"])


def test_only_looks_after_steps_make_keras_wait_for_steps(of_one_fit):
    default = keras.callbacks.Callback.on_train_batch_end
    assert type(of_one_fit["default"]).on_train_batch_end is default
    assert "on_train_batch_end" not in vars(of_one_fit["default"])
    assert "on_train_batch_end" in vars(of_one_fit["steps"])


def test_lambda_is_recorded_as_it_changes_and_a_second_fit_goes_on():
    schedule = keras_mmel.callbacks.LambdaSchedule([np.inf, 2.0].__getitem__)
    mmel = watched.compiled(run_eagerly=True)
    x, y = watched.data()
    callback = ViewWeights((x, y), every_n_steps=1)
    mmel.fit(x, y, epochs=2, verbose=0, callbacks=[schedule, callback])
    assert callback.run.lambda_p == [np.inf, 2.0]
    assert_allclose(callback.run.weights[0], 0.25, rtol=1e-6)
    assert callback.run.logs[1]["lambda_p"] == 2.0
    mmel.fit(x, y, batch_size=6, verbose=0, callbacks=[callback])
    assert callback.run.steps == [1, 2, 3, 4]
    assert callback.run.epochs == [1, 2, 1, 1]


@pytest.mark.parametrize("epoch, look", [(1.0, 0.25), (1.0, 0.001), (0.5, 3.0)])
def test_looks_stay_within_their_share(epoch, look, monkeypatch):
    """With a clock that the test turns."""
    now, looks = [100.0], []
    callback = ViewWeights(watched.data())
    shape = callback.probe.mask.shape

    def measure(*_):
        looks.append(len(callback.run.logs))
        # The first warms up.
        now[0] += look if len(looks) > 1 else 50.0
        return np.full(shape, 0.25), np.ones(shape)

    monkeypatch.setattr(callbacks.probes, "measure", measure)
    monkeypatch.setattr(callbacks.time, "perf_counter", lambda: now[0])
    callback.set_model(watched.compiled())
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
    callback = ViewWeights(watched.data())
    with pytest.raises(TypeError, match="MMELModel.*Received: a Sequential"):
        callback.set_model(watched.dense())


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"every_n_steps": 0}, "`every_n_steps` must be .*Received: .*=0"),
        ({"every_n_steps": 1.5}, "`every_n_steps` must be None or a pos"),
        ({"every_n_steps": True}, "`every_n_steps` must be"),
        ({"num_groups": 0}, "at least one group"),
        ({"view_names": ["a", "b"]}, "one name for each of the 4 views"),
        ({"tokenizer": object()}, "must have a `vocabulary`"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        ViewWeights(watched.data(), **settings)
