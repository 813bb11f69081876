"""Scores and a comparison on the backend of KERAS_BACKEND, printed as JSON."""

import json

import keras
import tensorflow as tf

import keras_mmel
from tests import cases

CASE = cases.Case(mask=True, examples=12)


def make_model():
    model = cases.build(CASE)
    model.compile(CASE.optimizer(), **cases.settings(CASE))
    return model


def groups(seed):
    data = tf.data.Dataset.from_tensor_slices(cases.data_for(CASE)[:2])
    return data.batch(4, drop_remainder=True)


def scores():
    """Scores of a model, and those that a comparison finds."""
    found = keras_mmel.compare(
        make_model, groups, groups(0), "hard", seeds=1, epochs=2, verbose=False
    )
    scores = keras_mmel.evaluate_views(make_model(), groups(0), by_view=True)
    return {
        "evaluated": scores,
        "by_view": scores.by_view | {"mean": scores.mean_prediction},
        "compared": {run["method"]: run["scores"] for run in found.runs},
    }


if __name__ == "__main__":
    print(json.dumps({"backend": keras.config.backend(), **scores()}))
