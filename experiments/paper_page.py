"""The page "The paper's tables, and what we have of each", from two sources.

The paper's numbers come from `reproduce/paper.json`, ours from the records.
"""

import pathlib
from collections.abc import Callable

from experiments import markdown
from experiments import paper_questions
from experiments import paper_tables
from experiments.paper_questions import METHODS
from experiments.reproduce import cells
from experiments.reproduce import paper

# What each is about, and the table of our commands that makes it; GLUE's server
# has to score the test sets.
OVERVIEW = {
    "Table 1": ("CIFAR: five methods, four depths", "table1"),
    "Table 2": ("CIFAR: 2, 5, 10, 20 views", "table2"),
    "Table 3, development sets": ("GLUE: five methods", "table3"),
    "Table 3, test sets": ("GLUE: five methods", None),
    "Figure 2": ("GLUE: scores during training", "figure2"),
    "Table 4": ("GLUE: labels of the originals or a teacher", "table4"),
    "Table 5": ("ImageNet: three depths", "table5"),
    "Table 6": ("GLUE: search, pairs, mask ratio", "table6"),
}


def numbers(
    table: str, rows: Callable, columns: Callable, digits: int = 2, **only: str
) -> str:
    """A table of the paper as it is printed there.

    Args:
        table: Its name in `paper.json`.
        rows: From what a number is of to the name of its row.
        columns: The same for its column.
        digits: Decimals of the means; deviations have two.
        **only: What the numbers have to be of.

    Returns:
        Markdown.
    """
    body: dict[str, dict[str, str]] = {}
    for of, value in paper.read(table):
        if all(of.get(name) == wanted for name, wanted in only.items()):
            stds = value.std or ("",) * len(value.mean)
            body.setdefault(rows(of), {})[columns(of)] = " / ".join(
                f"{mean:.{digits}f}" + (f" ± {std:.2f}" if std else "")
                for mean, std in zip(value.mean, stds, strict=True)
            )
    header = list(dict.fromkeys(name for row in body.values() for name in row))
    return markdown.table(
        ["", *header],
        [
            [name, *(row.get(column, "") for column in header)]
            for name, row in body.items()
        ],
    )


def overview(results: pathlib.Path) -> str:
    """Every table and figure: our command, and how many of its runs exist."""
    rows = []
    for name, (about, table) in OVERVIEW.items():
        if table is None:
            command = "`python examples/glue.py --predict test`"
            rows.append([name, about, command, "not run", "not run"])
            continue
        made = {}
        for scale in ("paper", "small"):
            lines = paper_tables.lines_of(table, scale, results)
            planned = len(cells.runs_of(line.cell for line in lines))
            records = {
                (line.cell.module, line.cell.run_arguments(record["seed"]))
                for line in lines
                for record in line.records
            }
            made[scale] = (
                f"{len(records)} of {planned:,}" if records else "not run"
            )
        rows.append(
            [
                name,
                about,
                f"`python -m experiments.reproduce {table}`",
                made["paper"],
                made["small"],
            ]
        )
    header = ["", "about", "command", "runs at its scale", "small runs"]
    return markdown.table(header, rows, words=3)


def compared(results: pathlib.Path) -> str:
    """The paper's differences beside ours: sign and size."""
    rows, last = [], None
    for question in paper_questions.of_paper(results):
        same = (question.table, question.asked) == last
        last = (question.table, question.asked)
        rows.append(
            [
                "" if same else question.table,
                "" if same else question.asked,
                "" if same else question.paper,
                question.setting or "not run",
                *_answer(question),
            ]
        )
    header = ["table", "difference", "paper", "ours: setting"]
    header += ["seeds", "ours (95 %)", "sign"]
    return markdown.table(header, rows, words=2) + (
        "\nPoints of the score in percent. The paper: mean over its cells, and "
        "their range. Ours: paired by seed, with the 95 % interval of the "
        "mean, each by itself. The sign is the same, another one, or open: the "
        "interval holds both.\n"
    )


def _answer(question):
    """Seeds, difference with interval, and what becomes of the sign."""
    ours = question.ours
    if ours is None:
        return ["", "", ""]
    text = f"{ours.mean:+.2f} ({ours.low:+.2f} to {ours.high:+.2f})"
    if question.paper.startswith("+0.00"):
        sign = "no sign in the paper"
    elif ours.low <= 0 <= ours.high:
        sign = "open"
    elif (ours.mean > 0) == question.paper.startswith("+"):
        sign = "the same"
    else:
        sign = "another"
    return [str(ours.seeds), text, sign]


def _cifar_row(of):
    return f"{of['dataset']} ResNet-{of['depth']}"


def _made_by(of):
    if "search" not in of:
        return METHODS[of["method"]]
    how = f"{of['search']}, {of['pairs']}, {of['mask_ratio']:g}"
    return f"{METHODS[of['method']]}, {how}"


def _views(of):
    views = of["num_views"]
    return METHODS[of["method"]] + (f", {views}" if views > 1 else "")


def _labels(of):
    return f"{METHODS[of['method']]}, {of['labels']} labels"


def _method(of):
    return METHODS[of["method"]]


def _task(of):
    return of["task"]


# By name in the page; each takes the folder of the records.
TABLES = {
    "paper-overview": overview,
    "paper-compared": compared,
    "paper-table1": lambda _: numbers("table1", _cifar_row, _method),
    "paper-table2": lambda _: numbers("table2", _cifar_row, _views),
    "paper-table3": lambda _: numbers(
        "table3", _method, _task, digits=1, split="validation"
    ),
    "paper-table3-test": lambda _: numbers(
        "table3", _method, _task, digits=1, split="test"
    ),
    "paper-table4": lambda _: numbers("table4", _labels, _task, 1),
    "paper-table5": lambda _: numbers(
        "table5", lambda of: f"ResNet-{of['depth']}", _method
    ),
    "paper-table6": lambda _: numbers("table6", _made_by, _task, 1),
}
