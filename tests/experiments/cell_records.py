"""Made-up records in the places where the cells of a table have theirs."""

from examples import records
from experiments import paper_tables
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
MADE = {
    "command": "python -m experiments.made_up",
    "environment": ENVIRONMENT,
    "hours": 0.5,
}


def write(results, table, values, make, only=()):
    """Write the records of some cells.

    Args:
        results: Folder of the records.
        table: Which table, at the small scale.
        values: By column, the scores of seeds 0, 1, ...
        make: From a score to what a record has beside `MADE` and its seed.
        only: Words in the names of the cells.
    """
    names = ("masked_lm", "teacher", "student")
    places = Places(
        out=str(results / "small"),
        **dict.fromkeys(names, paper_tables.SMALL_PRESET),
    )
    cells = registry.collect([table], "small", places, only)
    found = {cell.column: cell for cell in cells}
    for column, scores in values.items():
        cell = found[column]
        for seed, score in enumerate(scores):
            path = cell.record_path(seed)
            records.write_record(path, MADE | {"seed": seed} | make(score))
