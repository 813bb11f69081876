"""The log of training and of validation."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose

from tests import cases
from tests.cases import Case

STATISTICS = {"loss", "original_loss", "effective_views"}
NAMES = {"loss", "accuracy", "weighted"}
STILL = {
    "model": "l2",
    "optimizer": lambda: keras.optimizers.SGD(0.0),
    "epochs": 2,
}


def assert_logs(found, expected):
    assert set(found) == set(expected)
    for key, value in expected.items():
        assert_allclose(found[key], value, 1e-5, err_msg=key)


@pytest.mark.parametrize(
    "case",
    [
        Case("hard", sample_weight=True, **STILL),
        Case("soft", **STILL),
        Case("uniform", dataset=True, **STILL),
    ],
    ids=["hard_weighted", "soft", "uniform"],
)
def test_metrics_see_the_originals(case):
    x, y, weight = cases.data_for(case)
    mmel = cases.compiled(case)
    log = cases.fit(mmel, case)
    plain = mmel.model
    plain.compile(**cases.settings(case))
    expected = plain.evaluate(
        x["views"][:, 0],
        y,
        case.batch_size,
        0,
        sample_weight=weight,
        return_dict=True,
    )
    expected["original_loss"] = expected.pop("loss")
    for name in ("loss", "effective_views"):
        expected[name] = log[name][0]
    # In both epochs: nothing is carried over.
    assert_logs(log, {key: [v, v] for key, v in expected.items()})
    assert np.all(np.array(log["loss"]) != log["original_loss"])


def test_metrics_see_the_predictions_before_the_update():
    logs = []
    for case in (Case(), Case(optimizer=STILL["optimizer"])):
        x, y = cases.batches_of(case)[0]
        mmel = cases.compiled(case)
        logs.append(mmel.train_on_batch(x, y, return_dict=True))
    assert logs[0] == logs[1]


@pytest.mark.parametrize("form", ["weighted", "dataset"])
def test_plain_examples_are_scored_as_by_the_wrapped_model(form):
    case = Case("soft", model="l2", epochs=2)
    x, y = cases.plain_examples(case)
    weight = np.linspace(0.1, 3, len(y)) if form == "weighted" else None
    given = (x, y) if weight is None else (x, y, weight)
    if form == "dataset":
        given = tf.data.Dataset.from_tensor_slices(given).batch(4)
    mmel = cases.compiled(case)
    options = {"validation_data": given, "validation_batch_size": 4}
    log = cases.fit(mmel, case, **options)
    assert log["val_loss"][0] != log["val_loss"][1]
    mmel.model.compile(**cases.settings(case))
    expected = mmel.model.evaluate(
        x, y, 4, 0, sample_weight=weight, return_dict=True
    )
    assert set(expected) == NAMES
    found = {k[4:]: v[-1] for k, v in log.items() if k.startswith("val_")}
    assert_logs(found, expected)
    if form == "dataset":
        found = mmel.evaluate(given, verbose=0, return_dict=True)
        assert_logs(found, expected)
        predicted = mmel.predict(given, verbose=0)
        assert_allclose(predicted, mmel.model(x).numpy(), 1e-5, 1e-6)
    predicted = mmel.predict_on_batch(x[:4])
    assert np.array_equal(predicted, mmel.model.predict_on_batch(x[:4]))


def test_evaluation_logs_no_statistics_of_views(capsys):
    case = Case(epochs=5)
    x, y = cases.plain_examples(case)
    mmel = cases.compiled(case)
    assert set(mmel.evaluate(x, y, verbose=0, return_dict=True)) == NAMES
    # Callbacks and the terminal see the statistics of training.
    monitor = keras.callbacks.EarlyStopping(
        "original_loss", patience=0, mode="max"
    )
    log = cases.fit(mmel, case, callbacks=[monitor], verbose=2)
    assert set(log) == NAMES | STATISTICS and len(log["loss"]) == 2
    printed = capsys.readouterr().out
    assert all(f"{name}: " in printed for name in STATISTICS)
    assert set(mmel.evaluate(x, y, verbose=0, return_dict=True)) == NAMES
    assert set(mmel.test_on_batch(x, y, return_dict=True)) == NAMES
    assert len(mmel.evaluate(x, y, verbose=0)) == len(NAMES)
    # They are back for training.
    found = mmel.train_on_batch(*cases.batches_of(case)[0], return_dict=True)
    assert set(found) == NAMES | STATISTICS


def test_a_prediction_amid_an_evaluation_leaves_its_log_alone():
    case = Case(compile={"run_eagerly": True})
    x, y = cases.plain_examples(case)
    mmel = cases.compiled(case)
    predicts = keras.callbacks.LambdaCallback(
        on_test_batch_end=lambda batch, logs: mmel.predict(x, verbose=0)
    )
    given = {"batch_size": 4, "verbose": 0, "return_dict": True}
    expected = mmel.evaluate(x, y, **given)
    assert mmel.evaluate(x, y, callbacks=[predicts], **given) == expected


def test_the_metrics_keep_what_an_evaluation_after_fit_has_found():
    case = Case()
    mmel = cases.compiled(case)
    cases.fit(mmel, case)
    found = mmel.evaluate(
        *cases.plain_examples(case), verbose=0, return_dict=True
    )
    kept = mmel.get_metrics_result()
    assert_logs({name: kept[name] for name in NAMES}, found)
