"""The tables of the pages, made a second time from the records of the runs.

Written from the words of the pages: nothing here imports what makes the
tables, nor the package, nor SciPy. NumPy and the standard library alone.
"""

from tests.recomputed import evidence
from tests.recomputed import helps
from tests.recomputed import lost_labels
from tests.recomputed import paper
from tests.recomputed import small
from tests.recomputed import unseen_changes
from tests.recomputed import wrong_labels
from tests.recomputed.plans import PLANS

TABLES = dict.fromkeys(PLANS, evidence.table) | {
    "digits-noise": wrong_labels.table,
    "digits-unseen-alike": unseen_changes.table,
    "mechanism-noise": wrong_labels.while_learning,
    "small-rivals": small.table,
    "small-equal_steps": small.table,
    "small-lambda_p": small.table,
    "digits": lost_labels.table,
    "helps": helps.table,
    "paper-compared": paper.table,
}


def lines_of(name, found):
    """What each line of a table may be.

    Args:
        name: Of the table.
        found: All records.

    Raises:
        ValueError: If nothing here makes a table of that name.
    """
    if name not in TABLES:
        raise ValueError(
            "A table of the pages must be made a second time in "
            f"tests/recomputed. Received: {name!r}"
        )
    return TABLES[name](name, found)
