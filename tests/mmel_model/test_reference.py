"""`fit` on groups against a plain TensorFlow loop over groups."""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose

import keras_mmel
from keras_mmel.objectives import Hard
from keras_mmel.objectives import Soft
from keras_mmel.objectives import Uniform
from tests import cases
from tests import networks
from tests.cases import Case
from tests.cases import sgd
from tests.mmel_model.reference import Reference

HARD, SOFT, UNIFORM = Hard(0.5), Soft(0.3, 0.7), Uniform()
EVERYTHING = {**cases.EVERYTHING, "model": "mlp"}
THROUGH = Soft(0.3, lambda_t=2.0, stop_gradient=False)
PLAIN_SGD = keras.optimizers.SGD
CASES = {
    "hard": Case(HARD, epochs=2),
    "hardest": Case(Hard(0.0)),
    "mean": Case(Hard(math.inf)),
    "soft": Case(SOFT, epochs=2, dataset=True),
    "soft_through": Case(THROUGH),
    "uniform": Case(UNIFORM),
    # Data
    "soft_mask": Case(SOFT, mask=True),
    "hard_everything": Case(HARD, **EVERYTHING),
    "soft_everything": Case(SOFT, **EVERYTHING),
    "through_everything": Case(THROUGH, **EVERYTHING),
    "uniform_everything": Case(UNIFORM, **EVERYTHING),
    "moving": Case(HARD, mask=True, sample_weight=True, moving=True, epochs=2),
    "moving_values": Case(
        UNIFORM, moving=True, regression=True, mask=True, optimizer=sgd(0.02)
    ),
    "class_weight": Case(
        SOFT, fit={"class_weight": {0: 0.5, 1: 2.0, 2: 1.25, 3: 0.0}}
    ),
    "soft_values_teacher": Case(
        SOFT, teacher=True, regression=True, optimizer=sgd(0.02)
    ),
    # Reductions
    "sum": Case(HARD, reduction="sum", sample_weight=True, optimizer=sgd(0.03)),
    "mean_with_sample_weight": Case(
        SOFT, reduction="mean_with_sample_weight", sample_weight=True
    ),
    # Models
    "regularized": Case(SOFT, model="regularized"),
    "add_loss": Case(HARD, model="add_loss"),
    "batch_norm": Case(HARD, model="batch_norm"),
    "batch_norm_soft": Case(SOFT, model="batch_norm"),
    "functional": Case(SOFT, model="functional"),
    "without_training": Case(HARD, model="without_training"),
    "own_training": Case(HARD, model="own_training"),
    "convolutional": Case(SOFT, model="convolutional"),
    "bert": Case(SOFT, model="bert"),
    # Ways to run
    "run_eagerly": Case(SOFT, compile={"run_eagerly": True}),
    "steps_per_execution": Case(
        # Four steps leave a remainder of one, on a smaller batch.
        HARD,
        examples=15,
        compile={"steps_per_execution": 3},
    ),
    "jit_compile": Case(HARD, compile={"jit_compile": True}),
    "jit_steps": Case(
        SOFT,
        examples=15,
        compile={"jit_compile": True, "steps_per_execution": 3},
    ),
    # Optimizers
    "accumulation": Case(
        SOFT, optimizer=sgd(0.1, gradient_accumulation_steps=2)
    ),
    "ema": Case(HARD, optimizer=cases.adamw(use_ema=True, ema_momentum=0.7)),
    "clipnorm": Case(HARD, optimizer=sgd(1.0, clipnorm=0.05)),
}
SLOW = {"jit_steps", "mean", "through_everything", "batch_norm_soft"}
SLOW |= {"bert", "hardest", "soft_through", "soft_mask", "without_training"}
SLOW |= {"uniform_everything", "regularized", "functional", "own_training"}
SLOW |= {"uniform", "class_weight", "ema", "clipnorm", "accumulation"}


def reference_for(case):
    return Reference(
        cases.build(case),
        case.optimizer(),
        case.objective,
        regression=case.regression,
        reduction=case.reduction,
    )


def assert_same_weights(model, expected, rtol=1e-5, atol=1e-6):
    """Equal weights to float32 accuracy."""
    for got, wanted in zip(model.weights, expected.weights, strict=True):
        assert_allclose(
            got.numpy(), wanted.numpy(), rtol, atol, err_msg=wanted.path
        )


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name in CASES
    ],
)
def test_training_equals_the_loop(name):
    case = CASES[name]
    reference = reference_for(case)
    groups = cases.batches_of(case)
    for factors in case.fit.values():
        weights = np.array(list(factors.values()), "float32")
        groups = [(x, y, weights[y]) for x, y in groups]
    expected = reference.fit(groups, case.epochs)
    mmel = cases.compiled(case)
    before = [weight.numpy() for weight in mmel.trainable_weights]
    found = cases.fit(mmel, case)
    assert_same_weights(mmel.model, reference.model)
    for key in expected:
        assert_allclose(found[key], expected[key], 1e-5, 1e-6, err_msg=key)
    for weight, old in zip(mmel.trainable_weights, before, strict=True):
        # The same bias on all keys cancels in the softmax of an attention.
        if not weight.path.endswith("key/bias"):
            assert np.max(np.abs(weight.numpy() - old)) > 1e-5, weight.path


