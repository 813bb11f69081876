"""Where a layer or a function gets its random numbers from."""

import contextlib
import itertools
import random
import re
from collections.abc import Hashable
from collections.abc import Iterator

import keras
import numpy as np
import tensorflow as tf

from keras_mmel.data import seeds as seeds_lib

# Operations that draw from, or change, a state outside the function.
_STATEFUL = re.compile(
    r"Random|Multinomial|TruncatedNormal|ParameterizedTruncatedNormal|Rng"
    r"|SampleDistortedBoundingBox|Stateful(?!PartitionedCall)|Assign"
)


@contextlib.contextmanager
def seeded(layer: keras.Layer, seed: tf.Tensor) -> Iterator[None]:
    """Let every seed generator of `layer` draw from `seed`, while tracing."""
    draws = itertools.count()
    key = tf.bitcast(seed, tf.uint64)

    def next_seed(ordered=True):
        drawn = seeds_lib.fold(key, next(draws))
        return tf.cast(tf.bitcast(drawn, tf.int32), tf.int64)

    generators = list(_seed_generators(layer))
    for generator in generators:
        generator.next = next_seed
    try:
        yield
    finally:
        for generator in generators:
            del generator.next


def _seed_generators(layer):
    seen = set()
    waiting = [vars(part) for part in layer._flatten_layers()]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, keras.random.SeedGenerator):
            yield value
        elif isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, (list, tuple)):
            waiting.extend(value)


def global_random_state() -> Hashable:
    """Return what Python's and NumPy's shared generators will draw next."""
    numpy_state = np.random.get_state(legacy=False)["state"]
    return random.getstate(), numpy_state["pos"], numpy_state["key"].tobytes()


def stateful_operations(graph: tf.compat.v1.GraphDef) -> set[str]:
    """Return the operations of a graph that no view seed controls."""
    functions = (function.node_def for function in graph.library.function)
    nodes = itertools.chain(graph.node, *functions)
    return {node.op for node in nodes if _STATEFUL.match(node.op)}
