"""`lambda_p` during training, view weights, and views that are not finite."""

import math

import keras
import numpy as np
import pytest
from numpy.testing import assert_allclose

import keras_mmel
from keras_mmel import objectives
from tests.mmel_model.compare import BATCH
from tests.mmel_model.compare import CLASSES
from tests.mmel_model.compare import FEATURES
from tests.mmel_model.compare import VIEWS
from tests.mmel_model.compare import as_dataset
from tests.mmel_model.compare import assert_same_weights
from tests.mmel_model.compare import batches
from tests.mmel_model.compare import crossentropy
from tests.mmel_model.compare import mlp
from tests.mmel_model.compare import sgd
from tests.mmel_model.reference import Reference


class CountsTraces(keras_mmel.MMELModel):
    traces = 0

    def train_step(self, *args, **kwargs):
        self.traces += 1
        return super().train_step(*args, **kwargs)


def compiled(objective, model=None, cls=keras_mmel.MMELModel, **options):
    mmel = cls(model or mlp(), objective)
    mmel.compile(sgd(), crossentropy(), **options)
    return mmel


@pytest.mark.parametrize(
    "objective", [objectives.Hard(0.7), objectives.Soft(0.7)], ids=str
)
def test_lambda_p_takes_effect_at_the_next_batch(objective):
    values = [0.7, 0.1, math.inf, 0, 30.0]
    groups = batches(len(values))
    mmel = compiled(objective, cls=CountsTraces)
    expected = mlp()
    kind = "soft" if isinstance(objective, objectives.Soft) else "hard"
    reference = Reference(expected, sgd(), kind)
    means = []

    def assign(batch, logs):
        mmel.lambda_p = values[batch]
        assert_allclose(mmel.lambda_p, values[batch], 1e-6)
        assert mmel.objective == type(objective)(mmel.lambda_p)

    mmel.fit(
        as_dataset(groups),
        verbose=0,
        shuffle=False,
        callbacks=[
            keras.callbacks.LambdaCallback(
                on_train_batch_begin=assign,
                on_train_batch_end=lambda batch, logs: means.append(
                    logs["loss"]
                ),
            )
        ],
    )
    losses = []
    for value, group in zip(values, groups, strict=True):
        reference.lambda_p = value
        reference.step(*group)
        losses.append(reference.steps[-1][1])
    assert_same_weights(mmel.model, expected)
    assert_allclose(means, np.cumsum(losses) / np.arange(1, 6), 1e-5)
    assert mmel.traces == 1


def test_schedule():
    values = [math.inf, 0.5, 0.0]
    groups = batches(2)
    mmel = compiled("hard", cls=CountsTraces)
    log = mmel.fit(
        as_dataset(groups),
        epochs=3,
        verbose=0,
        shuffle=False,
        callbacks=[keras_mmel.callbacks.LambdaSchedule(values.__getitem__)],
    ).history
    expected = mlp()
    reference = Reference(expected, sgd())
    losses = []
    for value in values:
        reference.lambda_p = value
        losses += reference.fit(groups)["loss"]
    assert_same_weights(mmel.model, expected)
    assert_allclose(log["loss"], losses, 1e-5)
    assert log["lambda_p"] == values
    assert mmel.traces == 1


@pytest.mark.parametrize("value", [-1, math.nan, "1", None, True])
def test_lambda_p_is_checked(value):
    mmel = compiled("hard")
    with pytest.raises(ValueError, match="`lambda_p` must be .*Received"):
        mmel.lambda_p = value
    assert mmel.lambda_p == 1.0


def test_uniform_has_no_lambda_p():
    mmel = compiled("uniform")
    with pytest.raises(ValueError, match="has no `lambda_p`"):
        mmel.lambda_p = 1.0
    with pytest.raises(ValueError, match="has no `lambda_p`"):
        print(mmel.lambda_p)


def numpy_weights(losses, lambda_p):
    """Equation 6 in float64."""
    powers = np.exp((losses - losses.max(1, keepdims=True)) / lambda_p)
    return powers / powers.sum(1, keepdims=True)


def numpy_log_softmax(logits):
    logits = logits.astype("float64")
    return logits - np.log(np.sum(np.exp(logits), axis=-1, keepdims=True))


def forward(model, views):
    """The `mlp` in NumPy."""
    kernel, bias, head, head_bias = (w.numpy() for w in model.weights)
    return np.tanh(views @ kernel + bias) @ head + head_bias


def label_losses(log_p, y):
    return -np.take_along_axis(log_p, y[:, None, None], -1)[..., 0]


@pytest.mark.parametrize("lambda_p", [0.05, 0.5, 5.0])
def test_view_weights_of_hard(lambda_p):
    x, y = batches(1)[0]
    mmel = compiled(objectives.Hard(lambda_p))
    log_p = numpy_log_softmax(forward(mmel.model, x["views"]))
    weights = mmel.view_weights(x, y)
    assert isinstance(weights, np.ndarray) and weights.dtype == "float32"
    wanted = numpy_weights(label_losses(log_p, y), lambda_p)
    assert_allclose(weights, wanted, 1e-4, 1e-6)


