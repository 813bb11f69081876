"""The methods of a comparison: compiled models, and batches of plain views."""

import contextlib
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np

from keras_mmel import contract
from keras_mmel.mmel_model import MMELModel
from keras_mmel.objectives import Objective
from keras_mmel.objectives import get
from keras_mmel.tasks.nests import take
from keras_mmel.training import replicas
from keras_mmel.training.wrapped import own_methods

PLAIN = "plain"
_SET_AFTERWARDS = (
    "optimizer",
    "run_eagerly",
    "steps_per_execution",
    "jit_compile",
)


def named_methods(
    objectives: Objective | str | Iterable[Any] | Mapping[str, Any], plain: bool
) -> dict[str, Any]:
    """Gives every method its name.

    Args:
        objectives: One objective or several, as `compare` takes them.
        plain: Whether plain training is one more method.

    Returns:
        From the name of each method to an objective or its name, a function
        that wraps a model, or None for plain training.

    Raises:
        ValueError: If an objective is unknown, or one is called "plain".
    """
    if isinstance(objectives, (str, Objective)):
        objectives = [objectives]
    if not isinstance(objectives, Mapping):
        objectives = {
            one if isinstance(one, str) else repr(get(one)): one
            for one in objectives
        }
    for objective in objectives.values():
        if not callable(objective):
            get(objective)
    if PLAIN in objectives:
        raise ValueError(
            f"`objectives` must name none {PLAIN!r}, which `plain=True` adds. "
            f"Received: {list(objectives)}"
        )
    return {**objectives, PLAIN: None} if plain else {**objectives}


def model_of(model: Any, objective: Any) -> keras.Model:
    """The model of a method, compiled like the one that it is made from.

    Args:
        model: A compiled model of one process.
        objective: From `named_methods`.

    Returns:
        An `MMELModel` around the model; for plain training, the model itself.

    Raises:
        ValueError: If the model is not compiled, belongs to several workers,
            or overrides a step of Keras's trainer.
    """
    if not getattr(model, "compiled", False):
        raise ValueError(
            "`make_model` must give a compiled model: the optimizer, loss and "
            f"metrics of all methods. Received: {model!r}"
        )
    own = own_methods(model)
    if own:
        raise ValueError(
            "`make_model` must give a model that Keras trains by its own "
            f"methods. Received: {type(model).__name__} with {own} of its own"
        )
    strategy = getattr(model, "distribute_strategy", None)
    if strategy and replicas.has_workers(strategy):
        raise ValueError(
            "`make_model` must give a model of one process: let each have its "
            f"`seeds`, all one `records`. Received: {type(strategy).__name__}"
        )
    if objective is None:
        return model
    # As the user compiled it: what Keras made of that keeps states. But for the
    # optimizer, which the policy of a model may wrap, and for what may be set
    # on the model afterwards.
    arguments = dict(model._compile_config.config)
    for name in _SET_AFTERWARDS:
        arguments[name] = getattr(model, name)
    with strategy.scope() if strategy else contextlib.nullcontext():
        if isinstance(objective, (str, Objective)):
            wrapper = MMELModel(model, objective)
        else:
            wrapper = objective(model)
        if not isinstance(wrapper, MMELModel) or wrapper.compiled:
            raise TypeError(
                "A function in `objectives` must wrap the model in an "
                "`MMELModel` and leave `compile` to `compare`: all methods "
                "have the optimizer and loss of `make_model`. "
                f"Received: {wrapper!r}"
            )
        wrapper.compile(**arguments)
    return wrapper


def plain_arrays(
    x: Any, y: Any, weight: Any, seed: int
) -> tuple[Any, Any, Any]:
    """Makes plain examples of groups in arrays: every view is one.

    In the place of padding stands another view of its group, so that all
    groups have as many.

    Args:
        x: The groups of all examples.
        y: Their labels.
        weight: A weight for each example, or None.
        seed: Of the choice of what stands in the place of padding.

    Returns:
        Views, labels and weights, (examples * views, ...). With weights, the
        views are groups of one.
    """
    mask = contract.mask_of(x)
    count, views = mask.shape
    chance = np.random.default_rng(seed).random((count, views, views))
    others = np.argmax(chance * mask[:, None, :], axis=2)
    chosen = np.where(mask, np.arange(views), others)
    rows = np.repeat(np.arange(count), views)
    of_views = rows, chosen.ravel()

    views = take(x["views"], of_views)
    labels = contract.split_labels(y)
    label = take(labels.label, rows)
    if labels.of_views is not None:
        label = take(labels.of_views, of_views)
    return _weighted(views, weight), label, take(weight, rows)


def plain_batches(groups: Any, seed: int) -> Any:
    """Makes batches of single views that cost what batches of groups cost.

    A batch of b groups of k views becomes b * k plain examples: one view of
    each of b groups, from k passes, each with new views. Padding views are not
    chosen.

    Args:
        groups: A `tf.data.Dataset` of batches of b groups of k views, which
            makes new views in every pass.
        seed: Of the choice of the view of each group.

    Returns:
        Endless batches of b * k plain examples. With weights, they are groups
        of one view.

    Raises:
        ValueError: If b or k is not known.

    Example:

    ```python
    x, y = next(iter(plain_batches(groups, seed=0)))  # groups: 16 of 5 views
    x.shape  # (80, ...)
    ```
    """
    import tensorflow as tf

    x = groups.element_spec[0]
    size, views = keras.tree.flatten(x["views"])[0].shape[:2]
    if size is None or views is None:
        raise ValueError(
            "Plain training needs batches of a known size: make the groups "
            f"with `drop_remainder=True`, or give `plain=False`. Received: {x}"
        )

    # TensorFlow's operations, whatever the backend: it runs in tf.data.
    def choose(number, batch):
        x, y, weight = keras.utils.unpack_x_y_sample_weight(batch)
        key = tf.stack([tf.constant(seed, tf.int64), number])
        chance = tf.random.stateless_uniform((size, views), key)
        if x.get("mask") is not None:
            chance = tf.where(tf.cast(x["mask"], tf.bool), chance, -1.0)
        chosen = tf.argmax(chance, axis=1)

        def single(views):
            return tf.nest.map_structure(
                lambda t: tf.gather(t, chosen, axis=1, batch_dims=1), views
            )

        single_views, labels = single(x["views"]), contract.split_labels(y)
        label = labels.label
        if labels.of_views is not None:
            label = single(labels.of_views)
        single_views = _weighted(single_views, weight)
        return keras.utils.pack_x_y_sample_weight(single_views, label, weight)

    examples = groups.repeat().enumerate().map(choose).unbatch()
    # Padded, since texts of several batches differ in length.
    plain = examples.padded_batch(size * views, drop_remainder=True)
    return plain.prefetch(2)


def _weighted(views, weight):
    """Examples, or groups of one view where they have weights.

    Plain Keras multiplies a weight of examples with losses of pixels or tokens
    along their last axis, or fails.
    """
    if weight is None:
        return views
    return {"views": keras.tree.map_structure(lambda t: t[:, None], views)}
