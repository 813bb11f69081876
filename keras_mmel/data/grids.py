"""Groups of fixed transformations, to score a model on."""

from collections.abc import Callable
from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf

from keras_mmel.counts import check_count
from keras_mmel.data import arguments
from keras_mmel.data import chance
from keras_mmel.data.lifting import PerView


def grid_views(
    dataset: tf.data.Dataset,
    transformations: Sequence[Callable],
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
            draws from a range of one number, is one too.
        batch_size: Groups per batch; the last batch may have fewer.
        augment_labels: Whether labels move with the views: transformations
            then take x and y of one example and give both, and y becomes
            `{"views": y}`. With `None` labels are shared by the views, and
            those with the height and width of an image are warned of; `False`
            says that they stay right.

    Returns:
        A `tf.data.Dataset` in the data contract, in the order of `dataset`.

    Raises:
        TypeError: If `dataset` is no `tf.data.Dataset`, or a layer is to move
            labels.
        ValueError: If there is no transformation, one draws by chance, or one
            changes the shape, or the dtype of labels.

    Example:

    ```python
    turned = [keras.layers.RandomRotation((a, a)) for a in (-0.1, 0.1)]
    groups = keras_mmel.data.grid_views(examples, turned, batch_size=64)
    mmel.evaluate_views(groups)["worst_accuracy"]
    ```
    """
    batch_size = check_count("batch_size", batch_size, 1)
    arguments.check_elements(dataset, augment_labels)
    transformations = list(transformations)
    if not transformations:
        raise ValueError(
            "`transformations` must hold at least one function. Received: none"
        )
    augmented = 2 if augment_labels else 1  # x and y, or x alone
    for transform in transformations:
        if augment_labels and isinstance(transform, (keras.Layer, PerView)):
            raise TypeError(
                "With `augment_labels`, `transformations` must be functions "
                "f(image, label) that give both, without chance: layers and "
                f"`per_view` are for `group_views`. Received: {transform}"
            )
        chance.check_fixed(transform, *dataset.element_spec[:augmented])

    def to_group(*example):
        inputs, rest = example[:augmented], example[augmented:]
        transformed = [transform(*inputs) for transform in transformations]
        if augment_labels:
            transformed = [arguments.check_pair(views) for views in transformed]
        else:
            transformed = [(views,) for views in transformed]
        for views in transformed:
            arguments.check_labels_of_views(inputs[1:], views[1:])

        # A leaf of x, and what each transformation made of that leaf.
        def join(original, *views):
            for place, view in enumerate(views):
                if not original.shape.is_compatible_with(view.shape):
                    raise ValueError(
                        "A transformation must keep the shape of an example, "
                        f"{original.shape}. Received: {view.shape} from "
                        f"transformation {place}"
                    )
            leaves = [original, *views]
            dtype = _common_dtype([leaf.dtype for leaf in leaves])
            return tf.stack([tf.cast(leaf, dtype) for leaf in leaves])

        of_views = tf.nest.map_structure(join, inputs, *transformed)
        return *({"views": views} for views in of_views), *rest

    groups = dataset.map(to_group, tf.data.AUTOTUNE, deterministic=True)
    options = tf.data.Options()
    options.autotune.enabled = False  # as in `epochs.count_passes`
    groups = groups.batch(batch_size).prefetch(tf.data.AUTOTUNE)
    return groups.with_options(options)


def _common_dtype(dtypes):
    """What holds the values of all: floats, where there are any."""
    floats = [dtype for dtype in dtypes if dtype.is_floating]
    if floats:
        return max(floats, key=lambda dtype: dtype.size)
    return tf.as_dtype(np.result_type(*(d.as_numpy_dtype for d in dtypes)))
