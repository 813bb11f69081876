"""Scores and a comparison on the backend of KERAS_BACKEND, printed as JSON."""

import json

import keras
import numpy as np
import tensorflow as tf

import keras_mmel

EXAMPLES, FEATURES, CLASSES = 12, 4, 3


def arrays():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(EXAMPLES, 3, FEATURES)).astype("float32")
    mask = rng.random((EXAMPLES, 3)) < 0.7
    mask[:, 0] = True
    return {"views": x, "mask": mask}, rng.integers(0, CLASSES, EXAMPLES)


def make_model():
    model = keras.Sequential(
        [
            keras.Input((FEATURES,)),
            keras.layers.Dense(5, activation="tanh"),
            keras.layers.Dense(CLASSES, activation="softmax"),
        ]
    )
    rng = np.random.default_rng(1)
    model.set_weights(
        [rng.normal(size=w.shape).astype("float32") for w in model.weights]
    )
    model.compile(
        keras.optimizers.SGD(0.1),
        "sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    return model


def groups(seed):
    data = tf.data.Dataset.from_tensor_slices(arrays())
    return data.batch(4, drop_remainder=True)


def scores():
    """Scores of a model, and those that a comparison finds."""
    found = keras_mmel.compare(
        make_model, groups, groups(0), seeds=1, epochs=2, verbose=False
    )
    return {
        "evaluated": keras_mmel.evaluate_views(make_model(), *arrays()),
        "compared": {run["method"]: run["scores"] for run in found.runs},
    }


if __name__ == "__main__":
    print(json.dumps({"backend": keras.config.backend(), **scores()}))
