"""What a task does to views and examples before its model is called.

keras-hub's tasks have a preprocessor, which their `fit`, `evaluate` and
`predict` run and their call does not. Nothing here needs keras-hub: a task is
known by its `preprocess_samples`.
"""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from keras_mmel import arrays
from keras_mmel import contract
from keras_mmel.tasks import nests

# Groups or examples of arrays that are prepared at once.
_AT_ONCE = 256
_DATA = ("x", "y", "sample_weight")


def preprocess_of(model: Any) -> Callable | None:
    """How a model prepares `(x, y, sample_weight)` before it is called.

    Args:
        model: A task, a wrapper around one, or any other model.

    Returns:
        The function, or None where nothing is to be done.

    Example:

    ```python
    preprocess_of(task) is None  # whether `task.preprocessor` is None
    ```
    """
    if getattr(model, "preprocessor", True) is None:
        return None
    return getattr(model, "preprocess_samples", None)


def prepare(
    model: Any, x: Any, y: Any = None, sample_weight: Any = None
) -> tuple[Any, Any, Any]:
    """Prepares groups or plain examples as the task does.

    The views of a group are prepared like examples, each by itself.

    Args:
        model: A task, a wrapper around one, or any other model, whose data are
            returned as they are.
        x: Groups or plain examples, as arrays or lists (strings too; a tuple
            or a dict of them are several inputs), or a `tf.data.Dataset`.
        y: Labels, where x is no dataset.
        sample_weight: Weights, where x is no dataset.

    Returns:
        `(x, y, sample_weight)`: NumPy arrays, or a dataset.

    Raises:
        TypeError: If x is neither arrays nor a `tf.data.Dataset`.
        ValueError: If x is no batch of examples, or numbers for a preprocessor
            of texts, or it makes labels of its own.

    Example:

    ```python
    x, y, _ = prepare(task, {"views": images}, labels)
    ```
    """
    check_texts(model, x)
    preprocess = preprocess_of(model)
    if preprocess is None or x is None:
        return x, y, sample_weight
    if hasattr(x, "element_spec") and hasattr(x, "map"):
        return _prepared_dataset(preprocess, x), y, sample_weight

    # In Python, not in a graph, which takes seconds to trace for a tokenizer.
    def call(x, y, sample_weight):
        data = preprocess(nests.map_arrays(_for_python, x), y, sample_weight)
        prepared = keras.utils.unpack_x_y_sample_weight(data)
        return nests.map_arrays(arrays.to_numpy, prepared)

    data = tuple(map(as_arrays, (x, y, sample_weight)))
    parts = [_prepared(call, *part) for part in nests.slices(data, _AT_ONCE)]
    return nests.map_arrays(lambda *leaves: np.concatenate(leaves), *parts)


def check_texts(model: Any, x: Any) -> None:
    """Raises ValueError for token ids where texts belong, or the other way.

    Args:
        model: A task with a tokenizer in its preprocessor takes texts; a model
            of `keras_mmel.text`, which has its tokenizer, takes token ids.
        x: As of `prepare`.
    """
    task = getattr(model, "model", model)
    preprocessor = getattr(task, "preprocessor", None)
    takes_texts = getattr(preprocessor, "tokenizer", None) is not None
    takes_ids = getattr(task, "tokenizer", None) is not None
    inputs = getattr(x, "element_spec", x)
    if inputs is not x and isinstance(inputs, tuple):
        inputs = inputs[0]
    for leaf in keras.tree.flatten(inputs):
        dtype = getattr(leaf, "dtype", None)
        name = "str" if isinstance(leaf, str) else getattr(dtype, "name", "")
        if takes_texts and name.startswith(("int", "float")):
            raise ValueError(
                f"{type(task).__name__} encodes texts itself: give it strings, "
                "as of `text.read_augmented(..., as_text=True)`, or set "
                "`model.preprocessor = None` for token ids. "
                f"Received: x of {name}"
            )
        if takes_ids and name.startswith(("str", "bytes", "object")):
            raise ValueError(
                f"{type(task).__name__} takes token ids: `text.read_plain` and "
                "`text.read_augmented` make them of texts, and "
                "`text.export_text_classifier` a model that takes strings. "
                f"Received: x of {name}"
            )


