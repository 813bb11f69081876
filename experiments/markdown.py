"""Pieces of Markdown that the tables are made of."""

import math
import re
import statistics
from collections.abc import Iterable
from collections.abc import Sequence

# What older records call by the name that it had.
_MOVED = {
    r"-m (?:examples\.)?((?:digits|glue_constant|benchmarks)\b)": (
        r"-m experiments.\1"
    ),
    r"-m examples\.(glue|cifar|imagenet)\b": r"-m experiments.training.\1",
    r"-m examples\.quickstart\b": "-m experiments.quickstarts digits",
    r"-m examples\.text_quickstart\b": "-m experiments.quickstarts text",
}


def todays_command(command: str) -> str:
    """The command of a record by the names that its programs have now."""
    for before, now in _MOVED.items():
        command = re.sub(before, now, command)
    return command


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1
) -> str:
    """A table whose first `words` columns are text, the others numbers."""
    ruler = ["---"] * words + ["---:"] * (len(header) - words)
    return "".join(f"| {' | '.join(row)} |\n" for row in (header, ruler, *rows))


def spread(values: Iterable[float], digits: int = 2) -> str:
    """Mean and, from two values on, sample standard deviation."""
    values = list(values)
    if not values:
        return ""
    text = f"{statistics.mean(values):.{digits}f}"
    if len(values) > 1:
        text += f" ± {statistics.stdev(values):.{digits}f}"
    return text


def number(value: float | None, digits: int) -> str:
    """A number, or nothing where there is none."""
    return "" if value is None else f"{value:.{digits}f}"


def said_p(p: float) -> str:
    """A p in a sentence; a question mark where there is no test."""
    if math.isnan(p):
        return "p ?"
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"


def quartiles(figures: dict, digits: int = 2) -> str:
    """Median and quartiles of a benchmark."""
    q25, median, q75 = (
        f"{figures[name]:.{digits}f}" for name in ("q25", "median", "q75")
    )
    return f"{median} ({q25} to {q75})"


def origin(records: Iterable[dict], command: str | None = None) -> str:
    """The commands, commits and machines of some records, in a sentence.

    Args:
        records: Those that a table is made from.
        command: What makes all of them; by default what made each.
    """
    records = list(records)
    commands = [command] if command else []
    commands += [todays_command(record["command"]) for record in records]
    found = [r["environment"] for r in records]
    commits = [
        (one["commit"] or "none")[:7] + " with changes" * bool(one["dirty"])
        for one in found
    ]
    machines = [
        ", ".join(one["accelerators"])
        or f"{one['cores']} cores of an {one['cpu']}"
        for one in found
    ]
    software = [f"Keras {one['keras']}, {one['backend']}" for one in found]
    parts = [
        [f"`{text}`" for text in commands[: 1 if command else None]],
        [f"commit {', '.join(dict.fromkeys(commits))}"],
        machines,
        software,
    ]
    return ", ".join(text for part in parts for text in dict.fromkeys(part))
