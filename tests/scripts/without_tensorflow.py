"""What the package says and does where TensorFlow is not installed, as JSON."""

import json
import os

from tests.scripts.hide import hide

if os.environ.get("KERAS_BACKEND") == "jax":
    hide("tensorflow")

import keras
import numpy as np

import keras_mmel


def answer(name):
    """What importing a public name ends in."""
    module, _, attribute = name.rpartition(":")
    try:
        found = __import__(module, fromlist=[attribute])
        getattr(found, attribute)
    except ImportError as error:
        return str(error)
    return "there"


def make_model():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.1), loss, metrics=["accuracy"])
    return model


def data(examples=40, views=3):
    """Groups with a mask and weights, of which the first class is easy."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, examples)
    x = rng.normal(size=(examples, views, 4)).astype("float32")
    x[..., 0] += 3.0 * y[:, None]
    mask = np.arange(views) <= 1 + y[:, None] % 2
    return {"views": x, "mask": mask}, y, np.ones(examples, "float32")


def scores():
    x, y, _ = data()
    found = keras_mmel.compare(
        make_model,
        lambda seed: data(),
        {"plain": (x["views"][:, 0], y), "groups": (x, y)},
        {"uniform": "uniform", "again": "uniform", "hard": "hard"},
        seeds=1,
        epochs=2,
        verbose=False,
    )
    return {run["method"]: run["scores"] for run in found.runs}


if __name__ == "__main__":
    names = (
        "keras_mmel:data",
        "keras_mmel.data:group_views",
        "keras_mmel.text:read_augmented",
        "keras_mmel.text:files",
        "keras_mmel.text.files:from_csv",
        "keras_mmel.text:MaskedLMAugmenter",
        "keras_mmel.text:Tokenizer",
    )
    answers = {name: answer(name) for name in names}
    print(json.dumps({"answers": answers, "scores": scores()}))
