"""How long runs take on this machine, from a short measurement of each kind."""

import importlib
from collections.abc import Callable
from collections.abc import Iterable

from experiments.reproduce.runner import Run


def hours(runs: Iterable[Run], say: Callable = print) -> dict[Run, float]:
    """Estimated hours of each run.

    Each script knows the work of a run (`work`: its kind, in words, and how
    many units it takes) and measures units a second of a kind (`measure`). A
    kind is measured once.

    Args:
        runs: what to estimate.
        say: prints a line for each kind that is measured.
    """
    rates, found = {}, {}
    for run in runs:
        script = importlib.import_module(run.cell.module)
        kind, units = script.work(run.cell.run_arguments(run.seed))
        key = (run.cell.module, kind)
        if key not in rates:
            rates[key] = script.measure(kind)
            rate = rates[key]
            rounded = f"{rate:.0f}" if rate >= 10 else f"{rate:.2g}"
            say(f"measured {kind}: {rounded} a second")
        found[run] = units / rates[key] / 3600
    return found
