"""The callback under `MirroredStrategy`, in a process of its own."""

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose
from numpy.testing import assert_array_equal

from keras_mmel.diagnostics import ViewWeights
from tests.diagnostics import watched

# Keras's own way of reading a variable of TensorFlow, with NumPy 2.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation")


def fit(strategy, callbacks):
    with strategy.scope():
        mmel = watched.compiled(watched.restless, "soft")
    x, y = watched.data(mask=True, teacher=True)
    history = mmel.fit(
        x, y, batch_size=4, epochs=2, verbose=0, callbacks=callbacks
    )
    return mmel, history.history


def states(mmel):
    """Values of all variables on all replicas."""
    found = []
    for variable in [*mmel.variables, *mmel.optimizer.variables]:
        value = variable.value
        parts = getattr(value, "values", [value])
        found += [np.asarray(part) for part in parts]
    return found


@pytest.mark.own_process
def test_two_replicas_train_on_as_if_nobody_looked():
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    plain, expected = fit(strategy, [])
    probe = watched.data(mask=True, teacher=True, groups=9)
    callback = ViewWeights(probe, every_n_steps=2, batch_size=4)
    seen, found = fit(strategy, [callback])
    assert found == expected
    for ours, theirs in zip(states(seen), states(plain), strict=True):
        assert_array_equal(ours, theirs)
    assert callback.run.steps == [2, 4, 6]
    # One device with the same weights sees the same view weights.
    alone = watched.compiled(watched.restless, "soft")
    alone.model.set_weights([np.asarray(w) for w in seen.model.weights])
    for state, trained in zip(
        alone._random_states(), seen._random_states(), strict=True
    ):
        state.assign(np.asarray(trained))
    again = ViewWeights(probe, batch_size=4)
    again.set_model(alone)
    again.on_train_end()
    assert_allclose(again.run.weights[-1], callback.run.weights[-1], rtol=1e-5)
