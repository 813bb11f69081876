"""The log of training and of validation."""

import keras
import numpy as np
import pytest
from numpy.testing import assert_allclose

import keras_mmel
from tests.mmel_model.compare import BATCH
from tests.mmel_model.compare import CLASSES
from tests.mmel_model.compare import FEATURES
from tests.mmel_model.compare import as_dataset
from tests.mmel_model.compare import batches
from tests.mmel_model.compare import crossentropy
from tests.mmel_model.compare import mlp
from tests.mmel_model.compare import sgd

STATISTICS = {"loss", "original_loss", "effective_views"}


def regularized():
    return mlp(kernel_regularizer=keras.regularizers.L2(0.05))


def settings():
    """Metrics of both kinds, made anew for each model."""
    return {
        "loss": crossentropy(),
        "metrics": [
            "accuracy",
            keras.metrics.SparseCategoricalCrossentropy(
                from_logits=True, name="crossentropy"
            ),
        ],
        "weighted_metrics": [
            keras.metrics.SparseTopKCategoricalAccuracy(2, name="top2")
        ],
    }


def compiled(learning_rate=0.0, objective="hard"):
    mmel = keras_mmel.MMELModel(regularized(), objective)
    mmel.compile(keras.optimizers.SGD(learning_rate), **settings())
    return mmel


def originals(groups):
    x = np.concatenate([batch[0]["views"][:, 0] for batch in groups])
    return x, np.concatenate([batch[1] for batch in groups])


@pytest.mark.parametrize("objective", ["hard", "soft", "uniform"])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_metrics_see_the_originals(objective, weighted):
    groups = batches(3, last=2)
    x, y = originals(groups)
    weights = np.linspace(0.1, 3, len(y)) if weighted else None
    if weighted:
        parts = np.split(weights, [BATCH, 2 * BATCH])
        groups = [
            (*group, part) for group, part in zip(groups, parts, strict=True)
        ]
    mmel = compiled(0.0, objective)
    log = mmel.fit(
        as_dataset(groups), epochs=2, verbose=0, shuffle=False
    ).history
    plain = mmel.model
    plain.compile(**settings())
    wanted = plain.evaluate(
        x, y, BATCH, 0, sample_weight=weights, return_dict=True
    )
    wanted["original_loss"] = wanted.pop("loss")
    assert set(log) == STATISTICS | set(wanted)
    for key, value in wanted.items():
        # Both epochs: nothing is carried over.
        assert_allclose(log[key], [value, value], 1e-5, err_msg=key)
    assert np.all(np.array(log["loss"]) != log["original_loss"])


def test_metrics_see_the_predictions_before_the_update():
    x, y = batches(1)[0]
    first, second = (
        compiled(0.5).train_on_batch(x, y, return_dict=True),
        compiled(0.0).train_on_batch(x, y, return_dict=True),
    )
    assert first == second


@pytest.mark.parametrize("objective", ["hard", "soft"])
def test_validation_is_that_of_the_wrapped_model(objective):
    rng = np.random.default_rng(7)
    x = rng.normal(size=(7, FEATURES)).astype("float32")
    y = rng.integers(0, CLASSES, 7)
    mmel = compiled(0.1, objective)
    seen = []

    def evaluate(epoch, logs):
        plain = keras.models.clone_model(mmel.model)
        plain.set_weights(mmel.model.get_weights())
        plain.compile(**settings())
        seen.append(plain.evaluate(x, y, 3, 0, return_dict=True))

    log = mmel.fit(
        as_dataset(batches()),
        epochs=2,
        verbose=0,
        shuffle=False,
        validation_data=(x, y),
        validation_batch_size=3,
        callbacks=[keras.callbacks.LambdaCallback(on_epoch_end=evaluate)],
    ).history
    validation = {key for key in log if key.startswith("val_")}
    assert validation == {f"val_{key}" for key in seen[0]}
    for key in seen[0]:
        wanted = [logs[key] for logs in seen]
        assert_allclose(log[f"val_{key}"], wanted, 1e-6, err_msg=key)
    assert log["val_loss"][0] != log["val_loss"][1]


def test_evaluation_logs_no_statistics_of_views():
    groups = batches()
    x, y = originals(groups)
    mmel = compiled(0.1)
    names = {"loss", "accuracy", "crossentropy", "top2"}
    before = mmel.evaluate(x, y, verbose=0, return_dict=True)
    assert set(before) == names
    mmel.fit(as_dataset(groups), verbose=0, shuffle=False)
    after = mmel.evaluate(x, y, verbose=0, return_dict=True)
    assert set(after) == names
    assert set(mmel.test_on_batch(x, y, return_dict=True)) == names
    assert len(mmel.evaluate(x, y, verbose=0)) == len(names)
    # They are back for training.
    assert (
        set(mmel.train_on_batch(*groups[0], return_dict=True))
        == names | STATISTICS
    )


def test_callbacks_see_the_statistics():
    monitor = keras.callbacks.EarlyStopping(
        "original_loss", patience=0, mode="min"
    )
    mmel = compiled(0.0)
    log = mmel.fit(
        as_dataset(batches(2)),
        epochs=5,
        verbose=0,
        shuffle=False,
        callbacks=[monitor],
    ).history
    assert len(log["loss"]) == 2


def test_verbose_training_prints_the_statistics(capsys):
    mmel = keras_mmel.MMELModel(mlp())
    mmel.compile(sgd(), crossentropy())
    mmel.fit(as_dataset(batches(2)), verbose=2, shuffle=False)
    printed = capsys.readouterr().out
    for name in STATISTICS:
        assert f"{name}: " in printed
