"""Nests of arrays, such as a batch: their parts. None in them stays None."""

from collections.abc import Callable
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np


def slices(nest: Any, size: int) -> Iterator:
    """Cuts a nest of arrays in parts, one after the other.

    Args:
        nest: Arrays of as many rows, and None, which stays None.
        size: Rows of a part; the last one may have fewer.

    Yields:
        Nests of the same structure.

    Raises:
        ValueError: If they have not as many rows.
    """
    counts = [len(t) for t in keras.tree.flatten(nest) if t is not None]
    if len(set(counts)) > 1:
        raise ValueError(
            "Arrays of inputs, masks, labels and weights must have a row for "
            f"each example. Received: {counts} rows"
        )
    for start in range(0, counts[0], size):
        rows = slice(start, start + size)
        yield map_arrays(lambda leaf, rows=rows: leaf[rows], nest)


def map_arrays(function: Callable, *nests: Any) -> Any:
    """As `keras.tree.map_structure`; None stays None.

    Args:
        function: From a leaf of each nest to a new leaf.
        *nests: Of one structure.

    Returns:
        A nest of that structure.
    """
    return keras.tree.map_structure(
        lambda *leaves: None if leaves[0] is None else function(*leaves), *nests
    )


def take(nest: Any, index: Any) -> Any:
    """The same part of each array of a nest; None stays None.

    Args:
        nest: Arrays, or what becomes one.
        index: As NumPy takes it.

    Returns:
        A nest of arrays.
    """
    return map_arrays(lambda leaf: np.asarray(leaf)[index], nest)
