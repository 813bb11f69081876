"""Schedules of `lambda_p`: seen at once, traced once, checked; view scores."""

import copy
import math

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose

import keras_mmel
from keras_mmel.callbacks import LambdaSchedule
from keras_mmel.objectives import Hard
from keras_mmel.objectives import KLBall
from keras_mmel.objectives import Soft
from tests import cases
from tests import oracle
from tests.cases import Case
from tests.mmel_model.reference import Reference

VIEWS = np.random.default_rng(0).normal(size=(6, 3, 2)).astype("float32")
LABEL = np.zeros((6, 1), "float32")
LOSSES = VIEWS.astype("float64").sum(-1) ** 2


def compiled(objective="hard", **settings):
    """A model that stays as it is: its weights are ones, its rate is 0."""
    model = keras.Sequential(
        [
            keras.Input((2,)),
            keras.layers.Dense(1, use_bias=False, kernel_initializer="ones"),
        ]
    )
    mmel = keras_mmel.MMELModel(model, objective)
    mmel.compile(keras.optimizers.SGD(0.0), "mse", **settings)
    return mmel


def fit(mmel, schedule=None, epochs=1, **others):
    callbacks = [] if schedule is None else [LambdaSchedule(schedule)]
    data = {"views": VIEWS}, LABEL
    options = {"epochs": epochs, "verbose": 0, "callbacks": callbacks}
    return mmel.fit(*data, **{**options, **others}).history


def expected_loss(lambda_p):
    return oracle.maximal_expected_loss(LOSSES, lambda_p).mean()


class CountsTraces(keras_mmel.MMELModel):
    traces = 0

    def train_step(self, *args, **kwargs):
        self.traces += 1
        return super().train_step(*args, **kwargs)


@pytest.mark.parametrize("objective", [Hard(0.7), Soft(0.7)], ids=str)
def test_lambda_p_takes_effect_at_the_next_batch(objective):
    # Metrics would make variables, and a second trace, at the first step.
    case = Case(objective, examples=20, optimizer=keras.optimizers.SGD)
    values = [0.7, 0.1, math.inf, 0, 30.0]
    mmel = CountsTraces(cases.build(case), objective)
    mmel.compile(case.optimizer(), cases.settings(case)["loss"])
    reference = Reference(cases.build(case), case.optimizer(), objective)
    means = []

    def assign(batch, logs):
        mmel.lambda_p = values[batch]
        assert_allclose(mmel.lambda_p, values[batch], 1e-6)
        assert mmel.objective == type(objective)(mmel.lambda_p)

    steering = keras.callbacks.LambdaCallback(
        on_train_batch_begin=assign,
        on_train_batch_end=lambda batch, logs: means.append(logs["loss"]),
    )
    cases.fit(mmel, case, callbacks=[steering])
    losses = []
    for value, batch in zip(values, cases.batches_of(case), strict=True):
        reference.lambda_p = value
        losses += reference.fit([batch])["loss"]
    assert_allclose(means, np.cumsum(losses) / np.arange(1, 6), 1e-5)
    for found, expected in zip(
        mmel.model.weights, reference.model.weights, strict=True
    ):
        assert_allclose(found.numpy(), expected.numpy(), 1e-5, 1e-6)
    assert mmel.traces == 1


def test_every_epoch_has_its_own_lambda():
    mmel = compiled(jit_compile=True)
    lambdas = [math.inf, np.int64(10), np.float32(0.5), 0.0, 1, math.inf]
    history = fit(mmel, lambdas.__getitem__, epochs=6)
    assert_allclose(history["loss"], [expected_loss(x) for x in lambdas], 1e-5)
    assert len(set(history["loss"])) == 5
    assert history["lambda_p"] == lambdas
    assert mmel.lambda_p == math.inf


def test_every_epoch_has_its_own_radius():
    mmel = compiled(KLBall(0.3), jit_compile=True)
    radii = [0.0, np.float32(0.25), 3, 0.0]
    history = fit(mmel, radii.__getitem__, epochs=4)
    mean, largest = LOSSES.mean(), LOSSES.max(axis=1).mean()
    # Which `test_kl_ball.py` compares with scipy.
    of_ball = np.mean(KLBall(0.25)(LOSSES.astype("float32")))
    assert_allclose(history["loss"], [mean, of_ball, largest, mean], 1e-5)
    assert len(set(history["loss"])) == 3
    assert history["radius"] == radii and "lambda_p" not in history
    mmel.radius = 0.125
    assert mmel.objective == KLBall(0.125)
    with pytest.raises(ValueError, match="`radius` must be a number.*Received"):
        mmel.radius = -1.0
    with pytest.raises(ValueError, match="has no `lambda_p`.*KLBall"):
        mmel.lambda_p = 1.0
    with pytest.raises(ValueError, match="has no `radius`.*Hard"):
        compiled().radius = 1.0
    assert mmel.radius == 0.125


def test_assigning_between_fits_takes_effect():
    mmel = compiled(run_eagerly=True)
    for value in (0.5, 20.0, math.inf, 0.0):
        mmel.lambda_p = value
        assert mmel.objective == Hard(value)
        assert_allclose(fit(mmel)["loss"], expected_loss(value), rtol=1e-5)
        powers = oracle.view_weights(LOSSES, value)
        found = mmel.view_weights({"views": VIEWS}, LABEL)
        assert_allclose(found, powers, rtol=1e-4)
        assert isinstance(found, np.ndarray) and found.dtype == "float32"


