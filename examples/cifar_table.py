"""The records of CIFAR runs as lines on the terminal."""

import os
import statistics

from examples import options
from examples import records
from examples.cifar_settings import run_name


def print_table(folder: str | os.PathLike) -> None:
    """One line for each setting, over its seeds."""
    runs = {}
    for record in records.read_records(folder):
        settings = {k: v for k, v in record["settings"].items() if k != "seed"}
        key = run_name({**settings, "seed": ""})
        runs.setdefault(key, (settings, []))[1].append(record)
    print(
        "data      depth method   views epochs images  seeds  "
        "accuracy        nll    hours  views/s"
    )
    for settings, found in runs.values():
        means = {
            name: statistics.mean(record["scores"][name] for record in found)
            for name in ("accuracy", "nll", "views_per_second")
        }
        accuracies = [100 * record["scores"]["accuracy"] for record in found]
        spread = statistics.stdev(accuracies) if len(found) > 1 else 0.0
        hours = statistics.mean(record["hours"] for record in found)
        print(
            f"{settings['dataset']:9} {settings['depth']:5} "
            f"{options.described(settings):8} {settings['num_views']:5} "
            f"{settings['epochs']:6} {settings['limit'] or 'all':>6} "
            f"{len(found):6} {100 * means['accuracy']:6.2f} +- {spread:4.2f} "
            f"{means['nll']:8.4f} {hours:8.3f} "
            f"{means['views_per_second']:8.0f}"
        )
