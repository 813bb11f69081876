"""Chance that no seed of a view controls, and how it is found."""

import itertools
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np

# Operations that draw from, or change, a state outside the function. What a
# function of Python does cannot be seen: its `stateful` says it.
_STATEFUL = re.compile(
    r"Random|Multinomial|TruncatedNormal|ParameterizedTruncatedNormal|Rng"
    r"|SampleDistortedBoundingBox|Stateful(?!PartitionedCall)|Assign"
    r"|(Eager)?PyFunc$"
)

# Graphs that must agree before they are believed.
_TRACES = 3


def checked(given: Any, make: Callable, *specs: Any) -> Any:
    """Returns the concrete function of `make()`, a new `tf.function`.

    Raises:
        ValueError: If `given`, which it runs, draws without a seed.
    """
    before = _global_random_state()
    made = [make().get_concrete_function(*specs) for _ in range(_TRACES)]
    graphs = [one.graph.as_graph_def() for one in made]
    # Numbers of Python are constants of the graph.
    alike = len({_constants(graph) for graph in graphs}) == 1
    if not alike or _global_random_state() != before:
        raise ValueError(
            "What makes views must not draw from Python's `random` or "
            "`numpy.random`: they are asked once, when the graph is made, and "
            "all views would share the answer. Draw with tf.random.stateless_* "
            "from the seed, or with NumPy in `per_view(f)` of f(image, rng). "
            f"Received: {given!r}"
        )
    stateful = sorted(
        {node.op for node in _nodes(graphs[0]) if _STATEFUL.match(node.op)}
    )
    if stateful:
        raise ValueError(
            "What makes views must draw its numbers from the seed of the view, "
            "or views could not be repeated: with tf.random.stateless_* in "
            "`per_view(f)` of f(image, seed); with NumPy, also in place of "
            "tf.numpy_function and tf.py_function, in `per_view(f)` of "
            "f(image, rng); or by `per_view(layer)`. "
            f"Received: {given!r} with operations {stateful}"
        )
    return made[0]


def _global_random_state():
    """What Python's and NumPy's shared generators will draw next."""
    numpy_state = np.random.get_state(legacy=False)["state"]
    return random.getstate(), numpy_state["pos"], numpy_state["key"].tobytes()


def _nodes(graph):
    """All operations of a graph and of the functions in it."""
    functions = (function.node_def for function in graph.library.function)
    return itertools.chain(graph.node, *functions)


def _constants(graph):
    """The constants in a graph, whatever its functions are called."""
    found = [node for node in _nodes(graph) if node.op == "Const"]
    return tuple(sorted(n.attr["value"].SerializeToString() for n in found))