def test_epochs_count_from_the_initial_epoch():
    history = fit(compiled(), lambda epoch: 1.0 + epoch, 5, initial_epoch=3)
    assert history["lambda_p"] == [4.0, 5.0]


# What is refused


@pytest.mark.parametrize("schedule", [1.0, None, [1.0, 2.0], "warm"])
def test_a_schedule_is_a_function(schedule):
    with pytest.raises(
        TypeError, match="`schedule` must be a function.*Received: "
    ):
        LambdaSchedule(schedule)


@pytest.mark.parametrize("value", [-1.0, math.nan, "1", None, True, [1.0]])
def test_a_bad_value_stops_at_the_start_of_its_epoch(value):
    mmel = compiled()
    message = "`lambda_p` must be a number from 0.*Received: "
    with pytest.raises(ValueError, match=message):
        fit(mmel, [2.0, value].__getitem__, epochs=3)
    assert mmel.lambda_p == 2.0
    with pytest.raises(ValueError, match=message):
        mmel.lambda_p = value
    assert mmel.lambda_p == 2.0


def test_an_objective_without_lambda_is_refused():
    mmel = compiled("uniform")
    message = "has no `lambda_p`.*Received.*Uniform"
    with pytest.raises(ValueError, match=message):
        fit(mmel, lambda epoch: 1.0)
    with pytest.raises(ValueError, match=message):
        mmel.lambda_p = 1.0
    with pytest.raises(ValueError, match=message):
        print(mmel.lambda_p)


def test_a_model_that_has_no_objective_is_refused():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    schedule = LambdaSchedule(lambda epoch: 1.0)
    with pytest.raises(TypeError, match="MMELModel.*Received"):
        model.fit(VIEWS[:, 0], LABEL, verbose=0, callbacks=[schedule])


# Scores of views


def test_the_log_has_the_scores_of_views_and_others_watch_them(tmp_path):
    groups = [({"views": VIEWS}, LABEL), ({"views": VIEWS + 1}, LABEL)]
    mmel, path = compiled(metrics=["mae"]), tmp_path / "best.keras"
    callbacks = [
        keras_mmel.callbacks.ViewScores(groups),
        keras.callbacks.EarlyStopping("val_worst_mae", mode="max", patience=1),
        keras.callbacks.ModelCheckpoint(
            path, "val_worst_loss", save_best_only=True
        ),
    ]
    mmel.optimizer.learning_rate = 0.01
    log = fit(mmel, epochs=5, callbacks=callbacks)
    assert len(log["loss"]) == 2 and path.exists()
    assert log["val_mean_loss"][0] != log["val_mean_loss"][1]
    for name, value in mmel.evaluate_views(groups).items():
        assert_allclose(log[f"val_{name}"][-1], value, rtol=1e-6)
    with pytest.raises(TypeError, match="in every epoch"):
        keras_mmel.callbacks.ViewScores(iter(groups))
    steps = int(mmel.optimizer.iterations.value)
    for no_groups in ([(VIEWS[:, 0], LABEL)], []):
        with pytest.raises(ValueError, match="Received"):
            fit(mmel, callbacks=[keras_mmel.callbacks.ViewScores(no_groups)])
    assert int(mmel.optimizer.iterations.value) == steps


def test_the_direction_of_the_accuracy_of_views_is_known():
    mmel = compiled(metrics=["binary_accuracy"])
    watch = [
        keras_mmel.callbacks.ViewScores(({"views": VIEWS}, LABEL)),
        keras.callbacks.EarlyStopping("val_worst_binary_accuracy"),
    ]
    fit(mmel, callbacks=watch)
    assert watch[1].mode == "max"


def test_the_scores_are_of_the_weights_that_keras_evaluates():
    scores = keras_mmel.callbacks.ViewScores([({"views": VIEWS}, LABEL)])
    for swap_on_epoch, order in ((False, 1), (True, 1), (True, -1)):
        swap = keras.callbacks.SwapEMAWeights(swap_on_epoch)
        watch, mmel = [swap, scores][::order], compiled()
        mmel.compile(keras.optimizers.SGD(0.01, use_ema=True), "mse")
        log = fit(
            mmel,
            epochs=2,
            callbacks=watch,
            validation_data=(VIEWS[:, 0], LABEL),
        )
        assert_allclose(log["val_original_loss"], log["val_loss"], rtol=1e-5)
        assert log["val_loss"][1] != log["val_loss"][0]
    # Plain Keras does not say what else it was given.
    model = compiled().model
    model.compile(keras.optimizers.SGD(0.01, use_ema=True), "mse")
    with pytest.warns(UserWarning, match="swap_on_epoch=True"):
        model.fit(VIEWS[:, 0], LABEL, callbacks=[scores], verbose=0)


def test_a_copy_shares_the_groups():
    """KerasTuner copies every callback, and a dataset cannot be copied."""
    groups = tf.data.Dataset.from_tensors(({"views": VIEWS}, LABEL))
    scores = keras_mmel.callbacks.ViewScores(groups)
    first = fit(compiled(), callbacks=[scores])
    copied = copy.deepcopy(scores)
    assert copied is not scores and copied.groups is groups
    again = fit(compiled(), callbacks=[copied])
    assert again["val_worst_loss"] == first["val_worst_loss"]
