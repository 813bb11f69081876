"""Views that a function of NumPy makes, each with a generator of its own."""

import functools
import threading
from collections.abc import Callable

import numpy as np
import tensorflow as tf

# Calls of a function that must agree before it is believed.
_TRIES = 8


def view_maker(function: Callable) -> Callable:
    """Lifts `function(image, rng)` to what `per_view` runs for each view.

    It gives, from the `tf.TensorSpec` of an image, a function of (image, seed).
    """
    lock = threading.Lock()

    def call(image, rng):
        # A copy, because it may draw into its image; one view at a time,
        # because pipelines keep a state.
        image = tf.nest.map_structure(np.array, image)
        with lock:
            return tf.nest.map_structure(np.asarray, function(image, rng=rng))

    def make_view(example):
        tried = _try(call, example, function)
        results = tf.nest.flatten(tried)

        def run(seed, *leaves):
            rng = np.random.default_rng(seed.view("uint32"))
            image = tf.nest.pack_sequence_as(example, leaves)
            return tf.nest.flatten(call(image, rng))

        def view(image, seed):
            inputs = [seed, *tf.nest.flatten(image)]
            dtypes = [result.dtype for result in results]
            # Not stateful: what it draws is the seed's.
            made = tf.numpy_function(run, inputs, dtypes, stateful=False)
            made = [
                tf.ensure_shape(leaf, result.shape)
                for leaf, result in zip(made, results, strict=True)
            ]
            return tf.nest.pack_sequence_as(tried, made)

        return functools.partial(tf.function, view, autograph=False)

    return make_view


def _try(call, example, function):
    """What the function makes of an image of noise, again and again."""

    def noise(spec):
        drawn = np.random.default_rng(0).random(spec.shape)
        times = 1 if spec.dtype.is_floating else 256
        return (times * drawn).astype(spec.dtype.as_numpy_dtype)

    image = tf.nest.map_structure(noise, example)
    made = [call(image, np.random.default_rng(0)) for _ in range(_TRIES)]
    for leaves in zip(*map(tf.nest.flatten, made), strict=True):
        if not all(np.array_equal(leaf, leaves[0]) for leaf in leaves):
            raise ValueError(
                "`layer_or_function` must draw all of its numbers from `rng`, "
                "and makes different views with one. A pipeline of "
                "albumentations takes its seed before each call, "
                "`pipeline.set_random_seed(int(rng.integers(2**31)))`. "
                f"Received: layer_or_function={function!r}"
            )
    return made[0]
