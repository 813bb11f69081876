"""From a layer or function of one image to an augmentation of groups."""

import dataclasses
import functools
import inspect
import threading
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from keras_mmel.data import arguments
from keras_mmel.data.randomness import chance
from keras_mmel.data.randomness import seeds as seeds_lib

# Keras's layers for images, which take a dict with their labels as well. The
# class has no public name of its own.
_ImageLayer = keras.layers.RandomFlip.__base__
# Before, masks were interpolated as their images are.
_TO_NEAREST = hasattr(_ImageLayer, "_transform_images")
_LABELS = ("segmentation_masks", "bounding_boxes")
# Layers of Keras 3.15 that move boxes otherwise than their images; those of the
# second tuple do not with boxes in the format "xyxy".
_WRONG_BOXES = (
    keras.layers.RandomCrop,
    keras.layers.RandomShear,
    keras.layers.RandAugment,
)
_ONLY_XYXY = (keras.layers.RandomRotation, keras.layers.RandomPerspective)
_CHANCE = ("seed", "rng")


def per_view(
    layer_or_function: keras.Layer | Callable, labels: str | None = None
) -> Callable:
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
              state, such as one of albumentations, may be shared;
            - for `augment_labels`, where labels move with their views,
              `f(image, label)`, `f(image, label, seed)` or
              `f(image, label, rng)`, which give both, `(image, label)`.

            The result must have the shape of the image and either its dtype
            or, from integers, a float dtype and the same range of values: the
            original stays as it is, so scale images before, in the dataset,
            or after, in `postprocess` or the model. Floats of another
            precision, such as NumPy's, become those of the image.
        labels: What the labels are that a layer of Keras moves with the image,
            for `augment_labels`: `"segmentation_masks"`, (height, width) or
            (height, width, channels), to the nearest pixel; or
            `"bounding_boxes"`, `{"boxes": (n, 4), "labels": (n,)}`, in the
            layer's `bounding_box_format`.

    Returns:
        An augmentation for `group_views`.

    Raises:
        TypeError: If it is neither a layer nor a function; and, when the
            dataset is made, if it takes other arguments, or labels where there
            are none to move, or the other way round.
        ValueError: If it is a layer that mixes images of a batch, or does not
            move such labels as it moves the image; and, when the dataset is
            made, if it draws numbers that no seed controls.

    Example:

    ```python
    augment = keras_mmel.data.per_view(keras.layers.RandomRotation(0.1))
    ```
    """
    is_layer = isinstance(layer_or_function, keras.Layer)
    if labels is not None and not (is_layer and labels in _LABELS):
        raise ValueError(
            f"`labels` must be one of {_LABELS}, with a layer; a function "
            "takes its labels as (image, label, seed). "
            f"Received: labels={labels!r} with {layer_or_function!r}"
        )
    if is_layer:
        make_view = _view_of_layer(layer_or_function, labels)
    else:
        make_view = _view_of_function(layer_or_function)
    return PerView(layer_or_function, make_view)


@dataclasses.dataclass(frozen=True)
class PerView:
    """An augmentation of groups that makes one view at a time.

    Attributes:
        layer_or_function: What `per_view` lifts, for messages.
        make_view: From the `tf.TensorSpec` of an image, or a nest of them, and
            that of a label where labels are augmented, to a function of
            (image, seed) or (image, label, seed) that is ready to be traced.
    """

    layer_or_function: keras.Layer | Callable
    make_view: Callable

    def __call__(self, *inputs_and_seeds):
        """Makes the views of a batch, as `group_views` asks for them.

        Args:
            *inputs_and_seeds: Images (batch, ...), a tensor or a nest of them;
                labels likewise, where they are augmented; and seeds
                (batch, views, 2), int32.

        Returns:
            (batch, views, ...), a nest like that of the images, or a pair, of
            images and labels.

        Raises:
            TypeError: If what is lifted takes other arguments.
            ValueError: If numbers are drawn that no seed controls.
        """
        *inputs, seeds = inputs_and_seeds
        inputs = tf.nest.map_structure(tf.convert_to_tensor, inputs)
        seeds = tf.convert_to_tensor(seeds, tf.int32)
        batch, views = tf.shape(seeds)[0], seeds.shape[1]
        specs = tf.nest.map_structure(
            lambda t: tf.TensorSpec(t.shape[1:], t.dtype), inputs
        )
        seed_spec = tf.TensorSpec([2], tf.int32)
        # Outside the graph of the dataset, so that layers build their weights.
        with tf.init_scope():
            view = self.make_view(*specs)
            try:
                view = chance.trace_checked(
                    self.layer_or_function, view, seed_spec, *specs
                )
            except (TypeError, AttributeError, NotImplementedError) as error:
                error.add_note(
                    "`per_view(f)` gives tensors to f(image) and f(image, "
                    "seed). What takes NumPy arrays, such as a pipeline of "
                    "albumentations, is `per_view(f)` of f(image, rng)."
                )
                raise
        outputs = view.structured_outputs
        if len(specs) == 1:
            arguments.check_structure(specs[0], outputs)
        view_spec = tf.nest.map_structure(
            lambda t: tf.TensorSpec(t.shape, t.dtype), outputs
        )

        def view_of(row_and_seed):
            row, seed = row_and_seed
            return view(seed, *tf.nest.map_structure(lambda t: t[row], inputs))

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

    def view(seed, *inputs):
        # What comes after the inputs gets the seed, whatever it is called; by
        # its name, since others with a default may stand before it.
        name = next(iter(names[len(inputs) :]), None)
        if name is None:
            return function(*inputs)
        if parameters[name].kind is inspect.Parameter.POSITIONAL_ONLY:
            return function(*inputs, seed)
        return function(*inputs, **{name: seed})

    def make_view(*specs):
        given, chances = names[: len(specs)], names[len(specs) :]
        takes_as_many = len(given) == len(specs) and len(chances) <= 1
        if not takes_as_many or not set(_CHANCE).isdisjoint(given):
            raise TypeError(
                "`layer_or_function` must take (image), (image, seed) or "
                "(image, rng), and with `augment_labels=True` (image, label), "
                "(image, label, seed) or (image, label, rng). "
                f"Received: {function!r} with required arguments {names}"
            )
        if chances == ["rng"]:
            return _view_of_numpy_function(function, specs)
        return view

    return make_view


def _view_of_numpy_function(function, specs):
    """Returns a view for `function(image, rng)`, or of a label as well."""
    lock = threading.Lock()

    def call(inputs, rng):
        # A copy, because the function may draw into its image; one view at a
        # time, because pipelines keep a state.
        copies = tf.nest.map_structure(np.array, inputs)
        with lock:
            made = function(*copies, rng=rng)
        return tf.nest.map_structure(np.asarray, made)

    # What shapes and dtypes it gives is known from a first call alone.
    example = chance.try_checked(function, call, specs)
    dtypes = [leaf.dtype for leaf in tf.nest.flatten(example)]

    def run(seed, *leaves):
        rng = np.random.default_rng(seed.view("uint32"))
        inputs = tf.nest.pack_sequence_as(specs, leaves)
        return tf.nest.flatten(call(inputs, rng))

    def with_shape(leaf, example_leaf):
        return tf.ensure_shape(leaf, example_leaf.shape)

    @tf.autograph.experimental.do_not_convert
    def view(seed, *inputs):
        leaves = [seed, *tf.nest.flatten(inputs)]
        # Not stateful: what it draws is the seed's.
        leaves = tf.numpy_function(run, leaves, dtypes, stateful=False)
        result = tf.nest.pack_sequence_as(example, leaves)
        return tf.nest.map_structure(with_shape, result, example)

    return view


def _view_of_layer(layer, labels):
    """Returns the `make_view` of `PerView` for a layer."""
    arguments.refuse_mixing("layer_or_function", layer)
    if labels is not None:
        _refuse_unlike(layer, labels)
    if type(layer) is keras.Sequential:
        # Which works in tf.data on all backends.
        layer = keras.layers.Pipeline(layer.layers)
    call = functools.partial(_call_layer, layer, labels)

    @tf.autograph.experimental.do_not_convert
    def view(seed, *inputs):
        with seeds_lib.seeded(layer, seed):
            return call(*inputs)

    def make_view(*specs):
        _check_pictures(layer, specs[0])
        if (labels is None) != (len(specs) == 1):
            raise TypeError(
                "`per_view` of a layer moves labels where it knows what they "
                f"are, `labels` one of {_LABELS}, with `augment_labels=True`. "
                f"Received: labels={labels!r} with {len(specs) - 1} labels"
            )
        # Weights and, on other backends, the generators that Keras makes for
        # tf.data appear at the first call.
        first_call = tf.function(call, autograph=False)
        try:
            first_call.get_concrete_function(*specs)
        except NotImplementedError as error:
            raise ValueError(
                "`layer_or_function` must work in tf.data, which on "
                f"{keras.backend.backend()} only Keras's preprocessing layers "
                "do, several of them in a keras.layers.Pipeline. "
                f"Received: layer_or_function={layer!r}"
            ) from error
        if labels is not None and not _draws_alike(layer, call, specs):
            raise _unlike("draws other numbers for them", layer)
        return view

    return make_view


def _check_pictures(layer, spec):
    """Raises where a layer of Keras would leave a picture as it is."""
    if not isinstance(spec, dict):
        return
    shapes = {name: getattr(leaf, "shape", ()) for name, leaf in spec.items()}
    pictures = {name for name, shape in shapes.items() if len(shape) == 3}
    is_of_images = isinstance(layer, (_ImageLayer, keras.layers.Pipeline))
    if is_of_images and pictures - {*_LABELS} != {"images"}:
        raise ValueError(
            "A layer of Keras moves the picture of x that is called 'images', "
            f"and {_LABELS} with it: for others give a function of (x, seed). "
            f"Received: layer_or_function={layer!r} with pictures {pictures}"
        )


def _call_layer(layer, labels, image, *label):
    """The view of one image, or of an image and its label."""

    def to_float(t):
        # Preprocessing layers do that by themselves, others refuse uint8.
        return tf.cast(t, layer.compute_dtype) if t.dtype == tf.uint8 else t

    def is_flat(t):
        return labels == "segmentation_masks" and t.shape.rank == 2

    def to_label(t, moved):
        moved = moved[0, ..., 0] if is_flat(t) else moved[0]
        if t.dtype.is_integer:
            wrong = "A layer gave fractions for a label of whole numbers"
            tf.debugging.assert_equal(moved, tf.round(moved), wrong)
            wrong = "A layer computes in float32, exact for labels up to 2**24"
            tf.debugging.assert_less_equal(
                tf.cast(t, tf.int64), tf.constant(2**24, tf.int64), wrong
            )
        return tf.cast(moved, t.dtype)

    batch = tf.nest.map_structure(lambda t: to_float(t)[None], image)
    if not label:
        views = layer(batch, training=True)
        return tf.nest.map_structure(lambda t: t[0], views)
    batch_of_labels = tf.nest.map_structure(
        lambda t: t[None, ..., None] if is_flat(t) else t[None], label[0]
    )
    views = layer({"images": batch, labels: batch_of_labels}, training=True)
    moved = tf.nest.map_structure(to_label, label[0], views[labels])
    return views["images"][0], moved


def _draws_alike(layer, call, specs):
    """Whether a layer draws as often for an image as for it and its label."""
    counts = []

    def count(*inputs):
        with seeds_lib.seeded(layer, tf.zeros([2], tf.int32)) as to_come:
            call(*inputs)
        counts.append(next(to_come))

    for given in (specs[:1], specs):
        tf.function(count, autograph=False).get_concrete_function(*given)
    return counts[0] == counts[1]


def _refuse_unlike(layer, labels):
    """Raises where a layer would not move labels as it moves the image."""
    for sublayer in layer._flatten_layers():
        if isinstance(sublayer, (keras.Sequential, keras.layers.Pipeline)):
            continue
        if not isinstance(sublayer, _ImageLayer):
            raise _unlike("takes images alone", sublayer)
        if sublayer.compute_dtype not in ("float32", "float64"):
            raise _unlike("computes in half precision", sublayer)
        if isinstance(sublayer, getattr(keras.layers, "RandomGrayscale", ())):
            raise _unlike("takes images alone", sublayer)
        is_smooth = getattr(sublayer, "interpolation", "nearest") != "nearest"
        if labels == "segmentation_masks" and is_smooth and not _TO_NEAREST:
            raise _unlike(
                "interpolates masks in this version of Keras, but for "
                "`interpolation='nearest'`",
                sublayer,
            )
        is_xyxy = str(sublayer.bounding_box_format).lower() == "xyxy"
        wrong = _WRONG_BOXES if is_xyxy else (*_WRONG_BOXES, *_ONLY_XYXY)
        if labels == "bounding_boxes" and isinstance(sublayer, wrong):
            raise _unlike(
                "moves boxes otherwise than pixels, at least in the format "
                f"{sublayer.bounding_box_format!r}",
                sublayer,
            )


def _unlike(reason, layer):
    return ValueError(
        "With `labels`, `layer_or_function` must move them exactly as it moves "
        f"the image, and {type(layer).__name__} {reason}. Move both in a "
        "function, `per_view(f)` of f(image, label, seed). "
        f"Received: layer_or_function={layer!r}"
    )
