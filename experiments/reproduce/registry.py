"""Which tables there are, and the cells of each."""

from collections.abc import Callable
from collections.abc import Iterable

from experiments.reproduce import images
from experiments.reproduce import texts
from experiments.reproduce.cells import Cell
from experiments.reproduce.cells import Places

TABLES: dict[str, Callable[[str, Places], list[Cell]]] = {
    "table1": images.table1,
    "table2": images.table2,
    "table3": texts.table3,
    "figure2": texts.figure2,
    "table4": texts.table4,
    "table5": images.table5,
    "table6": texts.table6,
    "rivals": images.rivals,
    "equal_steps": images.equal_steps,
    "lambda_p": images.lambda_p,
    "glue_lambda_p": texts.glue_lambda_p,
    "glue_views": texts.glue_views,
}


def collect(
    tables: Iterable[str], scale: str, places: Places, only: Iterable[str] = ()
) -> list[Cell]:
    """The cells of some tables, in order.

    Args:
        tables: Names in `TABLES`.
        scale: `"paper"` or `"small"`.
        places: Where data and results are.
        only: Keep the cells that every one of these words picks. A word that is
            the method of a cell picks the cells of that method; any other
            picks those whose `table/name` holds it.

    Raises:
        ValueError: If nothing is left.
    """
    only = tuple(only)
    cells = [
        cell
        for table in dict.fromkeys(tables)
        for cell in TABLES[table](scale, places)
    ]
    methods = {cell.method for cell in cells}
    found = [
        cell
        for cell in cells
        if all(
            word == cell.method
            if word in methods
            else word in f"{cell.table}/{cell.name}"
            for word in only
        )
    ]
    if not found:
        raise ValueError(
            f"No cell of {', '.join(tables)} has every word of `only` in its "
            f"name (--list shows them). Received: {' '.join(only)}"
        )
    return found
