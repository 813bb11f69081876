"""Views that a function of NumPy makes, each with a generator of its own."""

import threading
from collections.abc import Callable

import numpy as np
import tensorflow as tf

# Calls of a function that must agree before it is believed.
_TRIES = 8


def view_maker(function: Callable) -> Callable:
    """Returns the `make_view` of `PerView` for `function(image, rng)`.

    Args:
        function: From arrays and a `np.random.Generator` to arrays. It is
            called for one view at a time, because pipelines keep a state.

    Returns:
        From the `tf.TensorSpec` of an image, or a nest of them, to a function
        of (image, seed) that is ready to be traced.
    """
    lock = threading.Lock()

    def call(image, rng):
        # A copy, because the function may draw into its image.
        image = tf.nest.map_structure(np.array, image)
        with lock:
            return tf.nest.map_structure(np.asarray, function(image, rng=rng))

    def make_view(image_spec):
        trial = _try(call, image_spec, function)
        trial_leaves = tf.nest.flatten(trial)
        dtypes = [leaf.dtype for leaf in trial_leaves]

        def run(seed, *image_leaves):
            rng = np.random.default_rng(seed.view("uint32"))
            image = tf.nest.pack_sequence_as(image_spec, image_leaves)
            return tf.nest.flatten(call(image, rng))

        @tf.autograph.experimental.do_not_convert
        def view(image, seed):
            inputs = [seed, *tf.nest.flatten(image)]
            # Not stateful: what it draws is the seed's.
            leaves = tf.numpy_function(run, inputs, dtypes, stateful=False)
            leaves = [
                tf.ensure_shape(leaf, trial_leaf.shape)
                for leaf, trial_leaf in zip(leaves, trial_leaves, strict=True)
            ]
            return tf.nest.pack_sequence_as(trial, leaves)

        return view

    return make_view


def _try(call, image_spec, function):
    """Returns what the function makes of noise, each time the same."""

    def noise(spec):
        values = np.random.default_rng(0).random(spec.shape)
        largest = 1 if spec.dtype.is_floating else 256
        return (largest * values).astype(spec.dtype.as_numpy_dtype)

    image = tf.nest.map_structure(noise, image_spec)
    trials = [call(image, np.random.default_rng(0)) for _ in range(_TRIES)]
    for leaves in zip(*map(tf.nest.flatten, trials), strict=True):
        if not all(np.array_equal(leaf, leaves[0]) for leaf in leaves):
            raise ValueError(
                "`layer_or_function` must draw all of its numbers from `rng`, "
                "and makes different views with one. A pipeline of "
                "albumentations takes its seed before each call, "
                "`pipeline.set_random_seed(int(rng.integers(2**31)))`. "
                f"Received: layer_or_function={function!r}"
            )
    return trials[0]
