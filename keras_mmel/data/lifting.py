"""From a layer or function of one image to an augmentation of groups."""

import contextlib
import dataclasses
import inspect
import itertools
import threading
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from keras_mmel.data import chance
from keras_mmel.data import seeds as seeds_lib

# Layers whose views could not be told apart by their seeds, and why.
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
    return PerView(layer_or_function, make_view)


@dataclasses.dataclass(frozen=True)
class PerView:
    """An augmentation of groups that makes one view at a time.

    Attributes:
        layer_or_function: What `per_view` lifts, for messages.
        make_view: From the `tf.TensorSpec` of an image, or a nest of them, to a
            function of (image, seed) that is ready to be traced.
    """

    layer_or_function: keras.Layer | Callable
    make_view: Callable

    def __call__(self, images, seeds):
        """Makes the views of a batch, as `group_views` asks for them.

        Args:
            images: (batch, ...), a tensor or a nest of them.
            seeds: (batch, views, 2) int32.

        Returns:
            (batch, views, ...), a nest like that of the images.

        Raises:
            ValueError: If numbers are drawn that no seed controls.
        """
        images = tf.nest.map_structure(tf.convert_to_tensor, images)
        seeds = tf.convert_to_tensor(seeds, tf.int32)
        batch, views = tf.shape(seeds)[0], seeds.shape[1]
        image_spec = tf.nest.map_structure(
            lambda t: tf.TensorSpec(t.shape[1:], t.dtype), images
        )
        seed_spec = tf.TensorSpec([2], tf.int32)
        # Outside the graph of the dataset, so that layers build their weights.
        with tf.init_scope():
            view = self.make_view(image_spec)
            view = chance.trace_checked(
                self.layer_or_function, view, image_spec, seed_spec
            )
        view_spec = tf.nest.map_structure(
            lambda t: tf.TensorSpec(t.shape, t.dtype), view.structured_outputs
        )

        def view_of(row_and_seed):
            row, seed = row_and_seed
            return view(tf.nest.map_structure(lambda t: t[row], images), seed)

        rows = tf.range(batch * views) // views  # each image `views` times
        flat_seeds = tf.reshape(seeds, [-1, 2])
        flat_views = tf.map_fn(
            view_of, (rows, flat_seeds), fn_output_signature=view_spec
        )
        return tf.nest.map_structure(
            lambda t: tf.reshape(t, [batch, views, *t.shape[1:]]), flat_views
        )


def _view_of_function(function):
    """Returns the `make_view` of `PerView` for a function of one image."""
    # A seed may have a default, which its name tells.
    parameters = inspect.signature(function).parameters
    names = [
        p.name
        for p in parameters.values()
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        and (p.default is p.empty or p.name == "seed")
    ]
    if names[1:] == ["rng"]:
        return _view_of_numpy_function(function)
    if len(names) not in (1, 2) or names[0] == "seed":
        raise TypeError(
            "`layer_or_function` must take (image), (image, seed) or "
            "(image, rng). "
            f"Received: {function!r} with required arguments {names}"
        )

    # The second of two gets the seed, whatever it is called; by its name, since
    # others with a default may stand before it.
    seed_name = next(iter(names[1:]), None)

    def view(image, seed):
        if seed_name is None:
            return function(image)
        if parameters[seed_name].kind is inspect.Parameter.POSITIONAL_ONLY:
            return function(image, seed)
        return function(image, **{seed_name: seed})

    return lambda image_spec: view


