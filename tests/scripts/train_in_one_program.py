"""Trains the same small model in one JAX program and step by step.

    python -m scripts.train_in_one_program FILE     with KERAS_BACKEND=jax

Writes the weights after both.
"""

import sys

import jax
import keras
import numpy as np

import keras_mmel
from experiments.gpu import views as views_lib
from experiments.gpu.one_program import OneProgram

STEPS, BATCH = 6, 4
RATES = np.array([0.1, 0.1, 0.05, 0.05, 0.01, 0.01], "float32")


def build(views):
    keras.utils.set_random_seed(3)
    model = keras.Sequential(
        [
            keras.Input((6, 6, 3), dtype="uint8"),
            keras.layers.Rescaling(1 / 255, dtype="float32"),
            keras.layers.Flatten(),
            keras.layers.Dense(8),
            keras.layers.BatchNormalization(momentum=0.9),
            keras.layers.Dense(4, kernel_regularizer="l2"),
        ]
    )
    if views > 1:
        model = keras_mmel.MMELModel(model, "hard")
    model.compile(
        keras.optimizers.SGD(0.1, momentum=0.9),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    model.optimizer.build(model.trainable_variables)
    return model


def train(views):
    """Weights after both ways, and the logs of the one program."""
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (STEPS, BATCH, 6, 6, 3), "uint8")
    labels = random.integers(0, 4, (STEPS, BATCH))
    keys = jax.random.split(jax.random.key(1), STEPS)

    def make_batch(images, labels, key):
        return views_lib.groups(images, key, views, views_lib.cropped), labels

    flat = images.reshape(-1, 6, 6, 3), labels.ravel()
    scanned = OneProgram(build(views), make_batch, flat)
    # The weights of another model of the kind, as for another seed.
    state = scanned.state(build(views))
    order = np.arange(STEPS * BATCH).reshape(STEPS, BATCH)
    for part in (slice(0, 4), slice(4, 6)):
        state, logs = scanned.steps(state, order[part], keys[part], RATES[part])
    scanned.write_back(state)

    stepwise = build(views)
    for step in range(STEPS):
        stepwise.optimizer.learning_rate = RATES[step]
        batch = make_batch(images[step], labels[step], keys[step])
        expected = stepwise.train_on_batch(*batch, return_dict=True)
    # `train_on_batch` starts its metrics anew, the program goes on.
    del expected["accuracy"]
    return {
        **{f"one:{i}": w for i, w in enumerate(scanned.model.get_weights())},
        **{f"steps:{i}": w for i, w in enumerate(stepwise.get_weights())},
        "logs": sorted(logs),
    }


def main(path):
    found = {}
    for views in (1, 3):
        found |= {f"{views}:{k}": v for k, v in train(views).items()}
    np.savez(path, backend=keras.backend.backend(), **found)


if __name__ == "__main__":
    main(sys.argv[1])
