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
    """Write the records of some cells of a table at the small scale.

    `values` has by column the scores of seeds 0, 1, ..., `only` words in the
    names of the cells; `make` gives what a record of a score has beside `MADE`.
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
