"""Measure several functions in turns, so that none always follows another."""

import argparse
import time
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

import numpy as np

from experiments import RESULTS
from experiments import records

_START = time.time()


def make_parser(doc: str, name: str, rounds: int) -> argparse.ArgumentParser:
    """The options that every benchmark has.

    Args:
        doc: What the module says of itself.
        name: Of the benchmark, and of its record.
        rounds: How many are measured by default.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m experiments.benchmarks.{name}",
        description=doc.partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--out", default=f"{RESULTS}/benchmarks/{name}.json")
    return parser


def write(args: argparse.Namespace, **found: Any) -> None:
    """Write the record of a benchmark."""
    about = {
        "command": records.command_line(),
        "rounds": args.rounds,
        "environment": records.environment(),
        "hours": (time.time() - _START) / 3600,
    }
    records.write_record(args.out, about | found)
    print(f"wrote {args.out}")


def in_turns(
    functions: Mapping[str, Callable[[], Any]], rounds: int, label: str = ""
) -> dict[str, list]:
    """Call every function once a round, in an order that rotates.

    Args:
        functions: What to call, by name.
        rounds: How many rounds.
        label: What to print before the number of the round.

    Returns:
        For each name what its function returned, round by round.
    """
    found, names = {name: [] for name in functions}, list(functions)
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            found[name].append(functions[name]())
        print(f"{label}round {number + 1} of {rounds}", end="\r", flush=True)
    print()
    return found


def quartiles(values: Any) -> dict[str, float]:
    """Lower quartile, median and upper quartile."""
    low, median, high = np.percentile(values, [25, 50, 75])
    return {"q25": float(low), "median": float(median), "q75": float(high)}
