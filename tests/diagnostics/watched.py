"""Models and groups whose view weights are watched in these tests."""

import keras
import numpy as np
from keras import ops

import keras_mmel
from keras_mmel.diagnostics import Run

GROUPS, VIEWS, CLASSES = 12, 4, 3
layers = keras.layers


@keras.saving.register_keras_serializable(package="watched")
class Restless(keras.layers.Layer):
    """Draws noise and counts its calls, in training and in inference."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seeds = keras.random.SeedGenerator(5)
        self.calls = self.add_weight(
            shape=(), initializer="zeros", trainable=False
        )

    def call(self, x):
        self.calls.assign_add(1.0)
        noise = keras.random.normal(ops.shape(x), seed=self.seeds)
        return x + 0.01 * noise

    def compute_output_shape(self, input_shape):
        return input_shape


def dense():
    return keras.Sequential(
        [
            keras.Input((5,)),
            layers.Dense(8, activation="relu"),
            layers.Dropout(0.3),
            layers.Dense(CLASSES),
        ]
    )


def restless():
    return keras.Sequential(
        [
            keras.Input((5,)),
            layers.BatchNormalization(),
            Restless(),
            layers.Dropout(0.3),
            layers.Dense(CLASSES),
        ]
    )


def images():
    return keras.Sequential(
        [
            keras.Input((6, 6, 1)),
            layers.Flatten(),
            layers.Dense(CLASSES),
        ]
    )


def text():
    inputs = {
        "token_ids": keras.Input((None,), dtype="int32", name="token_ids"),
        "padding_mask": keras.Input((None,), dtype="bool", name="padding_mask"),
    }
    x = layers.Embedding(9, 4)(inputs["token_ids"])
    keep = ops.cast(inputs["padding_mask"], "float32")[..., None]
    x = ops.sum(x * keep, axis=1) / ops.maximum(ops.sum(keep, axis=1), 1)
    return keras.Model(inputs, layers.Dense(CLASSES)(layers.Dropout(0.2)(x)))


def compiled(build=dense, objective="hard", **settings):
    """The same model every time."""
    keras.utils.set_random_seed(3)
    mmel = keras_mmel.MMELModel(build(), objective)
    mmel.compile(
        keras.optimizers.SGD(0.3, momentum=0.9),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        **settings,
    )
    return mmel


def data(build=dense, mask=False, teacher=False, groups=GROUPS):
    """Groups for a model: `(x, y)`."""
    random = np.random.default_rng(1)
    shape = (groups, VIEWS)
    if build is text:
        ids = random.integers(3, 9, (*shape, 7)).astype("int32")
        keep = np.arange(7) < random.integers(2, 8, shape)[..., None]
        views = {"token_ids": np.where(keep, ids, 0), "padding_mask": keep}
    else:
        views = random.normal(
            size=(*shape, *((6, 6, 1) if build is images else (5,)))
        ).astype("float32")
    x = {"views": views}
    if mask:
        x["mask"] = np.arange(VIEWS) < random.integers(2, 5, (groups, 1))
    y = random.integers(0, CLASSES, groups)
    if teacher:
        predictions = random.dirichlet(np.ones(CLASSES), shape)
        y = {"label": y, "teacher": predictions.astype("float32")}
    return x, y


def run_of(losses, padding=None, records=1, **settings):
    """A run of the weights that the objective gives these losses."""
    losses = np.asarray(losses, "float32")
    mask = np.ones(losses.shape, bool)
    if padding:
        mask[padding] = False
    run = Run(
        mask=mask, objective={"name": "Hard", "lambda_p": 1.0}, **settings
    )
    for number in range(1, records + 1):
        with np.errstate(invalid="ignore"):
            weights = np.exp(losses / number) * run.counted
            weights /= weights.sum(axis=1, keepdims=True)
        times = {"epoch": number, "step": 10 * number}
        run.add(weights, losses, lambda_p=float(number), **times)
        logs = {"loss": 2.0 - number, "val_loss": 0.75, "effective_views": 3.0}
        run.logs.append(times | logs)
    return run
