"""Groups of fixed transformations, to score a model on."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence

import keras
import tensorflow as tf

from keras_mmel.counts import check_count
from keras_mmel.data import arguments
from keras_mmel.data.lifting import PerView
from keras_mmel.data.randomness import chance


def grid_views(
    dataset: tf.data.Dataset,
    transformations: Sequence[Callable] | Mapping[str, Callable],
    batch_size: int,
    *,
    augment_labels: bool | None = None,
) -> tf.data.Dataset:
    """Makes groups of the same transformations of every example.

    View 0 is the original, view j is what the j-th transformation makes of it.
    The groups are the same in every pass, so that `evaluate_views` compares
    models, or the epochs of one, on the same views.

    Args:
        dataset: (x, y) or (x, y, sample_weight), one example at a time.
        transformations: Functions from x of one example to one of its shape,
            without chance; `keras.layers.RandomRotation((0.1, 0.1))`, which
            draws from a range of one number, is one too. In a dict they have
            names, by which `evaluate_views` and reports call their views.
        batch_size: Groups per batch; the last batch may have fewer.
        augment_labels: Whether labels move with the views: transformations
            then take x and y of one example and give both, and y becomes
            `{"views": y}`. With `None` labels are shared by the views, and
            those with the height and width of an image are warned of; `False`
            says that they stay right.

    Returns:
        A `tf.data.Dataset` in the data contract, in the order of `dataset`. Its
        `view_names`, where there are names, begins with `"original"`.

    Raises:
        TypeError: If `dataset` is no `tf.data.Dataset`, or a layer is to move
            labels.
        ValueError: If there is no transformation, one draws by chance, or one
            changes the shape, or the dtype of labels; or if one is called
            `"original"`.

    Example:

    ```python
    turns = {"left": 0.1, "right": -0.1}
    turns = {k: keras.layers.RandomRotation((a, a)) for k, a in turns.items()}
    groups = keras_mmel.data.grid_views(examples, turns, batch_size=64)
    print(keras_mmel.evaluate_views(model, groups, by_view=True))
    ```
    """
    batch_size = check_count("batch_size", batch_size, 1)
    arguments.check_elements(dataset, augment_labels)
    names, functions = _with_names(transformations)
    augmented = 2 if augment_labels else 1  # x and y, or x alone
    for transform in functions:
        is_layer = isinstance(transform, keras.Layer)
        if isinstance(transform, PerView) or (augment_labels and is_layer):
            raise TypeError(
                "`transformations` must be functions of one image, or layers, "
                "and with `augment_labels` functions f(image, label) that give "
                "both, without chance: `per_view` is for `group_views`. "
                f"Received: {transform}"
            )
        chance.check_fixed(transform, *dataset.element_spec[:augmented])

    def to_group(*example):
        inputs, rest = example[:augmented], example[augmented:]
        transformed = [transform(*inputs) for transform in functions]
        for place, views in enumerate(transformed):
            views = arguments.check_pair(views) if augment_labels else (views,)
            arguments.check_structure(inputs, views)
            tf.nest.map_structure(arguments.check_label, inputs[1:], views[1:])
            transformed[place] = views

        # A leaf of x, and what each transformation made of that leaf.
        def join(original, *views):
            for place, view in enumerate(views):
                if not original.shape.is_compatible_with(view.shape):
                    raise ValueError(
                        f"Transformation {place} must keep the shape of an "
                        f"example, {original.shape}. Received: {view.shape}"
                    )
            leaves = [original, *views]
            dtype = keras.backend.result_type(*(t.dtype.name for t in leaves))
            return tf.stack([tf.cast(leaf, dtype) for leaf in leaves])

        of_views = tf.nest.map_structure(join, inputs, *transformed)
        return *({"views": views} for views in of_views), *rest

    groups = dataset.map(to_group, tf.data.AUTOTUNE, deterministic=True)
    options = tf.data.Options()
    options.autotune.enabled = False  # as in `epochs.count_passes`
    groups = groups.batch(batch_size).prefetch(tf.data.AUTOTUNE)
    groups = groups.with_options(options)
    if names:
        groups.view_names = names
    return groups


# Of view 0, and of rows of the table of scores that are of no view.
_ROWS = {"original", "mean", "worst of each", "mean prediction", "its spread"}


def _with_names(transformations):
    """Names of the views, or None, and the functions that make them."""
    names, functions = None, transformations
    if isinstance(transformations, Mapping):
        names = ["original", *transformations]
        functions = transformations.values()
    elif callable(transformations):
        functions = ()
    functions = list(map(_as_it_is, functions))
    own = names[1:] if names else []
    are_strings = all(isinstance(name, str) for name in own)
    if not functions or not are_strings or _ROWS & {*own}:
        raise ValueError(
            "`transformations` must be a list, or a dict from names, of at "
            f"least one function; names are strings, and none of "
            f"{sorted(_ROWS)}. Received: {transformations!r}"
        )
    return names, functions


def _as_it_is(function):
    """A lambda that AutoGraph leaves alone: it warns of two in one line.

    What it would rewrite, a choice by the value of a tensor, then fails.
    """
    if getattr(function, "__name__", "") != "<lambda>":
        return function
    return tf.autograph.experimental.do_not_convert(function)
