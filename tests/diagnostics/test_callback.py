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
from keras_mmel.diagnostics.callback import Budget
from tests import oracle
from tests.diagnostics import watched

# Keras's own way of reading a variable of TensorFlow, with NumPy 2.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation")

CASES = {
    "eager": {"run_eagerly": True, "mask": True},
    "xla": {"build": watched.single, "jit_compile": True},
    "restless": {
        "build": watched.restless,
        "objective": "soft",
        "mask": True,
        "teacher": True,
        "run_eagerly": True,
    },
    "uniform": {"objective": "uniform", "steps_per_execution": 2},
    "text": {
        "build": watched.text,
        "objective": "soft",
        "mask": True,
        "teacher": True,
        "run_eagerly": True,
    },
}


def fit(case, callback=None, epochs=2):
    """A trained model and its history."""
    settings = {"jit_compile": False, **CASES[case]}
    build = settings.pop("build", watched.dense)
    of_data = {k: settings.pop(k, False) for k in ("mask", "teacher")}
    mmel = watched.compiled(build, **settings)
    x, y = watched.data(build, **of_data)
    history = mmel.fit(
        x,
        y,
        batch_size=4,
        epochs=epochs,
        verbose=0,
        callbacks=[] if callback is None else [callback],
    )
    return mmel, history.history


def probe_of(case):
    settings = CASES[case]
    return watched.data(
        settings.get("build", watched.dense),
        settings.get("mask", False),
        settings.get("teacher", False),
        groups=9,
    )


def random_numbers():
    """The next number of every generator of the process."""
    return [
        random.random(),
        np.random.random(),
        float(tf.random.uniform(())),
        float(keras.random.uniform(())),
    ]


@pytest.mark.parametrize("case", CASES)
def test_training_is_the_same_bit_for_bit(case, tmp_path):
    plain, expected = fit(case)
    numbers = random_numbers()
    probe = probe_of(case)
    callback = ViewWeights(
        probe,
        every_n_steps=1,
        batch_size=5,
        log_dir=tmp_path,
        save_to=tmp_path / "run.npz",
    )
    seen, found = fit(case, callback)
    assert random_numbers() == numbers
    assert found == expected
    for ours, theirs in zip(
        [*seen.variables, *seen.optimizer.variables],
        [*plain.variables, *plain.optimizer.variables],
        strict=True,
    ):
        assert_array_equal(ours.numpy(), theirs.numpy(), err_msg=ours.path)
    check_records(callback.run, seen, probe, is_steady=case != "restless")


def check_records(run, mmel, probe, is_steady):
    """The records are what the model itself says about the probe."""
    stride = 2 if mmel.steps_per_execution == 2 else 1
    assert run.steps == ([2, 3, 5, 6] if stride == 2 else [1, 2, 3, 4, 5, 6])
    assert run.epochs == ([1, 1, 2, 2] if stride == 2 else [1] * 3 + [2] * 3)
    assert_array_equal(
        run.mask, probe[0].get("mask", np.ones((9, 4), dtype=bool))
    )
    assert run.original_counts is not mmel.objective.soft_targets
    if is_steady:
        found = mmel.view_weights(*probe)
        assert_allclose(run.weights[-1], found, rtol=1e-5)
    if mmel.objective == keras_mmel.objectives.Hard(1.0):
        for weights, losses in zip(run.weights, run.losses, strict=True):
            expected = oracle.view_weights(losses, 1.0, run.mask)
            assert_allclose(weights, expected, rtol=1e-5, atol=1e-7)
        assert run.lambda_p == [1.0] * 6
        assert run.objective == {"name": "Hard", "lambda_p": 1.0}


def test_losses_are_those_of_a_plain_loop():
    probe = probe_of("eager")
    callback = ViewWeights(probe, every_n_epochs=1)
    mmel, _ = fit("eager", callback)
    views, labels = probe[0]["views"], probe[1]
    for group in range(9):
        logits = mmel.predict(views[group], verbose=0).astype("float64")
        expected = np.log(np.exp(logits).sum(axis=1)) - logits[:, labels[group]]
        expected[~probe[0]["mask"][group]] = np.nan
        assert_allclose(callback.run.losses[-1][group], expected, rtol=1e-5)
    assert_array_equal(callback.run.classes, labels)


def test_logs_of_all_epochs_are_kept():
    callback = ViewWeights(probe_of("eager"), every_n_epochs=5)
    _, history = fit("eager", callback, epochs=3)
    assert [log["epoch"] for log in callback.run.logs] == [1, 2, 3]
    assert [log["step"] for log in callback.run.logs] == [3, 6, 9]
    for name in ("loss", "original_loss", "effective_views", "accuracy"):
        assert [log[name] for log in callback.run.logs] == history[name]
    # No fifth epoch came, and the end of training is always seen.
    assert callback.run.steps == [9]


@pytest.mark.parametrize(
    "settings, steps",
    [
        ({"every_n_epochs": 2}, [6, 9]),
        ({"every_n_steps": 4}, [4, 8, 9]),
    ],
)
def test_intervals(settings, steps):
    callback = ViewWeights(probe_of("eager"), **settings)
    fit("eager", callback, epochs=3)
    assert callback.run.steps == steps


