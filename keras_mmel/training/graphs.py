"""Graphs of TensorFlow that would outlive their model."""

import contextlib
import weakref
from collections.abc import Iterator

import keras
from tensorflow.python.framework import ops as tf_ops


@contextlib.contextmanager
def freed_with(model: keras.Model) -> Iterator[None]:
    """Lets the memory of the weights go when `model` goes.

    The optimizers of Keras use `tf.custom_gradient`, which enters its function
    into a registry of TensorFlow for good, and with it the graph of `fit` and
    all weights in it (Keras issue 17458): more than a gigabyte for
    each run of a BERT. What is entered within the block leaves the registry
    together with the model.

    Args:
        model: The model that is trained and evaluated within the block.

    Yields:
        Nothing.

    Example:

    ```python
    for seed in range(5):
        model = make_model(seed)
        with freed_with(model):
            model.fit(groups)
    ```
    """
    # There is no public way to take a name out again.
    gradients = tf_ops.gradient_registry._registry
    before = set(gradients)
    try:
        yield
    finally:
        for name in gradients.keys() - before:
            # What else TensorFlow registers meanwhile is not the model's.
            if name.startswith("CustomGradient-"):
                weakref.finalize(model, gradients.pop, name, None)
