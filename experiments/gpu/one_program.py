"""Many steps of a Keras model in one JAX program.

Keras's own `fit` starts every step from Python, which a small network on a fast
card waits for. Here `train_step` of the same model, `MMELModel` included, runs
inside `jax.lax.scan`, and so does the making of the views. The data set lies on
the card: what crosses to it is the order of the examples.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np

# Variables of a model, as `keras.Model.train_step` takes them on JAX.
State = tuple[list, list, list, list]


class OneProgram:
    """Trains one model; states of other models of its kind fit as well.

    Args:
        model: Compiled, with a constant learning rate.
        make_batch: From examples `(batch, ...)`, their labels and a key of
            `jax.random` to what `model.fit` takes.
        data: Examples and labels, the whole set.
    """

    def __init__(self, model: keras.Model, make_batch: Callable, data: tuple):
        self.model, self.make_batch = model, make_batch
        self.data = jax.tree.map(jnp.asarray, data)
        # As `fit` does before its first step: it makes the metrics.
        few = [
            jnp.zeros((2, *part.shape[1:]), part.dtype) for part in self.data
        ]
        model._symbolic_build(data_batch=make_batch(*few, jax.random.key(0)))
        (self._rate,) = (
            i
            for i, variable in enumerate(model.optimizer.variables)
            if variable.path.endswith("learning_rate")
        )
        self._steps = jax.jit(self._scan, donate_argnums=0)

    def state(self, model: keras.Model | None = None) -> State:
        """The values of `model`, which is of the same kind, and new metrics."""
        model = model or self.model
        self.model.reset_metrics()
        return jax.tree.map(
            jnp.array,
            (
                [v.value for v in model.trainable_variables],
                [v.value for v in model.non_trainable_variables],
                [v.value for v in model.optimizer.variables],
                [v.value for v in self.model.metrics_variables],
            ),
        )

    def steps(
        self, state: State, order: Any, keys: Any, rates: Any
    ) -> tuple[State, dict]:
        """Steps of training.

        Args:
            state: Where to start; its memory is used again.
            order: `(steps, batch)`, the numbers of the examples.
            keys: `(steps,)`, of `jax.random`, for the views.
            rates: `(steps,)`, the learning rates.

        Returns:
            The state and the logs after them.
        """
        return self._steps(state, self.data, (order, keys, rates))

    def write_back(self, state: State) -> None:
        """Let the model have the values of `state`."""
        model = self.model
        variables = (
            model.trainable_variables,
            model.non_trainable_variables,
            model.optimizer.variables,
        )
        for group, values in zip(variables, state[:3], strict=True):
            for variable, value in zip(group, values, strict=True):
                variable.assign(value)

    def _scan(self, state, data, steps):
        def step(state, one):
            chosen, key, rate = one
            trainable, fixed, optimizer, metrics = state
            optimizer = list(optimizer)
            optimizer[self._rate] = rate
            batch = self.make_batch(*(part[chosen] for part in data), key)
            logs, state = self.model.train_step(
                (trainable, fixed, optimizer, metrics), batch
            )
            return tuple(map(list, state)), logs

        state, logs = jax.lax.scan(step, state, steps)
        return state, jax.tree.map(lambda values: values[-1], logs)


def fresh_metrics(state: State) -> State:
    """The state at the start of an epoch: metrics begin at 0."""
    return (*state[:3], jax.tree.map(np.zeros_like, state[3]))
