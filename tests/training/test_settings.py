"""What `fit` says of weights that did nothing, or too much."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_mmel
from keras_mmel.objectives import Hard
from keras_mmel.objectives import KLBall
from keras_mmel.objectives import Soft
from keras_mmel.objectives import Uniform
from keras_mmel.training import settings

ALIKE, ONE, BETWEEN = [2.99, 3.0], [1.0, 1.1], [3.0, 2.5]


@pytest.mark.parametrize(
    ("objective", "effective", "words"),
    [
        (
            Hard(0.5),
            ALIKE,
            "nothing: 3.00 of 3 .* smaller `lambda_p` .*0.5",
        ),
        (KLBall(1e-3), ALIKE, "did nothing.*larger `radius` than 0.001"),
        (Soft(), [2.0], "2.00 of 2 views"),
        (
            Hard(0.5),
            ONE,
            "all the weight: 1.10 of 3 .* larger `lambda_p`",
        ),
        (KLBall(1.0), ONE, "nearly all the weight.*smaller `radius`"),
        (Hard(0.5), BETWEEN, "^$"),
        (Hard(0.5), [], "^$"),
        # As they were asked to be.
        (Hard(float("inf")), ALIKE, "^$"),
        (Hard(0.0), ONE, "^$"),
        (KLBall(0.0), ALIKE, "^$"),
        (Uniform(), ALIKE, "^$"),
    ],
)
def test_the_remark_names_the_way(objective, effective, words):
    assert re.search(words, settings.remark(objective, 3, effective))


VIEWS = np.random.default_rng(0).normal(size=(6, 3, 2)).astype("float32")


def said(capsys, x, **options):
    """What `fit` prints behind Keras's lines."""
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    mmel = keras_mmel.MMELModel(model)
    mmel.compile(keras.optimizers.SGD(1e-9), "mse")
    if isinstance(x, dict):
        options["y"] = np.zeros(6)
    mmel.fit(x, **{"verbose": 2, "epochs": 2, **options})
    lines = capsys.readouterr().out.splitlines()
    return [line for line in lines if "weight" in line]


def test_fit_says_it_once(capsys):
    large = {"views": 1e4 * VIEWS}
    dataset = tf.data.Dataset.from_tensors((large, np.zeros(6)))
    for x in (large, dataset):
        (line,) = said(capsys, x)
        assert "larger `lambda_p` than 1" in line
    (line,) = said(capsys, {"views": 1e-4 * VIEWS})
    assert "The weights did nothing: 3.00 of 3" in line
    for x, options in (
        (large, {"verbose": 0}),
        ({"views": VIEWS}, {}),
        (large | {"mask": np.ones((6, 3), bool)}, {}),
    ):
        assert not said(capsys, x, **options)