def test_only_looks_after_steps_make_keras_wait_for_steps():
    on_epochs = ViewWeights(probe_of("eager"))
    on_steps = ViewWeights(probe_of("eager"), every_n_steps=1)
    default = keras.callbacks.Callback.on_train_batch_end
    assert type(on_epochs).on_train_batch_end is default
    assert "on_train_batch_end" not in vars(on_epochs)
    assert "on_train_batch_end" in vars(on_steps)


def test_lambda_is_recorded_as_it_changes():
    schedule = keras_mmel.callbacks.LambdaSchedule([np.inf, 2.0].__getitem__)
    mmel = watched.compiled(run_eagerly=True)
    x, y = watched.data()
    callback = ViewWeights((x, y), every_n_epochs=1)
    mmel.fit(x, y, epochs=2, verbose=0, callbacks=[schedule, callback])
    assert callback.run.lambda_p == [np.inf, 2.0]
    assert_allclose(callback.run.weights[0], 0.25, rtol=1e-6)
    assert callback.run.logs[1]["lambda_p"] == 2.0


def test_a_second_fit_goes_on():
    mmel = watched.compiled(run_eagerly=True)
    x, y = watched.data()
    callback = ViewWeights((x, y), every_n_epochs=1)
    for _ in range(2):
        mmel.fit(x, y, batch_size=6, verbose=0, callbacks=[callback])
    assert callback.run.steps == [2, 4]
    assert callback.run.epochs == [1, 1]


def test_the_file_is_written_at_each_look(tmp_path):
    path = tmp_path / "folder" / "run.npz"
    sizes = []

    class Reader(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            sizes.append(len(Run.load(path).weights))

    mmel = watched.compiled(run_eagerly=True)
    x, y = watched.data()
    callback = ViewWeights((x, y), every_n_epochs=1, save_to=path)
    mmel.fit(x, y, epochs=3, verbose=0, callbacks=[callback, Reader()])
    assert sizes == [1, 2, 3]
    assert len(Run.load(path).logs) == 3
    assert [file.name for file in path.parent.iterdir()] == ["run.npz"]


def test_a_loss_that_is_not_finite_is_recorded_and_training_goes_on():
    x, y = watched.data()
    probe = {"views": x["views"].copy()}, y
    probe[0]["views"][2, 1] = np.nan
    callback = ViewWeights(probe, every_n_epochs=1)
    mmel = watched.compiled(run_eagerly=True)
    mmel.fit(x, y, verbose=0, callbacks=[callback])
    assert callback.run.summaries[-1]["not_finite"] == 1
    assert np.isnan(callback.run.weights[-1][2]).all()
    assert np.isfinite(callback.run.summaries[-1]["effective_views"])


# --- what is refused ---------------------------------------------------------


def test_other_models_are_refused():
    model = watched.dense()
    model.compile("sgd", "mse")
    x, y = watched.data()
    with pytest.raises(TypeError, match="MMELModel.*Received: a Sequential"):
        model.fit(
            x["views"][:, 0],
            y,
            verbose=0,
            callbacks=[ViewWeights((x, y))],
        )


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"every_n_epochs": 0}, "`every_n_epochs` must be None or a positive"),
        ({"every_n_steps": 1.5}, "`every_n_steps` must be None or a positive"),
        ({"every_n_steps": True}, "`every_n_steps` must be None or"),
        ({"every_n_steps": 1, "every_n_epochs": 1}, "not both"),
        ({"num_groups": 0}, "`num_groups` must be a positive integer"),
        ({"batch_size": "2"}, "`batch_size` must be a positive integer"),
        ({"view_names": ["a", "b"]}, "one name for each of the 4 views"),
        ({"classes": [0, 1]}, "one for each of the 12 groups"),
        ({"classes": np.zeros(12)}, "whole numbers"),
        ({"images": "views"}, "`images` must be None, False or a function"),
        ({"texts": [["a"] * 4]}, "each of the 12 groups"),
        ({"texts": [["a"] * 3] * 12}, "3 texts for the 4 views of group 0"),
        ({"tokenizer": object()}, "must have a `vocabulary`"),
        ({"save_to": "run.json"}, r"must end in \.npz"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        ViewWeights(watched.data(), **settings)


# --- the share of time, with a clock that the test turns ----------------------


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.mark.parametrize("epoch, look", [(1.0, 0.25), (1.0, 0.001), (0.5, 3.0)])
def test_looks_stay_within_their_share(epoch, look):
    clock = Clock()
    budget = Budget(0.01, clock)
    budget.start()
    looks = []
    for number in range(2000):
        clock.now += epoch
        if budget.allows():
            looks.append(number)
            with budget.spend():
                # The first warms up.
                clock.now += look if number else 50.0
    assert looks[:2] == [0, 1]
    # As many as fit: one look per `look / 0.01` seconds, or every epoch.
    expected = min(2000, 1 + int(0.01 * 2000 * epoch / look))
    assert abs(len(looks) - expected) <= 2
    spent = (len(looks) - 1) * look
    assert budget.spent == pytest.approx(spent)
    assert spent <= max(0.01 * 2000 * epoch, look)


def test_a_look_that_fails_is_counted():
    clock = Clock()
    budget = Budget(0.5, clock)
    for _ in range(2):
        with pytest.raises(RuntimeError), budget.spend():
            clock.now += 2.0
            raise RuntimeError
    assert budget.spent == 2.0
    assert not budget.allows()
    clock.now += 8.0
    assert budget.allows()
    budget.start()
    assert budget.spent == 0.0
