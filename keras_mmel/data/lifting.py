"""From a layer or function of one image to an augmentation of groups."""

import contextlib
import inspect
import itertools
import random
import re
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from keras_mmel.data import seeds as seeds_lib

_MIX_IMAGES = (keras.layers.MixUp, keras.layers.CutMix)

# Operations that draw from, or change, a state outside the function.
_STATEFUL = re.compile(
    r"Random|Multinomial|TruncatedNormal|ParameterizedTruncatedNormal|Rng"
    r"|SampleDistortedBoundingBox|Stateful(?!PartitionedCall)|Assign"
)


def per_view(layer_or_function: keras.Layer | Callable) -> Callable:
    """Lifts a layer or a function of one image to an augmentation of groups.

    It runs once per view, one image at a time, so that every view of every
    image draws its own numbers, also from layers that draw once per call, such
    as `keras.layers.RandomCrop`. The numbers come from the view's seed alone:
    the seed that the layer was made with has no effect, and neither have
    threads and batch sizes.

    Args:
        layer_or_function: One of
            - a Keras layer or model that takes a batch of images; it is called
              with a batch of one and training=True, and its seed generators
              are set for each view;
            - `f(image)`, which must not draw numbers;
            - `f(image, seed)`, which draws with `tf.random.stateless_*` from
              the seed, (2,) int32. What it draws from NumPy or Python is drawn
              once and the same for all views.

            The result must have the shape of the image and either its dtype
            or, from integers, a float dtype and the same range of values: the
            original stays as it is, so scale images before, in the dataset,
            or after, in `postprocess` or the model.

    Returns:
        An augmentation for `group_views`.

    Raises:
        TypeError: If it is neither a layer nor such a function.
        ValueError: If it is a layer that mixes images of a batch; and, when
            the dataset is made, if it draws numbers that no seed controls.

    Example:

    ```python
    augment = keras_mmel.data.per_view(keras.layers.RandomRotation(0.1))
    ```
    """
    if isinstance(layer_or_function, keras.Layer):
        make_view = _view_of_layer(layer_or_function)
    elif callable(layer_or_function):
        make_view = _view_of_function(layer_or_function)
    else:
        raise TypeError(
            "`layer_or_function` must be a Keras layer or a function. "
            f"Received: layer_or_function={layer_or_function!r}"
        )

    def augment(x, seeds):
        x = tf.nest.map_structure(tf.convert_to_tensor, x)
        seeds = tf.convert_to_tensor(seeds, tf.int32)
        view, spec = _trace(make_view, x, layer_or_function)
        batch, views = tf.shape(seeds)[0], seeds.shape[1]

        def one(example_and_seed):
            example, seed = example_and_seed
            return view(tf.nest.map_structure(lambda t: t[example], x), seed)

        flat = tf.map_fn(
            one,
            (tf.range(batch * views) // views, tf.reshape(seeds, [-1, 2])),
            fn_output_signature=spec,
        )
        return tf.nest.map_structure(
            lambda t: tf.reshape(t, [batch, views, *t.shape[1:]]), flat
        )

    return augment


def _trace(make_view, x, layer_or_function):
    """Returns the function of (image, seed) and the spec of its result."""
    example = tf.nest.map_structure(
        lambda t: tf.TensorSpec(t.shape[1:], t.dtype), x
    )
    # Outside the graph of the dataset, so that layers build their weights.
    with tf.init_scope():
        view = make_view(example)
        before = _global_random_state()
        graph = view.get_concrete_function(
            example, tf.TensorSpec([2], tf.int32)
        )
    if _global_random_state() != before:
        raise ValueError(
            "`layer_or_function` must not draw from Python's `random` or "
            "`numpy.random`: they are asked once, when the graph is made, and "
            "all views would share the answer. Take (image, seed) and use "
            f"tf.random.stateless_* functions. Received: {layer_or_function!r}"
        )
    stateful = _stateful_operations(graph.graph.as_graph_def())
    if stateful:
        raise ValueError(
            "`layer_or_function` must draw its numbers from the seed of the "
            "view, or views could not be repeated: make it f(image, seed) with "
            "tf.random.stateless_* functions, or pass the layer itself. "
            f"Received: {layer_or_function!r} with operations {stateful}"
        )
    spec = tf.nest.map_structure(
        lambda t: tf.TensorSpec(t.shape, t.dtype), graph.structured_outputs
    )
    return view, spec


def _global_random_state():
    """What Python's and NumPy's shared generators will draw next."""
    numpy_state = np.random.get_state(legacy=False)["state"]
    return random.getstate(), numpy_state["pos"], numpy_state["key"].tobytes()


def _stateful_operations(graph):
    """The operations of a graph that no view seed controls."""
    functions = (function.node_def for function in graph.library.function)
    nodes = itertools.chain(graph.node, *functions)
    return sorted({node.op for node in nodes if _STATEFUL.match(node.op)})


def _view_of_function(function):
    parameters = inspect.signature(function).parameters
    required = [
        p.name
        for p in parameters.values()
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        and p.default is p.empty
        and p.name != "seed"
    ]
    has_seed = "seed" in parameters
    if len(required) != 1 and (len(required) != 2 or has_seed):
        raise TypeError(
            "`layer_or_function` must take (image) or (image, seed). "
            f"Received: {function!r} with required arguments {required}"
        )

    def view(image, seed):
        if has_seed:
            return function(image, seed=seed)
        return function(image, seed) if len(required) == 2 else function(image)

    return lambda example: tf.function(view)


def _view_of_layer(layer):
    for part in layer._flatten_layers():
        if isinstance(part, _MIX_IMAGES):
            raise ValueError(
                "`layer_or_function` must augment one image at a time, and "
                f"{type(part).__name__} mixes the images of a batch. "
                f"Received: layer_or_function={layer!r}"
            )
    keywords = {}
    if "training" in inspect.signature(layer.call).parameters:
        keywords["training"] = True

    def to_float(t):
        # Preprocessing layers do that on their own, others refuse uint8.
        return tf.cast(t, layer.compute_dtype) if t.dtype == tf.uint8 else t

    def call(image):
        batch = tf.nest.map_structure(lambda t: to_float(t)[None], image)
        return tf.nest.map_structure(lambda t: t[0], layer(batch, **keywords))

    def view(image, seed):
        with _seeded(layer, seed):
            return call(image)

    def make_view(example):
        # Weights and, on other backends, the generators that Keras makes for
        # tf.data appear at the first call.
        tf.function(call, autograph=False).get_concrete_function(example)
        return tf.function(view, autograph=False)

    return make_view


@contextlib.contextmanager
def _seeded(layer, seed):
    """Lets every seed generator of a layer draw from `seed`, while tracing."""
    draws = itertools.count()
    key = tf.bitcast(seed, tf.uint64)

    def next_seed(ordered=True):
        drawn = seeds_lib.fold(key, next(draws))
        return tf.cast(tf.bitcast(drawn, tf.int32), tf.int64)

    generators = list(_seed_generators(layer))
    for generator in generators:
        generator.next = next_seed
    try:
        yield
    finally:
        for generator in generators:
            del generator.next


def _seed_generators(layer):
    seen = set()
    waiting = [vars(part) for part in layer._flatten_layers()]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, keras.random.SeedGenerator):
            yield value
        elif isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, (list, tuple)):
            waiting.extend(value)
