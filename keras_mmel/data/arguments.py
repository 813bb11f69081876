"""What `group_views` can see of a mistake before it reads an example."""

import warnings
from typing import Any

import keras
import tensorflow as tf

# Red, green, blue and transparency.
_MOST_COLORS = 4

# Layers whose views could not be told apart by their seeds, and why.
_REFUSED = {
    keras.layers.MixUp: "mixes the images of a batch",
    keras.layers.CutMix: "mixes the images of a batch",
    keras.layers.AugMix: "chooses by Python's `random`, once for all views",
}


def check_augment(augment) -> None:
    """Raises unless `augment` is a function, and no layer of one image."""
    if isinstance(augment, keras.Layer) or not callable(augment):
        raise TypeError(
            "`augment` must be an augmentation of groups, such as "
            f"`per_view(layer)`. Received: augment={augment!r}"
        )


def check_elements(dataset: Any, augment_labels: bool | None = False) -> None:
    """Raises unless elements are (x, y) or (x, y, sample_weight), unbatched.

    Args:
        dataset: A `tf.data.Dataset`.
        augment_labels: Whether labels move with the views. With None, those
            that look as if they had to are warned of.

    Raises:
        TypeError: If it is none.
        ValueError: If its elements are others, or of no known shape.
    """
    if not isinstance(dataset, tf.data.Dataset):
        raise TypeError(
            "`dataset` must be a tf.data.Dataset of single examples; arrays "
            "become one by tf.data.Dataset.from_tensor_slices((x, y)). "
            f"Received: dataset of type {type(dataset).__name__}"
        )
    spec = dataset.element_spec
    if not isinstance(spec, tuple) or len(spec) not in (2, 3):
        raise ValueError(
            "`dataset` must yield (x, y) or (x, y, sample_weight), as tfds "
            f"does with as_supervised=True. Received: element_spec={spec}"
        )
    for leaf in tf.nest.flatten(spec[0]):
        if not leaf.shape.is_fully_defined():
            raise ValueError(
                "`x` must have one known shape for all examples. Of a dataset "
                "of batches, take the examples: batch_size=None in "
                "image_dataset_from_directory, or dataset.unbatch() with "
                "`shuffle_buffer` here. Else resize images, or state the shape "
                f"with tf.ensure_shape. Received: x with {leaf}"
            )

    for label in tf.nest.flatten(spec[1]):
        images = [leaf.shape for leaf in tf.nest.flatten(spec[0])]
        sizes = [shape[:2] for shape in images if shape.rank == 3]
        is_mask = label.shape.rank in (2, 3) and label.shape[:2] in sizes
        if is_mask and augment_labels is None:
            warnings.warn(
                "A label with the height and width of the image stays as it "
                "is when its views are made: where these move pixels, it is "
                "wrong. With `augment_labels=True` labels move with the views; "
                "`augment_labels=False` says that they need not. "
                f"Received: y with {label}",
                stacklevel=3,
            )


def check_pair(views: Any) -> tuple:
    """Returns what is a pair, the views of x and of y, or raises ValueError."""
    if isinstance(views, (tuple, list)) and len(views) == 2:
        return tuple(views)
    raise ValueError(
        "Where `augment_labels` is True, what makes views must give both, "
        f"(image, label). Received: {views}"
    )


def check_structure(inputs: Any, views: Any) -> None:
    """Raises ValueError unless views are a nest like that of the examples.

    Args:
        inputs: An example, a batch of them, or the `tf.TensorSpec`s of one.
        views: What was made of them.
    """
    try:
        tf.nest.assert_same_structure(inputs, views)
        # None is a leaf like any other.
        is_whole = all(leaf is not None for leaf in tf.nest.flatten(views))
    except (TypeError, ValueError):
        is_whole = False
    if not is_whole:
        raise ValueError(
            "What makes views must return what it takes, a tensor for a tensor "
            "and a dict for a dict of the same keys. "
            f"Received: {views} for {inputs}"
        )


def check_label(label: tf.Tensor, of_views: tf.Tensor) -> None:
    """Raises ValueError unless a label keeps its dtype.

    Classes that became fractions would be cut to other classes.

    Args:
        label: Of an example, or of a batch.
        of_views: What was made of it.
    """
    if label.dtype != of_views.dtype:
        raise ValueError(
            "Labels that move with the views must keep their dtype: move "
            "classes without interpolation, and cast them. "
            f"Received: {of_views.dtype.name} for {label.dtype.name}"
        )


