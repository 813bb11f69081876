"""Schedules of `lambda_p`: seen at once, traced once, checked."""

import math

import keras
import numpy as np
import pytest
from keras import ops

import keras_mmel
from keras_mmel.callbacks import LambdaSchedule
from tests import oracle

VIEWS = np.random.default_rng(0).normal(size=(6, 3, 2)).astype("float32")
LABEL = np.zeros((6, 1), "float32")


def compiled(objective="hard", rate=0.0, loss="mse", **settings):
    """A model whose only weights are ones, so that losses are known."""
    model = keras.Sequential(
        [
            keras.Input((2,)),
            keras.layers.Dense(1, use_bias=False, kernel_initializer="ones"),
        ]
    )
    mmel = keras_mmel.MMELModel(model, objective)
    mmel.compile(keras.optimizers.SGD(rate), loss, **settings)
    return mmel


def fit(mmel, schedule, epochs, **others):
    if callable(schedule):
        schedule = LambdaSchedule(schedule)
    return mmel.fit(
        {"views": VIEWS},
        LABEL,
        epochs=epochs,
        verbose=0,
        callbacks=[schedule],
        **others,
    ).history


def expected_loss(lambda_p):
    found = VIEWS.astype("float64").sum(-1) ** 2
    return oracle.maximal_expected_loss(found, lambda_p).mean()


@pytest.mark.parametrize("jit", [False, True], ids=["graph", "xla"])
def test_every_epoch_has_its_own_lambda_without_retracing(jit):
    traces = []

    def loss(y_true, y_pred):
        traces.append(1)
        return ops.mean((y_true - y_pred) ** 2, axis=-1)

    mmel = compiled(loss=loss, jit_compile=jit)
    lambdas = [math.inf, 10.0, 0.5, 0.0, 1, math.inf]
    fit(mmel, lambda epoch: 3.0, epochs=1)
    before = len(traces)
    assert before
    history = fit(mmel, lambda epoch: lambdas[epoch], epochs=6)
    assert len(traces) == before
    np.testing.assert_allclose(
        history["loss"], [expected_loss(x) for x in lambdas], rtol=1e-5
    )
    assert len(set(history["loss"])) == 5
    assert history["lambda_p"] == lambdas
    assert mmel.lambda_p == math.inf


def test_a_warm_up_trains_as_uniform_weights_and_then_as_hard():
    """The gradient follows as well as the logged loss."""
    scheduled = compiled(rate=0.01)
    fit(scheduled, lambda epoch: math.inf if epoch < 2 else 0.3, epochs=4)
    uniform = compiled("uniform", rate=0.01)
    uniform.fit({"views": VIEWS}, LABEL, epochs=2, verbose=0)
    hard = compiled(keras_mmel.objectives.Hard(0.3), rate=0.01)
    hard.model.set_weights(uniform.model.get_weights())
    hard.fit({"views": VIEWS}, LABEL, epochs=2, verbose=0)
    np.testing.assert_allclose(
        scheduled.model.get_weights()[0],
        hard.model.get_weights()[0],
        rtol=1e-6,
    )


def test_assigning_between_fits_takes_effect_eagerly_and_in_a_graph():
    for run_eagerly in (False, True):
        mmel = compiled(run_eagerly=run_eagerly)
        for value in (0.5, 20.0, math.inf):
            mmel.lambda_p = value
            assert mmel.objective == keras_mmel.objectives.Hard(value)
            log = mmel.fit({"views": VIEWS}, LABEL, verbose=0).history
            np.testing.assert_allclose(
                log["loss"], expected_loss(value), rtol=1e-5
            )
            powers = oracle.view_weights(VIEWS.sum(-1) ** 2, value)
            np.testing.assert_allclose(
                mmel.view_weights({"views": VIEWS}, LABEL), powers, rtol=1e-4
            )


def test_the_soft_objective_is_scheduled_too():
    mmel = compiled("soft")
    history = fit(mmel, lambda epoch: [math.inf, 0.0][epoch], epochs=2)
    sums = VIEWS.astype("float64").sum(-1)
    soft = (sums[:, 1:] - sums[:, :1]) ** 2
    hard = sums[:, 0] ** 2
    expected = [np.mean(hard + soft.mean(1)), np.mean(hard + soft.max(1))]
    np.testing.assert_allclose(history["loss"], expected, rtol=1e-5)