def prepare_arguments(model: Any, arguments: dict) -> None:
    """Prepares, in place, what a method of Keras's trainer is given.

    Args:
        model: As of `prepare`.
        arguments: Arguments of `fit`, `evaluate`, `predict` or their like, by
            name.
    """
    if preprocess_of(model) is None:
        check_texts(model, arguments.get("x"))
        if contract.is_group(arguments.get("x")):
            arguments["x"] = nests.map_arrays(_as_strings, arguments["x"])
        return
    prepared = prepare(model, *map(arguments.get, _DATA))
    arguments.update(zip(_DATA, prepared, strict=True))
    held_out = arguments.get("validation_data")
    if held_out is not None:
        data = keras.utils.unpack_x_y_sample_weight(held_out)
        arguments["validation_data"] = prepare(model, *data)


def _prepared_dataset(preprocess, dataset):
    import tensorflow as tf

    def call(*data):
        return keras.utils.unpack_x_y_sample_weight(preprocess(*data))

    @tf.autograph.experimental.do_not_convert
    def prepared(*batch):
        data = keras.utils.unpack_x_y_sample_weight(batch)
        return keras.utils.pack_x_y_sample_weight(*_prepared(call, *data))

    return dataset.map(prepared, tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


def _prepared(call, x, y, sample_weight):
    """A batch of plain examples or of groups: of arrays, or in a graph."""
    if not contract.is_group(x):
        return call(x, y, sample_weight)
    import tensorflow as tf  # which keras-hub needs, whatever the backend

    contract.check_groups(x)
    first = keras.tree.flatten(x["views"])[0]
    views = first.shape[1] or tf.shape(first)[1]

    def flat(leaf):
        return tf.reshape(leaf, tf.concat([[-1], tf.shape(leaf)[2:]], 0))

    def grouped(rows):
        sizes = tf.concat([[-1, views], tf.shape(rows)[1:]], 0)
        # A tokenizer forgets how many texts it was given.
        known = [*first.shape[:2], *rows.shape[1:]]
        return tf.ensure_shape(tf.reshape(rows, sizes), known)

    moving = contract.is_group(y)
    if moving:
        y = keras.tree.map_structure(flat, y["views"])
    views_as_rows = keras.tree.map_structure(flat, x["views"])
    rows, y, weight = call(views_as_rows, y, sample_weight)
    if sample_weight is None and weight is not None:
        raise ValueError(
            "The preprocessor of the model makes labels of its own. Set "
            "`model.preprocessor = None`. Received: sample weights from it"
        )
    x = x | {"views": keras.tree.map_structure(grouped, rows)}
    if moving:
        y = {"views": keras.tree.map_structure(grouped, y)}
    return x, y, weight


def as_arrays(nest: Any) -> Any:
    """NumPy arrays; as in keras-hub, a list is one of them and a tuple many."""
    if nest is None:
        return None
    if isinstance(nest, dict):
        return {name: as_arrays(value) for name, value in nest.items()}
    if isinstance(nest, tuple):
        return tuple(map(as_arrays, nest))
    is_array = isinstance(nest, list) or hasattr(nest, "shape")
    array = np.asarray(nest) if is_array else np.empty(0)
    if not array.ndim or not array.size:
        raise TypeError(
            "For a model with a preprocessor data must be arrays or lists of "
            f"examples, or a `tf.data.Dataset`. Received: {type(nest).__name__}"
        )
    return array


def _as_strings(leaf):
    """A tensor for texts of NumPy, of which Keras takes one axis alone."""
    if not isinstance(leaf, np.ndarray) or leaf.dtype.kind not in "OSU":
        return leaf
    import tensorflow as tf

    return tf.constant(leaf)


def _for_python(leaf):
    """What a preprocessor takes outside of a graph as it takes it within."""
    leaf = np.asarray(leaf)
    if leaf.dtype.kind in "OSU":
        return DECODED(leaf).tolist()
    # keras-hub rounds whole numbers again after it resized them, in a graph it
    # does not.
    is_picture = leaf.dtype.kind in "iu" and leaf.ndim > 3
    return leaf.astype("float32") if is_picture else leaf


# Arrays of strings, where TensorFlow has bytes.
DECODED = np.frompyfunc(
    lambda text: text.decode() if isinstance(text, bytes) else text, 1, 1
)
