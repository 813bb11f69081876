"""From records to tables: ours beside the paper's, with a test of Welch."""

import dataclasses
import math
import re
import statistics
from collections.abc import Iterable

import scipy.stats

from experiments.reproduce.cells import Cell

# What a cell of the same row is tested against: the first that is there. It
# has the same views and the same cost.
REFERENCES = ("uniform", "baseline", "da")
# Of a sweep: the end of it that is the mean.
OF_SWEEP = " lambda_p=inf"
EXTRA_SCORES = ("nll", "ece", "accuracy_flipped", "accuracy_shifted")
_METHOD = re.compile("^(da-long|da|uniform|baseline|mmel-h|mmel-s)(?![a-z])")
IN_PERCENT = ("ece", "accuracy_flipped", "accuracy_shifted")

_COSTS = (
    ("hours a run", "hours", 3),
    ("examples/s", "speed", 0),
    ("peak MB", "memory", 0),
)


@dataclasses.dataclass(frozen=True)
class Line:
    """One cell with what its records say.

    Attributes:
        cell: the cell.
        values: for each name in `cell.scores`, the scores in percent, a
            number for each seed that has run.
        extra: for each further score, its mean; empty where there is none.
        hours, speed, memory: means over the runs; None where records have
            none. Examples a second, 2**20 bytes.
        records: the records themselves.
    """

    cell: Cell
    values: tuple[tuple[float, ...], ...]
    extra: dict[str, float]
    hours: float | None
    speed: float | None
    memory: float | None
    records: tuple[dict, ...]

    @property
    def runs(self) -> int:
        return len(self.values[0])


def line_of(cell: Cell, records: Iterable[dict]) -> Line:
    """The line of a cell from its records, one for each seed."""
    records = tuple(records)

    def mean(read):
        found = [read(record) for record in records]
        found = [number for number in found if number is not None]
        return statistics.mean(found) if found else None

    extra = {
        name: mean(lambda record, name=name: record["scores"].get(name))
        for name in EXTRA_SCORES
    }
    return Line(
        cell,
        tuple(
            tuple(100 * _score(record, name) for record in records)
            for name in cell.scores
        ),
        {
            name: value * (100 if name in IN_PERCENT else 1)
            for name, value in extra.items()
            if value is not None
        },
        mean(lambda record: record["hours"]),
        mean(lambda record: record["scores"].get("examples_per_second")),
        mean(lambda record: record["scores"].get("peak_memory_mb")),
        records,
    )


def _score(record, name):
    """A score by its name; a dot leads into a score that is a dict."""
    value = record["scores"]
    for part in name.split("."):
        value = value[part]
    return value


def welch(values: tuple[float, ...], reference: tuple[float, ...]):
    """Difference of the means, and its two-sided p by Welch's test.

    Args:
        values: scores, one for each seed.
        reference: those of what they are compared with.

    Returns:
        The difference (None where a side has no run) and p (None where a side
        has fewer than two, or nothing varies).
    """
    if not values or not reference:
        return None, None
    difference = statistics.mean(values) - statistics.mean(reference)
    few = min(len(values), len(reference)) < 2
    if few or not (statistics.pstdev(values) or statistics.pstdev(reference)):
        return difference, None
    p = scipy.stats.ttest_ind(values, reference, equal_var=False).pvalue
    return difference, float(p)


def reference_of(line: Line, lines: Iterable[Line]) -> Line | None:
    """The line that `line` is tested against; None for itself or none.

    It is of the same row. One that shares what follows the method in the name
    of the column, such as the number of views, comes before one that is a
    method alone.
    """
    row = {
        other.cell.column: other
        for other in lines
        if other.cell.row == line.cell.row and other.runs
    }
    rest = _METHOD.sub("", line.cell.column)
    for name in REFERENCES:
        without = name + rest.partition(" ")[0]
        names = (name + rest, without, name, name + OF_SWEEP)
        other = next((row[text] for text in names if text in row), None)
        if other is not None:
            return None if other is line else other
    return None


def header(lines: list[Line]) -> list[str]:
    """Names of the columns that these lines fill."""
    names = ["", "method", "runs", "ours"]
    if any(line.cell.paper for line in lines):
        names += ["paper", "difference"]
    names += ["beside the reference", "p (Welch)"]
    names += [name.replace("accuracy_", "") for name in _extra(lines)]
    return names + [
        name
        for name, attribute, _ in _COSTS
        if any(getattr(line, attribute) is not None for line in lines)
    ]


def rows(lines: list[Line]) -> list[list[str]]:
    """The table as text.

    A line without runs is empty but for the paper's number, and left out where
    the paper has none.
    """
    with_paper = any(line.cell.paper for line in lines)
    found, last = [], None
    for line in lines:
        cell = line.cell
        if not line.runs and cell.paper is None:
            continue
        texts = [cell.row if cell.row != last else "", cell.column]
        last = cell.row
        texts += [str(line.runs), _both(_spread(v) for v in line.values)]
        if with_paper:
            texts += _beside_paper(line)
        other = reference_of(line, lines)
        tests = []
        if other is not None:
            pairs = zip(line.values, other.values, strict=True)
            tests = [welch(*pair) for pair in pairs]
        texts.append(_both(_signed(test[0]) for test in tests))
        texts.append(_both(probability(p) for _, p in tests))
        texts += [
            _number(line.extra.get(name), 2 if name != "nll" else 3)
            for name in _extra(lines)
        ]
        texts += [
            _number(getattr(line, attribute), digits)
            for name, attribute, digits in _COSTS
            if name in header(lines)
        ]
        found.append(texts)
    return found


def _extra(lines):
    return [n for n in EXTRA_SCORES if any(n in line.extra for line in lines)]


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A table; the first two columns are text, the others numbers."""
    marks = ["---", "---", *["---:"] * (len(header) - 2)]
    lines = [header, marks, *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _beside_paper(line):
    paper = line.cell.paper
    if paper is None:
        return ["", ""]
    stds = paper.std or (None,) * len(paper.mean)
    printed = [
        f"{mean:.2f}" + (f" ± {std:.2f}" if std is not None else "")
        for mean, std in zip(paper.mean, stds, strict=True)
    ]
    if not line.runs:
        return [_both(printed), ""]
    gaps = [
        statistics.mean(values) - mean
        for values, mean in zip(line.values, paper.mean, strict=True)
    ]
    return [_both(printed), _both(map(_signed, gaps))]


def _both(texts):
    return " / ".join(text for text in texts if text)


def _spread(values):
    if not values:
        return ""
    text = f"{statistics.mean(values):.2f}"
    if len(values) > 1:
        text += f" ± {statistics.stdev(values):.2f}"
    return text


def _signed(value):
    return "" if value is None else f"{value:+.2f}"


def _number(value, digits):
    if value is None or not math.isfinite(value):
        return ""
    return f"{value:.{digits}f}"


def probability(value: float | None) -> str:
    """The p of a test as text; nothing where there was none."""
    if value is None:
        return ""
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"
