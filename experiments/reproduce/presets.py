"""Read from text records which presets their runs had.

The name of a record follows from the presets, and whoever makes a report should
not have to give them again.
"""

import collections
import dataclasses
import pathlib

from examples import records
from experiments.reproduce.cells import Places

NAMES = ("masked_lm", "teacher", "student")


def recall(places: Places) -> Places:
    """`places` with the presets that most of its text records were made with.

    Args:
        places: a preset that it names stays.

    Returns:
        New places, or the same where no record tells.
    """
    counts = collections.Counter(
        tuple(_presets(record["settings"]).items())
        for record in records.read_records(pathlib.Path(places.out) / "glue")
    )
    # Runs that had no teacher say nothing about it.
    for items, _ in counts.most_common():
        if len(items) == len(NAMES):
            new = {k: v for k, v in items if getattr(places, k) is None}
            return dataclasses.replace(places, **new)
    return places


def _presets(settings):
    found = {"student": settings["student"]}
    data = settings["data"] or {}
    if "teacher" in data:
        found["masked_lm"] = data["masked_lm"]
        found["teacher"] = data["teacher"]["student"]
    return found