def check_same_order(dataset: tf.data.Dataset) -> None:
    """Raises where `dataset` is shuffled anew in every pass."""
    stages = [dataset]
    while stages:
        stage = stages.pop()
        if getattr(stage, "_reshuffle_each_iteration", False):
            raise ValueError(
                "`pool` needs a `dataset` of one order in all passes. Leave "
                "out what shuffles it, as shuffle=False does in "
                "image_dataset_from_directory, or give that "
                "`reshuffle_each_iteration=False`; `group_views` shuffles. "
                f"Received: a {type(stage).__name__} that reshuffles"
            )
        # What comes out of a cache stays as it was in the first pass.
        if "Cache" not in type(stage).__name__:
            stages += stage._inputs()


def count_batches(examples: int, batch_size: int, drop_remainder: bool) -> int:
    """Returns how many batches a pass has.

    Args:
        examples: How many examples it has; negative if unknown or infinite, as
            in `tf.data`.
        batch_size: Examples in a batch.
        drop_remainder: Whether a last batch that is not full is left out.

    Returns:
        The number of batches, or `examples` where that is negative.

    Raises:
        ValueError: If there would be none.
    """
    if examples < 0:
        return examples
    num_batches = examples // batch_size
    if not drop_remainder and examples % batch_size:
        num_batches += 1
    if num_batches == 0:
        raise ValueError(
            "`dataset` must not be empty, and with `drop_remainder=True` not "
            "smaller than `batch_size`: there would be no batch. "
            f"Received: batch_size={batch_size}, {examples} examples"
        )
    return num_batches


def single_images(
    function: str, images: Any, margin: str, pixels: int
) -> tf.Tensor:
    """Returns a batch of images as a tensor, or raises.

    Args:
        function: What was given them, for the message.
        images: (batch, height, width, channels).
        margin: The argument that says by how much they move.
        pixels: Its value.

    Returns:
        The images.

    Raises:
        ValueError: If they have another rank, are a nest, have their channels
            first, or are so small that nothing might be left of them.
    """
    shape: Any = getattr(images, "shape", ())
    is_image = len(shape) == 4 and pixels < min(shape[1:3])
    # So few rows of so many channels are an image with its channels first.
    if not is_image or shape[1] <= _MOST_COLORS < shape[-1]:
        raise ValueError(
            f"`{function}` must get single images (height, width, channels), "
            f"larger than `{margin}`: unbatch a dataset of batches, give gray "
            "images a channel, image[..., None], and put channels last. "
            f"Received: {margin}={pixels}, {type(images).__name__} "
            f"{tuple(shape[1:])}"
        )
    return tf.convert_to_tensor(images)


def check_view(original: tf.Tensor, views: tf.Tensor, num_views: int) -> None:
    """Raises unless `views` are `num_views` versions of each `original`.

    Args:
        original: (batch, ...).
        views: What `augment` made of it; (batch, num_views, ...) is allowed,
            of its dtype, or of floats where the original is of integers.
        num_views: How many views `augment` was to make.

    Raises:
        ValueError: If the shape or the dtype is another.
    """
    expected = original.shape[:1] + [num_views] + original.shape[1:]
    if not views.shape.is_compatible_with(expected):
        raise ValueError(
            "`augment` must map images (batch, ...), or images and labels, and "
            "seeds (batch, views, 2) to views (batch, views, ...) of the shape "
            "of the original: resize in `dataset`, and lift a layer or a "
            "function of one image by `per_view`. "
            f"Expected: {expected}. Received: {views.shape}"
        )
    to_floats = original.dtype.is_integer and views.dtype.is_floating
    if original.dtype != views.dtype and not to_floats:
        raise ValueError(
            "`augment` must keep the dtype, or turn integers into floats. "
            f"Received: {views.dtype.name} for {original.dtype.name}"
        )


def check_postprocessed(views, num_views: int) -> None:
    """Raises unless `views` are still (batch, num_views, ...).

    Args:
        views: What `postprocess` returned, a tensor or a nest of them.
        num_views: Size of a group.

    Raises:
        ValueError: If a leaf has another shape, as far as it is known.
    """
    for leaf in tf.nest.flatten(views):
        if leaf.shape.rank is not None and (
            leaf.shape.rank < 2 or leaf.shape[1] not in (None, num_views)
        ):
            raise ValueError(
                "`postprocess` must return views (batch, num_views, ...), "
                f"here with num_views={num_views}. Received: {leaf.shape}"
            )


def refuse_mixing(argument: str, layer: keras.Layer) -> None:
    """Raises ValueError where a layer mixes what views should not share.

    Args:
        argument: What the layer was given as, for the message.
        layer: Any layer, with those inside it.

    Raises:
        ValueError: If it mixes images, or draws once for all views.
    """
    for sublayer in layer._flatten_layers():
        for refused, reason in _REFUSED.items():
            if isinstance(sublayer, refused):
                raise ValueError(
                    f"`{argument}` must augment one image at a time, from the "
                    f"seed of the view, and {type(sublayer).__name__} "
                    f"{reason}: take one that keeps images apart. "
                    f"Received: {argument}={layer!r}"
                )
