"""Graphs of `fit` go with their model."""

import gc

import keras
import numpy as np
import pytest
from tensorflow.python.framework import ops as tf_ops

from keras_mmel.training.graphs import freed_with


def gradients():
    registry = tf_ops.gradient_registry._registry
    return {name for name in registry if name.startswith("CustomGradient-")}


@pytest.mark.parametrize("fails", [False, True])
def test_gradients_leave_the_registry_with_the_model(fails):
    before = gradients()
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    model.compile("adam", "mse")
    try:
        with freed_with(model):
            model.fit(np.ones((8, 4)), np.ones((8, 2)), verbose=0)
            if fails:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    # The model can still be trained: they go when it goes.
    assert gradients() > before
    model.fit(np.ones((8, 4)), np.ones((8, 2)), verbose=0)
    del model
    gc.collect()
    assert gradients() == before