def test_fit_after_fit_and_train_on_batch_go_on():
    case = Case(HARD, sample_weight=True)
    reference, mmel = reference_for(case), cases.compiled(case)
    groups = cases.batches_of(case)
    for _ in range(2):
        expected, found = reference.fit(groups), cases.fit(mmel, case)
        for key in expected:
            assert_allclose(found[key], expected[key], 1e-5, err_msg=key)
    for batch in groups:
        expected = reference.fit([batch])
        mmel.reset_metrics()
        found = mmel.train_on_batch(*batch, return_dict=True)
        for key in expected:
            assert_allclose(found[key], expected[key][0], 1e-5, err_msg=key)
    assert_same_weights(mmel.model, reference.model)


# The forward pass


class Recorder(keras.layers.Layer):
    """Counts its calls in training mode."""

    def build(self, _):
        zeros = {"shape": (), "initializer": "zeros", "trainable": False}
        self.calls = self.add_weight(name="calls", **zeros)

    def call(self, inputs, training=False):
        if training:
            self.calls.assign_add(1.0)
            tf.debugging.assert_equal(tf.shape(inputs)[0], 4 * cases.VIEWS)
        return inputs


@pytest.mark.parametrize("eagerly", [False, True], ids=["graph", "eager"])
def test_one_training_call_a_step(eagerly):
    recorder = Recorder()
    model = networks.mlp(lambda: recorder)()
    mmel = keras_mmel.MMELModel(model, "soft")
    settings = cases.settings(Case())
    mmel.compile("sgd", **settings, run_eagerly=eagerly)
    cases.fit(mmel, Case(examples=12))
    assert float(recorder.calls) == 3


def test_dropout_differs_between_views():
    model = keras.Sequential([keras.Input((200,)), keras.layers.Dropout(0.5)])
    mmel = keras_mmel.MMELModel(model)
    rows = mmel({"views": np.ones((2, 3, 200))}, training=True).numpy()
    assert rows.shape == (6, 200)
    assert len({tuple(row) for row in rows}) == 6


# Precision


@pytest.mark.parametrize(
    ("objective", "policy", "accuracy"),
    [
        ("hard", "mixed_float16", 1e-2),
        ("soft", "mixed_float16", 1e-2),
        ("soft", "mixed_bfloat16", 3e-2),
    ],
)
def test_mixed_precision_update(objective, policy, accuracy):
    """One update; a loss scaled twice would be off by the scale, 1024."""
    updates, logs = [], []
    for precision in ("float32", policy):
        optimizer = PLAIN_SGD(0.1)
        if precision == "mixed_float16":
            optimizer = keras.optimizers.LossScaleOptimizer(
                optimizer, initial_scale=1024.0
            )
        case = Case(
            objective, precision=precision, optimizer=lambda o=optimizer: o
        )
        mmel = cases.compiled(case)
        before = mmel.model.get_weights()
        x, y = cases.batches_of(case)[0]
        logs.append(mmel.train_on_batch(x, y, return_dict=True))
        moved = zip(mmel.model.get_weights(), before, strict=True)
        updates.append(np.concatenate([np.ravel(n - o) for n, o in moved]))
    error = np.linalg.norm(updates[1] - updates[0])
    assert error < accuracy * np.linalg.norm(updates[0])
    for key in logs[0]:
        assert_allclose(logs[1][key], logs[0][key], accuracy, err_msg=key)


def test_loss_scaling_is_chosen_by_the_wrapped_model():
    for precision in ("mixed_float16", "float32"):
        mmel = cases.compiled(Case(precision=precision))
        scales = isinstance(mmel.optimizer, keras.optimizers.LossScaleOptimizer)
        assert scales == (precision == "mixed_float16")


@pytest.mark.parametrize(
    ("policy", "objective"),
    [
        ("mixed_float16", Hard(1e-4)),
        ("mixed_float16", Soft(1e-4)),
        ("mixed_bfloat16", Hard(1e8)),
    ],
    ids=str,
)
def test_large_losses_and_extreme_lambda_in_half_precision(policy, objective):
    optimizer = PLAIN_SGD(0.01)
    if policy == "mixed_float16":
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer, 256.0)
    case = Case(objective, precision=policy, optimizer=lambda: optimizer)
    mmel = cases.compiled(case)
    head = mmel.model.layers[-1].kernel
    head.assign(20 * head)
    before = head.numpy()
    x, y = cases.batches_of(case)[0]
    logs = [mmel.train_on_batch(x, y, return_dict=True) for _ in range(3)]
    assert logs[0]["original_loss"] > 15 and logs[0]["loss"] > 15
    assert np.all(np.isfinite([list(log.values()) for log in logs]))
    assert np.all(np.isfinite(head.numpy())) and np.any(head.numpy() != before)
    weights = mmel.view_weights(x, y)
    assert weights.dtype == "float32"
    assert_allclose(weights.sum(axis=1), np.ones(len(y)), 1e-6)
