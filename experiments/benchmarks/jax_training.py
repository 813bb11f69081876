"""Many steps of a Keras model in one JAX program.

Keras's own `fit` starts every step from Python, which a small network on a fast
card waits for. Here `train_step` of the same model, `MMELModel` included, runs
inside `jax.lax.scan`, and so does the making of the views: only the images of
the next steps cross to the card, a group being a hundred times as large.
"""

from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np

# Variables of a model, as `keras.Model.train_step` takes them on JAX.
State = tuple[list, list, list, list]


def crop_and_flip(images: Any, key: Any, padding: int = 4) -> Any:
    """A random crop of each padded image, mirrored half of the time.

    What `keras_mmel.data.crop_and_flip` does, in JAX.

    Args:
        images: `(n, height, width, channels)`.
        key: Of `jax.random`.
        padding: Black pixels on every side.

    Returns:
        Like `images`.
    """
    number, height, width, channels = images.shape
    places, coins = jax.random.split(key)
    corners = jax.random.randint(places, (number, 2), 0, 2 * padding + 1)
    around = (padding, padding)
    padded = jnp.pad(images, ((0, 0), around, around, (0, 0)))

    def crop(image, corner):
        start = (corner[0], corner[1], 0)
        return jax.lax.dynamic_slice(image, start, (height, width, channels))

    cropped = jax.vmap(crop)(padded, corners)
    flip = jax.random.bernoulli(coins, shape=(number, 1, 1, 1))
    return jnp.where(flip, cropped[:, :, ::-1], cropped)


def make_batch(images: Any, labels: Any, key: Any, num_views: int) -> tuple:
    """A batch in the data contract; plain augmented images for one view."""
    if num_views == 1:
        return crop_and_flip(images, key), labels
    repeated = jnp.repeat(images, num_views - 1, axis=0)
    views = crop_and_flip(repeated, key)
    views = views.reshape(-1, num_views - 1, *images.shape[1:])
    return {"views": jnp.concatenate([images[:, None], views], 1)}, labels


class ScannedTraining:
    """Trains one model; states of other models of its kind fit as well.

    Args:
        model: Compiled, with a constant learning rate.
        num_views: The size of a group.
    """

    def __init__(self, model: keras.Model, num_views: int):
        self.model, self.num_views = model, num_views
        shape = model.input_shape if num_views == 1 else model.model.input_shape
        images = np.zeros((2, *shape[1:]), "uint8")
        # As `fit` does before its first step: it makes the metrics.
        example = make_batch(
            images, np.zeros(2, int), jax.random.key(0), num_views
        )
        model._symbolic_build(data_batch=example)
        (self._rate,) = (
            i
            for i, variable in enumerate(model.optimizer.variables)
            if variable.path.endswith("learning_rate")
        )
        self._steps = jax.jit(self._scan, donate_argnums=0)
        self._programs = {}

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
        self, state: State, images: Any, labels: Any, keys: Any, rates: Any
    ) -> tuple[State, dict]:
        """Steps of training.

        Args:
            state: Where to start.
            images: `(steps, batch, ...)`.
            labels: `(steps, batch)`.
            keys: `(steps,)`, of `jax.random`, for the views.
            rates: `(steps,)`, the learning rates.

        Returns:
            The state and the logs after them.
        """
        self.compile(state, images, labels, keys, rates)
        batches = images, labels, keys, rates
        return self._programs[len(rates)](state, batches)

    def compile(self, state, images, labels, keys, rates) -> None:
        """Make the program for as many steps, if there is none yet."""
        if len(rates) not in self._programs:
            batches = images, labels, keys, rates
            lowered = self._steps.lower(state, batches)
            self._programs[len(rates)] = lowered.compile()

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

    def _scan(self, state, batches):
        def step(state, batch):
            images, labels, key, rate = batch
            trainable, fixed, optimizer, metrics = state
            optimizer = list(optimizer)
            optimizer[self._rate] = rate
            logs, state = self.model.train_step(
                (trainable, fixed, optimizer, metrics),
                make_batch(images, labels, key, self.num_views),
            )
            return tuple(map(list, state)), logs

        state, logs = jax.lax.scan(step, state, batches)
        return state, jax.tree.map(lambda values: values[-1], logs)
