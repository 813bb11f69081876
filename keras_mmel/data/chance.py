"""Chance that no seed of a view controls, and how it is found."""

import itertools
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

# Operations that draw from, or change, a state outside the function. What a
# function of Python does cannot be seen: its `stateful` says it.
_STATEFUL = re.compile(
    r"Random|Multinomial|TruncatedNormal|ParameterizedTruncatedNormal|Rng"
    r"|SampleDistortedBoundingBox|Stateful(?!PartitionedCall)|Assign"
    r"|(Eager)?PyFunc$"
)


def traced(augment: Any, trace: Callable, *args: Any) -> Any:
    """Returns `trace(*args)`, a concrete function or a part of the graph.

    Raises:
        ValueError: If `augment`, which is traced, draws without a seed.
    """
    before = _global_random_state()
    made = trace(*args)
    if _global_random_state() != before:
        raise ValueError(
            "An augmentation must not draw from Python's `random` or "
            "`numpy.random`: they are asked once, when the graph is made, and "
            "all views would share the answer. Draw with tf.random.stateless_* "
            "from the seed, or with NumPy in `per_view(f)` of f(image, rng). "
            f"Received: {augment!r}"
        )
    graph = getattr(made, "graph", None) or tf.compat.v1.get_default_graph()
    stateful = _stateful_operations(graph.as_graph_def())
    if stateful:
        raise ValueError(
            "An augmentation must draw its numbers from the seed of the view, "
            "or views could not be repeated: with tf.random.stateless_* in "
            "`per_view(f)` of f(image, seed); with NumPy, also in place of "
            "tf.numpy_function and tf.py_function, in `per_view(f)` of "
            "f(image, rng); or by `per_view(layer)`. "
            f"Received: {augment!r} with operations {stateful}"
        )
    return made


def _global_random_state():
    """What Python's and NumPy's shared generators will draw next."""
    numpy_state = np.random.get_state(legacy=False)["state"]
    return random.getstate(), numpy_state["pos"], numpy_state["key"].tobytes()


def _stateful_operations(graph):
    """The operations of a graph that no view seed controls."""
    functions = (function.node_def for function in graph.library.function)
    nodes = itertools.chain(graph.node, *functions)
    return sorted({node.op for node in nodes if _STATEFUL.match(node.op)})
