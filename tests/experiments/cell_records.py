"""Made-up records in the places where the cells of a table have theirs."""

import importlib
import json

from experiments.reproduce import registry
from experiments.reproduce.cells import Places

ENVIRONMENT = {
    "accelerators": [],
    "cores": 2,
    "cpu": "Made Up 1",
    "commit": "0123456789",
    "dirty": False,
    "keras": "3.15.1",
    "backend": "tensorflow",
}


def write(out, table, values, make, only=(), **presets):
    """Write the records of some cells.

    Args:
        out: folder of the records.
        table: which table, at the small scale.
        values: by column, the scores of seeds 0, 1, ...
        make: from a score and a seed to a record.
        only: words in the names of the cells.
        presets: of the text cells.
    """
    places = Places(out=str(out), **presets)
    cells = registry.collect([table], "small", places, only)
    found = {cell.column: cell for cell in cells}
    for column, scores in values.items():
        cell = found[column]
        script = importlib.import_module(cell.module)
        for seed, score in enumerate(scores):
            path = script.record_path(cell.run_arguments(seed))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(make(score, seed)))
