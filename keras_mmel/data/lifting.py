"""From a layer or function of one image to an augmentation of groups."""

import contextlib
import functools
import inspect
import itertools
from collections.abc import Callable

import keras
import tensorflow as tf

from keras_mmel.data import chance
from keras_mmel.data import numpy_views
from keras_mmel.data import seeds as seeds_lib

_REFUSED = {
    keras.layers.MixUp: "mixes the images of a batch",
    keras.layers.CutMix: "mixes the images of a batch",
    keras.layers.AugMix: "chooses by Python's `random`, once for all views",
}


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
              the seed, (2,) int32;
            - `f(image, rng)`, with this name, which gets a NumPy array and
              draws from `rng`, a `np.random.Generator` of the view's own. It
              is called for one view at a time, so that a pipeline with a
              state, such as one of albumentations, may be shared.

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
        view = _trace(make_view, x, layer_or_function)
        spec = tf.nest.map_structure(
            lambda t: tf.TensorSpec(t.shape, t.dtype), view.structured_outputs
        )
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
    """Returns the concrete function of (image, seed)."""
    example = tf.nest.map_structure(
        lambda t: tf.TensorSpec(t.shape[1:], t.dtype), x
    )
    # Outside the graph of the dataset, so that layers build their weights.
    with tf.init_scope():
        return chance.checked(
            layer_or_function,
            make_view(example),
            example,
            tf.TensorSpec([2], tf.int32),
        )


def _view_of_function(function):
    parameters = inspect.signature(function).parameters
    required = [
        p.name
        for p in parameters.values()
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        and p.default is p.empty
        and p.name != "seed"
    ]
    if required[1:] == ["rng"]:
        return numpy_views.view_maker(function)
    has_seed = "seed" in parameters
    if len(required) != 1 and (len(required) != 2 or has_seed):
        raise TypeError(
            "`layer_or_function` must take (image), (image, seed) or "
            "(image, rng). "
            f"Received: {function!r} with required arguments {required}"
        )

    def view(image, seed):
        if has_seed:
            return function(image, seed=seed)
        return function(image, seed) if len(required) == 2 else function(image)

    return lambda example: functools.partial(tf.function, view)


def _view_of_layer(layer):
    for part in layer._flatten_layers():
        why = next((w for c, w in _REFUSED.items() if isinstance(part, c)), 0)
        if why:
            raise ValueError(
                "`layer_or_function` must augment one image at a time, from "
                f"the seed of the view, and {type(part).__name__} {why}: take "
                "a layer that keeps images apart, such as RandAugment. "
                f"Received: layer_or_function={layer!r}"
            )
    if type(layer) is keras.Sequential:
        # Which works in tf.data on all backends.
        layer = keras.layers.Pipeline(layer.layers)
    keywords = {}
    if "training" in inspect.signature(layer.call).parameters:
        keywords["training"] = True

    def to_float(t):
        # Preprocessing layers do that on their own, others refuse uint8.
        return tf.cast(t, layer.compute_dtype) if t.dtype == tf.uint8 else t

    def to_view(t, views):
        # Half precision is for the model: the original is a view as well.
        dtype = t.dtype if t.dtype.is_floating else views.dtype
        return tf.cast(views[0], dtype)

    def call(image):
        batch = tf.nest.map_structure(lambda t: to_float(t)[None], image)
        return tf.nest.map_structure(to_view, image, layer(batch, **keywords))

    def view(image, seed):
        with _seeded(layer, seed):
            return call(image)

    def make_view(example):
        # Weights and, on other backends, the generators that Keras makes for
        # tf.data appear at the first call.
        first = tf.function(call, autograph=False)
        try:
            first.get_concrete_function(example)
        except NotImplementedError as error:
            raise ValueError(
                "`layer_or_function` must work in tf.data, which on "
                f"{keras.backend.backend()} only Keras's preprocessing layers "
                "do, several of them in a keras.layers.Pipeline. "
                f"Received: layer_or_function={layer!r}"
            ) from error
        return functools.partial(tf.function, view, autograph=False)

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
