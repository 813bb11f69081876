"""What `group_views` can see of a mistake before it reads an example."""

import inspect
import operator

import keras
import tensorflow as tf


def check_count(name: str, value, minimum: int | None) -> int:
    """Returns `value` as an int; raises if it is none or below `minimum`."""
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(
            f"`{name}` must be an integer. Received: {name}={value!r}"
        ) from None
    if minimum is not None and count < minimum:
        raise ValueError(
            f"`{name}` must be at least {minimum}. Received: {name}={value}"
        )
    return count


def check_augment(augment) -> None:
    """Raises unless `augment` can be called with images and seeds."""
    if isinstance(augment, keras.Layer) or not callable(augment):
        raise TypeError(
            "`augment` must be an augmentation of groups, such as "
            "`crop_and_flip()` or `per_view(layer)`. "
            f"Received: augment={augment!r}"
        )
    try:
        inspect.signature(augment).bind(None, None)
    except TypeError:
        raise TypeError(
            "`augment` must take a batch of images and the seeds of their "
            "views; lift a function of one image with `per_view`. "
            f"Received: augment={augment!r}"
        ) from None
    except ValueError:  # a builtin that does not say what it takes
        return


def check_elements(dataset) -> None:
    """Raises unless elements are (x, y) or (x, y, sample_weight), unbatched."""
    if not isinstance(dataset, tf.data.Dataset):
        raise TypeError(
            "`dataset` must be a tf.data.Dataset of single examples; arrays "
            "become one by tf.data.Dataset.from_tensor_slices((x, y)). "
            f"Received: dataset of type {type(dataset).__name__}"
        )
    spec = dataset.element_spec
    if not isinstance(spec, tuple) or len(spec) not in (2, 3):
        raise ValueError(
            "`dataset` must yield (x, y) or (x, y, sample_weight), as "
            "tfds.load does with as_supervised=True. "
            f"Received: element_spec={spec}"
        )
    for path, part in zip(("x", "y", "sample_weight"), spec, strict=False):
        for leaf in tf.nest.flatten(part):
            _check_leaf(path, leaf)
    if len(spec) == 3 and (
        not isinstance(spec[2], tf.TensorSpec) or spec[2].shape.rank != 0
    ):
        raise ValueError(
            "`sample_weight` must be one number per example, of shape (). "
            f"Received: sample_weight with {spec[2]}"
        )


def _check_leaf(path, leaf):
    if not isinstance(leaf, tf.TensorSpec):
        raise ValueError(
            f"`{path}` must be dense tensors: a group has the same shape for "
            f"every example. Received: {path} with {leaf}"
        )
    if leaf.dtype == tf.string:
        raise TypeError(
            f"`{path}` must be numbers; encode strings first, labels for "
            "instance with keras.layers.StringLookup. "
            f"Received: {path} with {leaf}"
        )
    if path == "x" and not leaf.shape.is_fully_defined():
        raise ValueError(
            "`x` must have one known shape for all examples: unbatch a dataset "
            "of batches, resize images of varying size, or state the shape "
            "with tf.ensure_shape. "
            f"Received: x with {leaf}"
        )


def count_batches(examples: int, batch_size: int, drop_remainder: bool) -> int:
    """Returns how many batches there are; a negative cardinality stays.

    Raises:
        ValueError: If there would be none.
    """
    if examples == 0:
        raise ValueError("`dataset` must not be empty. Received: 0 examples")
    if drop_remainder and 0 < examples < batch_size:
        raise ValueError(
            "`batch_size` must not exceed the number of examples while "
            "`drop_remainder` is True: there would be no batch. "
            f"Received: batch_size={batch_size}, {examples} examples"
        )
    if examples < 0:
        return examples
    return (
        examples // batch_size if drop_remainder else -(-examples // batch_size)
    )


def check_views(original, views, num_views: int) -> None:
    """Raises unless `views` are `num_views` versions of each `original`.

    A nest of (batch, num_views, ...) for one of (batch, ...).
    """
    try:
        tf.nest.assert_same_structure(original, views)
    except (TypeError, ValueError):
        raise ValueError(
            "`augment` must return the structure that it gets. "
            f"Received: {views} for {original}"
        ) from None
    for one, many in zip(
        tf.nest.flatten(original), tf.nest.flatten(views), strict=True
    ):
        expected = one.shape[:1] + [num_views] + one.shape[1:]
        if not many.shape.is_compatible_with(expected):
            raise ValueError(
                "`augment` must map images (batch, ...) and seeds "
                "(batch, views, 2) to views (batch, views, ...) of the shape "
                "of the original, which is a view as well: bring the images "
                "to their final size before, in `dataset`. To lift a layer or "
                "a function of one image, use `per_view`. "
                f"Expected: {expected}. Received: {many.shape}"
            )
        if one.dtype != many.dtype and not (
            one.dtype.is_integer and many.dtype.is_floating
        ):
            raise ValueError(
                "`augment` must keep the dtype of the original, which is a "
                "view as well, or turn integers into floats. "
                f"Received: {many.dtype.name} for {one.dtype.name}"
            )


def check_postprocessed(views, num_views: int) -> None:
    """Raises unless `views` are still (batch, num_views, ...)."""
    for leaf in tf.nest.flatten(views):
        if leaf.shape.rank is not None and (
            leaf.shape.rank < 2 or leaf.shape[1] not in (None, num_views)
        ):
            raise ValueError(
                "`postprocess` must return views (batch, num_views, ...), "
                f"here with num_views={num_views}. Received: {leaf.shape}"
            )
