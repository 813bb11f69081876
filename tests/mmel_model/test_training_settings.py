"""What `compile` and the precision can change, against the reference."""

import keras
import numpy as np
import pytest
from numpy.testing import assert_allclose

import keras_mmel
from keras_mmel import objectives
from tests.mmel_model.compare import BATCH
from tests.mmel_model.compare import CLASSES
from tests.mmel_model.compare import FEATURES
from tests.mmel_model.compare import batches
from tests.mmel_model.compare import compare
from tests.mmel_model.compare import crossentropy
from tests.mmel_model.compare import mlp

HARD_AND_SOFT = pytest.mark.parametrize("objective", ["hard", "soft"])


@pytest.mark.parametrize(
    ("objective", "settings"),
    [
        ("hard", {"run_eagerly": True}),
        ("soft", {"run_eagerly": True}),
        ("hard", {"steps_per_execution": 3}),
        ("soft", {"steps_per_execution": 3}),
        ("hard", {"jit_compile": True}),
        ("soft", {"jit_compile": True, "steps_per_execution": 3}),
    ],
    ids=str,
)
def test_ways_to_run(objective, settings):
    # Four steps leave a remainder of one, on a smaller batch.
    groups = batches(4, last=3)
    compare(groups, objective, lambda_p=0.5, compile=settings)


def adamw():
    return keras.optimizers.AdamW(0.01, weight_decay=0.1)


OPTIMIZERS = {
    "accumulation": lambda: keras.optimizers.SGD(
        0.1, momentum=0.9, gradient_accumulation_steps=2
    ),
    "ema": lambda: keras.optimizers.Adam(0.01, use_ema=True, ema_momentum=0.7),
    "ema-every-2": lambda: keras.optimizers.SGD(
        0.1, use_ema=True, ema_momentum=0.7, ema_overwrite_frequency=2
    ),
    "clipnorm": lambda: keras.optimizers.SGD(1.0, clipnorm=0.05),
    "global-clipnorm": lambda: keras.optimizers.SGD(1.0, global_clipnorm=0.05),
    "clipvalue": lambda: keras.optimizers.SGD(1.0, clipvalue=0.01),
    "adamw": adamw,
    "schedule": lambda: keras.optimizers.SGD(
        keras.optimizers.schedules.CosineDecay(0.2, 4)
    ),
}


@pytest.mark.parametrize("name", list(OPTIMIZERS))
def test_optimizer(name):
    objective = ("hard", "soft")[len(name) % 2]
    compare(
        batches(4),
        objective,
        lambda_p=0.5,
        optimizer=OPTIMIZERS[name],
    )


@HARD_AND_SOFT
@pytest.mark.parametrize(
    ("policy", "accuracy"),
    [("mixed_float16", 1e-2), ("mixed_bfloat16", 3e-2)],
)
def test_mixed_precision_update(objective, policy, accuracy):
    """One update; a loss scaled twice would be off by the scale, 1024."""
    x, y = batches(1)[0]
    updates, logs = [], []
    for name in ("float32", policy):
        keras.config.set_dtype_policy(name)
        model = mlp()
        before = [weight.numpy() for weight in model.weights]
        optimizer = keras.optimizers.SGD(0.1)
        if name == "mixed_float16":
            optimizer = keras.optimizers.LossScaleOptimizer(
                optimizer, initial_scale=1024.0
            )
        mmel = keras_mmel.MMELModel(model, objective)
        mmel.compile(optimizer, crossentropy())
        logs.append(mmel.train_on_batch(x, y, return_dict=True))
        updates.append(
            np.concatenate(
                [
                    np.ravel(weight.numpy() - old)
                    for weight, old in zip(model.weights, before, strict=True)
                ]
            )
        )
    error = np.linalg.norm(updates[1] - updates[0])
    assert error < accuracy * np.linalg.norm(updates[0])
    for key in logs[0]:
        assert_allclose(logs[1][key], logs[0][key], accuracy, err_msg=key)


def test_loss_scaling_is_chosen_by_the_wrapped_model():
    keras.config.set_dtype_policy("mixed_float16")
    half = mlp()
    keras.config.set_dtype_policy("float32")
    for model, scaled in ((half, True), (mlp(), False)):
        mmel = keras_mmel.MMELModel(model)
        mmel.compile("sgd", crossentropy())
        found = isinstance(mmel.optimizer, keras.optimizers.LossScaleOptimizer)
        assert found == scaled


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
@pytest.mark.parametrize(
    "objective",
    [objectives.Hard(1e-4), objectives.Soft(1e-4), objectives.Hard(1e8)],
    ids=str,
)
def test_large_losses_and_extreme_lambda_in_half_precision(policy, objective):
    keras.config.set_dtype_policy(policy)
    model = keras.Sequential(
        [
            keras.Input((FEATURES,)),
            keras.layers.Dense(CLASSES, kernel_initializer="glorot_normal"),
        ]
    )
    model.layers[0].kernel.assign(20 * model.layers[0].kernel)
    optimizer = keras.optimizers.SGD(0.01)
    if policy == "mixed_float16":
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer, 256.0)
    mmel = keras_mmel.MMELModel(model, objective)
    mmel.compile(optimizer, crossentropy())
    before = model.layers[0].kernel.numpy()
    x, y = batches(1)[0]
    log = mmel.train_on_batch(x, y, return_dict=True)
    assert log["original_loss"] > 15 and log["loss"] > 15
    losses = [log] + [
        mmel.train_on_batch(x, y, return_dict=True) for _ in range(5)
    ]
    assert np.all(np.isfinite([list(log.values()) for log in losses]))
    kernel = model.layers[0].kernel.numpy()
    assert np.all(np.isfinite(kernel)) and np.any(kernel != before)
    weights = mmel.view_weights(x, y)
    assert weights.dtype == "float32"
    assert_allclose(weights.sum(axis=1), np.ones(BATCH), 1e-6)
