"""Chance that no seed of a view controls, and how it is found.

A function of tensors is looked at through its graph (`trace_checked`,
`call_checked`), a function of arrays through what it returns (`try_checked`).
"""

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

# Graphs, and calls of a function of NumPy, that must agree before they are
# believed.
_TRACES = 3
_CALLS = 8


def trace_checked(source: Any, function: Callable, *specs: Any) -> Any:
    """Traces a function, and makes sure that it draws from its seeds alone.

    What Python or NumPy draws while a graph is made becomes a constant of the
    graph, so it is made several times and must come out the same.

    Args:
        source: What the function runs, for the message.
        function: From nests of tensors to one.
        *specs: The `tf.TensorSpec`s, or nests of them, that it is traced for.

    Returns:
        The concrete function.

    Raises:
        ValueError: If `source` draws without a seed.
    """
    traced, stateful = _traced(source, function, specs)
    if stateful:
        raise ValueError(
            "What makes views must draw its numbers from the seed of the view: "
            "with tf.random.stateless_* in `per_view(f)` of f(image, seed); "
            "with NumPy, also in place of tf.numpy_function, in `per_view(f)` "
            "of f(image, rng); or by `per_view(layer)`. "
            f"Received: {source!r} with operations {stateful}"
        )
    return traced


def check_fixed(function: Callable, *specs: Any) -> None:
    """Raises ValueError where a function does not always make the same.

    Args:
        function: From an example to one, or from x and y to both.
        *specs: The `tf.TensorSpec` of what it takes, or nests of them.

    Raises:
        ValueError: If it draws from Python or NumPy, or what it draws by other
            means makes a difference.
    """

    def call(*example):  # by a name that a graph can have
        return function(*example)

    # A layer may draw to be built, and where it is called first.
    tf.function(call).get_concrete_function(*specs)
    if not _traced(function, call, specs, traces=2)[1]:
        return
    # A layer may draw from a range of one number.
    example = tf.nest.map_structure(
        lambda leaf: tf.constant(_noise(leaf), leaf.dtype), specs
    )
    run = tf.function(call)
    results = [run(*example) for _ in range(2 * _CALLS)]
    if not _all_alike(results):
        raise ValueError(
            "`transformations` must make the same in every pass: give a layer "
            "a range of one number, as RandomRotation((0.1, 0.1)), a function "
            f"no generator. Received: {function!r}, which draws"
        )


def call_checked(function: Callable, *arguments: Any) -> Any:
    """Returns `function(*arguments)`, traced before as `trace_checked` does.

    Args:
        function: From nests of tensors to one.
        *arguments: Nests of tensors.

    Returns:
        What the function makes of them.

    Raises:
        ValueError: If the function draws without a seed.
    """
    specs = tf.nest.map_structure(tf.TensorSpec.from_tensor, arguments)

    @tf.autograph.experimental.do_not_convert
    def call(*inputs):
        return function(*inputs)

    # Not in the graph of the dataset, which is being made around it.
    with tf.init_scope():
        trace_checked(function, call, *specs)
    return function(*arguments)


def try_checked(source: Any, function: Callable, spec: Any) -> Any:
    """Calls a function of arrays on noise, with one generator again and again.

    Args:
        source: What the function runs, for the message.
        function: From an array, or a nest of them, and a `np.random.Generator`
            to one.
        spec: The `tf.TensorSpec` of the array, or a nest of them.

    Returns:
        What the function makes of noise from 0 to 1, or to 255 in integers.

    Raises:
        ValueError: If it makes different things with generators that are alike,
            or draws from those of Python or NumPy that all share.
    """
    array = tf.nest.map_structure(_noise, spec)
    results, states_after = [], set()
    for _ in range(_CALLS):
        results.append(function(array, np.random.default_rng(0)))
        # Not moved, or set by `rng`; else what is drawn may rarely matter.
        states_after.add(_global_random_state())
    if not _all_alike(results) or len(states_after) > 1:
        raise ValueError(
            "`layer_or_function` must draw all of its numbers from `rng`. "
            "A pipeline of albumentations takes its seed before each call, "
            "`pipeline.set_random_seed(int(rng.integers(2**31)))`. "
            f"Received: layer_or_function={source!r}"
        )
    return results[0]


def _traced(source, function, specs, traces=_TRACES):
    """A concrete function, and the operations in it that have a state."""
    state_before = _global_random_state()
    # A `tf.function` of its own for each: one would keep the first graph.
    traced = [
        tf.function(function).get_concrete_function(*specs)
        for _ in range(traces)
    ]
    graphs = [function.graph.as_graph_def() for function in traced]
    # Numbers of Python are constants of the graph.
    are_alike = len({_constants(graph) for graph in graphs}) == 1
    if not are_alike or _global_random_state() != state_before:
        raise ValueError(
            "What makes views must not draw from Python's `random` or "
            "`numpy.random`: all views would share the answer. Draw with "
            "tf.random.stateless_* from the seed, or with NumPy in "
            f"`per_view(f)` of f(image, rng). Received: {source!r}"
        )
    stateful = {n.op for n in _nodes(graphs[0]) if _STATEFUL.match(n.op)}
    return traced[0], sorted(stateful)


def _noise(leaf):
    """What stands for an example in a trial, from its `tf.TensorSpec`."""
    if leaf.dtype == tf.string:
        return np.full(leaf.shape, "a text")
    values = np.random.default_rng(0).random(leaf.shape)
    if leaf.shape.rank:
        values.sort(axis=-1)  # as the corners of a box have to be
    bound = 1 if leaf.dtype.is_floating else 256
    return (bound * values).astype(leaf.dtype.as_numpy_dtype)


def _all_alike(results):
    leaves = zip(*map(tf.nest.flatten, results), strict=True)
    return all(
        np.array_equal(leaf, first) for first, *rest in leaves for leaf in rest
    )


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
    values = [n.attr["value"] for n in _nodes(graph) if n.op == "Const"]
    return tuple(sorted(value.SerializeToString() for value in values))
