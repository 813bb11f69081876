"""Views that a function of NumPy makes, each with a generator of its own."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

# Calls of a function that must agree before it is believed.
_TRIES = 8


def view_maker(function: Callable) -> Callable:
    """Lifts `function(image, rng)` to what `per_view` runs for each view.

    Args:
        function: From NumPy arrays and a `np.random.Generator` to arrays. It
            is called for one view at a time: pipelines keep a state.

    Returns:
        From the `tf.TensorSpec` of an image to a function of (image, seed).
    """
    lock = threading.Lock()

    def call(image: Any, rng: np.random.Generator):
        # Copies, because it may draw into its image.
        image = tf.nest.map_structure(np.array, image)
        with lock:
            made = function(image, rng)
        return tf.nest.map_structure(np.asarray, made)

    def make_view(example):
        result = _tried(call, example, function)

        def run(seed, *leaves):
            rng = np.random.default_rng(seed.view("uint32"))
            image = tf.nest.pack_sequence_as(example, leaves)
            return tf.nest.flatten(call(image, rng))

        def view(image, seed):
            inputs = [seed, *tf.nest.flatten(image)]
            specs = tf.nest.flatten(result)
            dtypes = [spec.dtype for spec in specs]
            # Not stateful: what it draws is the seed's.
            made = tf.numpy_function(run, inputs, dtypes, stateful=False)
            made = [
                tf.ensure_shape(leaf, spec.shape)
                for leaf, spec in zip(made, specs, strict=True)
            ]
            return tf.nest.pack_sequence_as(result, made)

        return tf.function(view, autograph=False)

    return make_view


def _tried(call, example, function):
    """What the function gives for an image of noise, as specs."""

    def noise(spec):
        drawn = np.random.default_rng(0).random(spec.shape)
        dtype = spec.dtype.as_numpy_dtype
        return (drawn if spec.dtype.is_floating else 256 * drawn).astype(dtype)

    image = tf.nest.map_structure(noise, example)
    first, *others = (
        call(image, np.random.default_rng(0)) for _ in range(_TRIES)
    )
    for other in others:
        for a, b in zip(*map(tf.nest.flatten, (first, other)), strict=True):
            if not np.array_equal(a, b):
                raise ValueError(
                    "`layer_or_function` must draw all of its numbers from "
                    "`rng`, and gives two results for one image and generator. "
                    "A pipeline of albumentations takes its seed in every "
                    "call, `pipeline.set_random_seed(int(rng.integers(2**31)))`"
                    f". Received: layer_or_function={function!r}"
                )
    return tf.nest.map_structure(
        lambda a: tf.TensorSpec(a.shape, a.dtype), first
    )