def test_epochs_count_from_the_initial_epoch():
    seen = []

    def schedule(epoch):
        seen.append(epoch)
        return 1.0 + epoch

    history = fit(compiled(), schedule, epochs=5, initial_epoch=3)
    assert seen == [3, 4]
    assert history["lambda_p"] == [4.0, 5.0]


def test_other_callbacks_see_the_value_in_the_log():
    seen = []

    class Reader(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            seen.append(logs["lambda_p"])

    compiled().fit(
        {"views": VIEWS},
        LABEL,
        verbose=0,
        callbacks=[LambdaSchedule(lambda epoch: 0.25), Reader()],
    )
    assert seen == [0.25]


# --- what is refused ---------------------------------------------------------


@pytest.mark.parametrize("schedule", [1.0, None, [1.0, 2.0], "warm"])
def test_a_schedule_is_a_function(schedule):
    with pytest.raises(
        TypeError, match="`schedule` must be a function.*Received: "
    ):
        LambdaSchedule(schedule)


@pytest.mark.parametrize("value", [-1.0, math.nan, "1", None, True, [1.0]])
def test_a_bad_value_stops_at_the_start_of_its_epoch(value):
    mmel = compiled()
    epochs = []

    def schedule(epoch):
        epochs.append(epoch)
        return 2.0 if epoch == 0 else value

    with pytest.raises(
        ValueError, match="`lambda_p` must be a number from 0.*Received: "
    ):
        fit(mmel, schedule, epochs=3)
    assert epochs == [0, 1]
    assert mmel.lambda_p == 2.0
    with pytest.raises(ValueError, match="`lambda_p` must be a number"):
        mmel.lambda_p = value
    assert mmel.lambda_p == 2.0


@pytest.mark.parametrize("value", [np.float32(0.5), np.int64(2), 3])
def test_numbers_of_numpy_are_numbers(value):
    mmel = compiled()
    fit(mmel, lambda epoch: value, epochs=1)
    assert mmel.lambda_p == value


def test_an_objective_without_lambda_is_refused():
    with pytest.raises(
        ValueError, match="has no `lambda_p`.*Received.*Uniform"
    ):
        fit(compiled("uniform"), lambda epoch: 1.0, epochs=1)


def test_a_model_that_has_no_objective_is_refused():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises((TypeError, ValueError), match="MMELModel.*Received"):
        model.fit(
            VIEWS[:, 0],
            LABEL,
            verbose=0,
            callbacks=[LambdaSchedule(lambda epoch: 1.0)],
        )


class TestViewScores:
    def held_out(self):
        rng = np.random.default_rng(3)
        views = rng.normal(size=(6, 3, 4)).astype("float32")
        return [({"views": views}, rng.integers(0, 2, 6))]

    def fit(self, callbacks, epochs=3):
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
        mmel = keras_mmel.MMELModel(model)
        mmel.compile(
            "sgd",
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )
        history = mmel.fit(
            *self.held_out()[0], epochs=epochs, verbose=0, callbacks=callbacks
        )
        return mmel, history

    def test_the_log_has_the_scores_of_the_epoch(self):
        groups = self.held_out()
        callback = keras_mmel.callbacks.ViewScores(groups)
        mmel, history = self.fit([callback])
        for name, value in mmel.evaluate_views(groups).items():
            logged = history.history[f"val_{name}"]
            assert len(logged) == 3
            np.testing.assert_allclose(logged[-1], value, rtol=1e-6)

    # Keras's own way of saving a variable of TensorFlow, with NumPy 2.
    @pytest.mark.filterwarnings("ignore:__array__ implementation")
    def test_others_can_watch_them(self, tmp_path):
        path = tmp_path / "best.keras"
        callbacks = [
            keras_mmel.callbacks.ViewScores(self.held_out()),
            keras.callbacks.EarlyStopping(
                "val_worst_accuracy", mode="max", baseline=2.0, patience=1
            ),
            keras.callbacks.ModelCheckpoint(
                path, "val_worst_loss", mode="min", save_best_only=True
            ),
        ]
        _, history = self.fit(callbacks, epochs=5)
        assert len(history.epoch) == 1 and path.exists()

    def test_groups_that_end_after_one_pass_are_refused(self):
        with pytest.raises(TypeError, match="in every epoch"):
            keras_mmel.callbacks.ViewScores(iter(self.held_out()))
