"""Compiled `MMELModel`s to save, and groups to train them on."""

import keras
import numpy as np

import keras_mmel
from tests.scripts import user_objects

FEATURES, CLASSES, VIEWS, EXAMPLES, BATCH = 5, 3, 3, 12, 4

layers = keras.layers


def groups(seed=0):
    """`({"views": x}, y)` in NumPy arrays."""
    rng = np.random.default_rng(seed)
    shape = (EXAMPLES, VIEWS, FEATURES)
    views = rng.normal(0, 1.5, shape).astype("float32")
    return {"views": views}, rng.integers(0, CLASSES, EXAMPLES)


def mlp(*between):
    return keras.Sequential(
        [
            keras.Input((FEATURES,)),
            layers.Dense(6, activation="tanh"),
            *between,
            layers.Dense(CLASSES),
        ]
    )


def functional():
    inputs = keras.Input((FEATURES,))
    hidden = layers.Dense(6, activation="tanh")(inputs)
    return keras.Model(inputs, layers.Dense(CLASSES)(hidden))


def crossentropy():
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def wrap(model, objective="hard", optimizer="adam", loss=None, **settings):
    mmel = keras_mmel.MMELModel(model, objective, **settings)
    metrics = ["accuracy"] if loss is None else None
    mmel.compile(optimizer, loss or crossentropy(), metrics=metrics)
    return mmel


def adam():
    return wrap(functional(), optimizer=keras.optimizers.Adam(0.01))


def sgd_batch_norm():
    return wrap(
        mlp(layers.BatchNormalization()),
        optimizer=keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    )


def adamw_ema_accumulation():
    # 3 steps an epoch: saved between two steps that belong together.
    return wrap(
        mlp(),
        optimizer=keras.optimizers.AdamW(
            0.01,
            weight_decay=0.1,
            use_ema=True,
            ema_momentum=0.8,
            gradient_accumulation_steps=2,
        ),
    )


def mixed_float16():
    keras.config.set_dtype_policy("mixed_float16")
    try:
        return wrap(mlp())
    finally:
        keras.config.set_dtype_policy("float32")


def learning_rate_schedule():
    rate = keras.optimizers.schedules.CosineDecay(0.1, 20)
    return wrap(mlp(), optimizer=keras.optimizers.SGD(rate, clipnorm=1.0))


def soft():
    objective = keras_mmel.objectives.Soft(0.3, 0.7, stop_gradient=False)
    return wrap(mlp(), objective)


def uniform():
    return wrap(mlp(), "uniform")


def lambda_p_changed():
    """`lambda_p` is 0.2 when it is saved, see `SCHEDULES`."""
    return wrap(mlp(), keras_mmel.objectives.Hard(lambda_p=3.0))


def dropout():
    return wrap(mlp(layers.Dropout(0.4), layers.GaussianNoise(0.3)))


def dropout_seeded():
    return wrap(mlp(layers.Dropout(0.4, seed=5)), "soft")


def inner_compiled():
    model = mlp(layers.Dropout(0.4))
    model.compile("rmsprop", crossentropy())
    x, y = groups(1)
    model.fit(x["views"][:, 0], y, verbose=0)
    return wrap(model)


def two_outputs():
    inputs = keras.Input((FEATURES,))
    hidden = layers.Dense(6, activation="tanh")(inputs)
    first = layers.Dense(CLASSES, name="first")(hidden)
    second = layers.Dense(CLASSES, name="second")(hidden)
    mmel = keras_mmel.MMELModel(keras.Model(inputs, [first, second]))
    mmel.compile(
        "adam",
        [crossentropy(), crossentropy()],
        loss_weights=[1.0, 0.3],
    )
    return mmel


def subclassed():
    return wrap(user_objects.TwoDense(6), "soft")


def custom_loss():
    return wrap(mlp(), loss=user_objects.PowerError(2.5))


def soft_loss():
    return wrap(
        mlp(),
        "soft",
        loss=user_objects.PowerError(),
        soft_loss=user_objects.squared_distance,
    )


def custom_objective():
    return wrap(mlp(), user_objects.Hardest(lambda_p=0.4, share=0.7))


KERAS_ONLY = {
    function.__name__: function
    for function in (
        adam,
        sgd_batch_norm,
        adamw_ema_accumulation,
        mixed_float16,
        learning_rate_schedule,
        soft,
        uniform,
        lambda_p_changed,
        dropout,
        dropout_seeded,
        inner_compiled,
        two_outputs,
    )
}
WITH_USER_OBJECTS = {
    function.__name__: function
    for function in (subclassed, custom_loss, soft_loss, custom_objective)
}
# Trained by the tests that are marked slow.
SLOW = {
    "custom_objective",
    "dropout_seeded",
    "learning_rate_schedule",
    "two_outputs",
    "uniform",
}
SCHEDULES = {"lambda_p_changed": lambda epoch: 0.2}


def labels(name, y):
    """What the case wants as `y`."""
    return [y, (y + 1) % CLASSES] if name == "two_outputs" else y
