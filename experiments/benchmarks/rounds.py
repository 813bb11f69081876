"""Measure several functions in turns, so that none always follows another."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

import numpy as np


def in_turns(
    functions: Mapping[str, Callable[[], Any]], rounds: int, label: str = ""
) -> dict[str, list]:
    """Call every function once a round, in an order that rotates.

    Args:
        functions: what to call, by name.
        rounds: how many rounds.
        label: what to print before the number of the round.

    Returns:
        For each name what its function returned, round by round.
    """
    found = {name: [] for name in functions}
    for number in range(rounds):
        for name in order(functions, number):
            found[name].append(functions[name]())
        print(f"{label}round {number + 1} of {rounds}", end="\r", flush=True)
    print()
    return found


def order(names: Mapping[str, Any], number: int) -> Iterator[str]:
    """The names in the order of a round, each first in one of so many."""
    names = list(names)
    first = number % len(names)
    yield from names[first:] + names[:first]


def quartiles(values: Any) -> dict[str, float]:
    """Lower quartile, median and upper quartile."""
    low, median, high = np.percentile(values, [25, 50, 75])
    return {"q25": float(low), "median": float(median), "q75": float(high)}
