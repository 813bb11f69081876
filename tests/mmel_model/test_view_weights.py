"""View weights beside NumPy, and views that are not finite."""

import keras
import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.testing import assert_equal

import keras_mmel
from keras_mmel.objectives import Soft
from tests import cases
from tests import oracle
from tests.cases import Case

OBJECTIVES = ["hard", "soft", "uniform"]


def log_probabilities(mmel, case):
    """Of every view, in NumPy float64, `(batch, num_views, classes)`."""
    x, _, _ = cases.data_for(case)
    kernel, bias, head, head_bias = mmel.model.get_weights()
    logits = np.tanh(x["views"].astype("float64") @ kernel + bias) @ head
    logits += head_bias
    return logits - np.log(np.sum(np.exp(logits), axis=-1, keepdims=True))


def test_view_weights_of_soft_with_teacher_and_mask():
    case = Case(Soft(0.3), teacher=True, mask=True)
    mmel = cases.compiled(case)
    x, y, _ = cases.data_for(case)
    logs = log_probabilities(mmel, case)
    classes = y["teacher"].argmax(-1)
    differs = classes != classes[:, :1]
    target = np.where(differs[..., None], y["teacher"], np.exp(logs[:, :1]))
    losses, mask = -np.sum(target * logs, axis=-1), x["mask"].copy()
    mask[:, 0] = False
    expected = oracle.view_weights(losses, 0.3, mask)
    assert_allclose(mmel.view_weights(x, y), expected, 1e-4, 1e-6)
    assert differs.any() and not differs[:, 1:].all()


def test_view_weights_run_in_inference_mode_and_change_nothing():
    mmel = cases.compiled(Case(model="batch_norm"))
    x, y, _ = cases.data_for(Case())
    before = mmel.get_weights()
    first, second = mmel.view_weights(x, y), mmel.view_weights(x, y)
    assert np.array_equal(first, second)
    assert_equal(mmel.get_weights(), before)


def spoiled(case):
    """Data whose second batch has a view of NaN."""
    x, y, _ = cases.data_for(case)
    x["views"][case.batch_size + 2, 1] = np.nan
    return x, y


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_view_that_is_not_finite_shows_in_the_log(objective, capsys):
    case = Case(objective, examples=12)
    done = []
    callbacks = [
        keras.callbacks.TerminateOnNaN(),
        keras.callbacks.LambdaCallback(
            on_train_batch_end=lambda batch, logs: done.append(batch)
        ),
    ]
    x, y = spoiled(case)
    log = cases.fit(cases.compiled(case), case, x=x, y=y, callbacks=callbacks)
    assert np.isnan(log["loss"][0])
    assert done == [0, 1]
    assert "Batch 1: Invalid loss" in capsys.readouterr().out


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_running_eagerly_names_the_view(objective):
    case = Case(objective, compile={"run_eagerly": True})
    mmel = cases.compiled(case)
    before = mmel.get_weights()
    x, y = spoiled(case)
    x, y = {"views": x["views"][4:]}, y[4:]
    with pytest.raises(ValueError, match="view 1 of example 2 .*Received"):
        mmel.train_on_batch(x, y)
    assert_equal(mmel.get_weights(), before)
    # Padding may be anything.
    mask = np.isfinite(x["views"][..., 0])
    log = mmel.train_on_batch({**x, "mask": mask}, y, return_dict=True)
    assert np.all(np.isfinite(list(log.values())))


def test_an_infinite_loss_is_not_weighted_away():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    for objective in OBJECTIVES:
        mmel = keras_mmel.MMELModel(model, objective)
        mmel.compile("sgd", "mse")
        views = np.array([[[0.0], [1e30], [1.0]]], "float32")
        log = mmel.train_on_batch(
            {"views": views}, np.zeros((1, 1)), return_dict=True
        )
        assert np.isnan(log["loss"])
        model.set_weights([np.ones((1, 1)), np.zeros(1)])