def test_view_weights_of_soft_with_teacher_and_mask():
    x, y = batches(1)[0]
    rng = np.random.default_rng(2)
    teacher = rng.dirichlet([0.4] * CLASSES, (BATCH, VIEWS))
    mask = np.ones((BATCH, VIEWS), bool)
    mask[1, 2] = mask[3, 1:] = False
    mmel = compiled(objectives.Soft(0.3))
    log_p = numpy_log_softmax(forward(mmel.model, x["views"]))
    classes = teacher.argmax(-1)
    differs = classes != classes[:, :1]
    target = np.where(differs[..., None], teacher, np.exp(log_p[:, :1]))
    losses = -np.sum(target * log_p, axis=-1)
    wanted = np.zeros((BATCH, VIEWS))
    for i in range(BATCH):
        real = np.flatnonzero(mask[i, 1:]) + 1
        if len(real):
            wanted[i, real] = numpy_weights(losses[i : i + 1, real], 0.3)[0]
    weights = mmel.view_weights(
        {"views": x["views"], "mask": mask}, {"label": y, "teacher": teacher}
    )
    assert_allclose(weights, wanted, 1e-4, 1e-6)
    assert differs.any() and not differs[:, 1:].all()


def test_view_weights_at_the_limits_follow_lambda_p():
    x, y = batches(1)[0]
    mmel = compiled("hard")
    losses = label_losses(numpy_log_softmax(forward(mmel.model, x["views"])), y)
    mmel.lambda_p = math.inf
    assert_allclose(mmel.view_weights(x, y), 1 / VIEWS, 1e-6)
    mmel.lambda_p = 0
    hardest = np.eye(VIEWS)[losses.argmax(axis=1)]
    assert_allclose(mmel.view_weights(x, y), hardest)


def test_view_weights_run_in_inference_mode_and_change_nothing():
    model = keras.Sequential(
        [
            keras.Input((FEATURES,)),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.5),
            keras.layers.Dense(CLASSES),
        ]
    )
    mmel = compiled("hard", model)
    x, y = batches(1)[0]
    before = [weight.numpy() for weight in mmel.weights]
    first, second = mmel.view_weights(x, y), mmel.view_weights(x, y)
    assert np.array_equal(first, second)
    for weight, old in zip(mmel.weights, before, strict=True):
        assert np.array_equal(weight.numpy(), old)


def spoiled(value):
    groups = batches(3)
    groups[1][0]["views"][2, 3] = value
    return groups


@pytest.mark.parametrize("objective", ["hard", "soft", "uniform"])
def test_a_view_that_is_not_finite_shows_in_the_log(objective):
    mmel = compiled(objective)
    log = mmel.fit(
        as_dataset(spoiled(np.nan)), verbose=0, shuffle=False
    ).history
    assert np.isnan(log["loss"][0])


@pytest.mark.parametrize("objective", ["hard", "soft", "uniform"])
def test_terminate_on_nan_stops(objective, capsys):
    mmel = compiled(objective)
    done = []
    mmel.fit(
        as_dataset(spoiled(np.nan)),
        epochs=3,
        verbose=0,
        shuffle=False,
        callbacks=[
            keras.callbacks.TerminateOnNaN(),
            keras.callbacks.LambdaCallback(
                on_train_batch_end=lambda batch, logs: done.append(batch)
            ),
        ],
    )
    assert done == [0, 1]
    assert "Batch 1: Invalid loss" in capsys.readouterr().out


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("objective", ["hard", "soft", "uniform"])
def test_running_eagerly_names_the_view(objective, value):
    mmel = compiled(objective, run_eagerly=True)
    before = [weight.numpy() for weight in mmel.model.weights]
    x, y = spoiled(value)[1]
    # tanh saturates at inf; a product of inf and 0 does not.
    x["views"][2, 3, 0] = np.nan
    with pytest.raises(ValueError, match="view 3 of example 2 .*Received"):
        mmel.train_on_batch(x, y)
    for weight, old in zip(mmel.model.weights, before, strict=True):
        assert np.array_equal(weight.numpy(), old)


def test_running_eagerly_ignores_padding():
    x, y = spoiled(np.nan)[1]
    mask = np.ones((BATCH, VIEWS), bool)
    mask[2, 3] = False
    mmel = compiled("hard", run_eagerly=True)
    log = mmel.train_on_batch({**x, "mask": mask}, y, return_dict=True)
    assert np.all(np.isfinite(list(log.values())))


def test_an_infinite_loss_is_not_weighted_away():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    for objective in ("hard", "soft", "uniform"):
        mmel = keras_mmel.MMELModel(model, objective)
        mmel.compile(sgd(), "mse")
        views = np.array([[[0.0], [1e30], [1.0]]], "float32")
        log = mmel.train_on_batch(
            {"views": views}, np.zeros((1, 1)), return_dict=True
        )
        assert np.isnan(log["loss"])
        model.set_weights([np.ones((1, 1)), np.zeros(1)])