def _view_of_numpy_function(function):
    """Returns the `make_view` of `PerView` for `function(image, rng)`."""
    lock = threading.Lock()

    def call(image, rng):
        # A copy, because the function may draw into its image; one view at a
        # time, because pipelines keep a state.
        image = tf.nest.map_structure(np.array, image)
        with lock:
            return tf.nest.map_structure(np.asarray, function(image, rng=rng))

    def make_view(image_spec):
        # What shapes and dtypes it gives is known from a first call alone.
        example = chance.try_checked(function, call, image_spec)
        dtypes = [leaf.dtype for leaf in tf.nest.flatten(example)]

        def run(seed, *image_leaves):
            rng = np.random.default_rng(seed.view("uint32"))
            image = tf.nest.pack_sequence_as(image_spec, image_leaves)
            return tf.nest.flatten(call(image, rng))

        def with_shape(leaf, example_leaf):
            return tf.ensure_shape(leaf, example_leaf.shape)

        @tf.autograph.experimental.do_not_convert
        def view(image, seed):
            inputs = [seed, *tf.nest.flatten(image)]
            # Not stateful: what it draws is the seed's.
            leaves = tf.numpy_function(run, inputs, dtypes, stateful=False)
            result = tf.nest.pack_sequence_as(example, leaves)
            return tf.nest.map_structure(with_shape, result, example)

        return view

    return make_view


def _view_of_layer(layer):
    """Returns the `make_view` of `PerView` for a layer."""
    _refuse_mixing(layer)
    if type(layer) is keras.Sequential:
        # Which works in tf.data on all backends.
        layer = keras.layers.Pipeline(layer.layers)

    def to_float(t):
        # Preprocessing layers do that by themselves, others refuse uint8.
        return tf.cast(t, layer.compute_dtype) if t.dtype == tf.uint8 else t

    def to_view(t, views):
        # Half precision is for the model: the original is a view as well.
        dtype = t.dtype if t.dtype.is_floating else views.dtype
        return tf.cast(views[0], dtype)

    def call(image):
        batch = tf.nest.map_structure(lambda t: to_float(t)[None], image)
        views = layer(batch, training=True)
        return tf.nest.map_structure(to_view, image, views)

    @tf.autograph.experimental.do_not_convert
    def view(image, seed):
        with _seeded(layer, seed):
            return call(image)

    def make_view(image_spec):
        # Weights and, on other backends, the generators that Keras makes for
        # tf.data appear at the first call.
        first_call = tf.function(call, autograph=False)
        try:
            first_call.get_concrete_function(image_spec)
        except NotImplementedError as error:
            raise ValueError(
                "`layer_or_function` must work in tf.data, which on "
                f"{keras.backend.backend()} only Keras's preprocessing layers "
                "do, several of them in a keras.layers.Pipeline. "
                f"Received: layer_or_function={layer!r}"
            ) from error
        return view

    return make_view


def _refuse_mixing(layer):
    for sublayer in layer._flatten_layers():
        for refused, reason in _REFUSED.items():
            if isinstance(sublayer, refused):
                raise ValueError(
                    "`layer_or_function` must augment one image at a time, "
                    "from the seed of the view, and "
                    f"{type(sublayer).__name__} {reason}: take a layer that "
                    "keeps images apart, such as RandAugment. "
                    f"Received: layer_or_function={layer!r}"
                )


@contextlib.contextmanager
def _seeded(layer, seed):
    """Lets every seed generator of a layer draw from `seed`, while tracing.

    Each draw of a call gets its own number, whichever generator asks, so that
    two layers do not draw the same.
    """
    draw_numbers = itertools.count()
    key = tf.bitcast(seed, tf.uint64)

    def next_seed(ordered=True):
        draw_seed = seeds_lib.fold(key, next(draw_numbers))
        return tf.cast(tf.bitcast(draw_seed, tf.int32), tf.int64)

    sublayers = layer._flatten_layers()
    generators = _seed_generators([vars(sublayer) for sublayer in sublayers])
    # An attribute of the generator hides the method of its class.
    for generator in generators:
        generator.next = next_seed
    try:
        yield
    finally:
        for generator in generators:
            del generator.next


def _seed_generators(value, seen=()):
    """The seed generators in a nest of attributes, each once.

    Layers hold them as attributes, in lists and, for other backends, in dicts.
    Not by `keras.tree`, which sorts the keys of a dict, and some have no order.
    """
    if isinstance(value, keras.random.SeedGenerator):
        return {value}
    if id(value) in seen:
        return set()  # a list that holds itself
    seen = (*seen, id(value))
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return set()
    return set().union(*(_seed_generators(item, seen) for item in value))
