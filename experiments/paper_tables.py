"""The tables of `experiments.reproduce`: ours beside the paper's numbers."""

import dataclasses
import pathlib
import statistics
from collections.abc import Iterable

from experiments import markdown
from experiments import paired
from experiments import records
from experiments.reproduce import registry
from experiments.reproduce.cells import Cell
from experiments.reproduce.cells import Places

# Names of records follow from the presets: this one was masked LM, teacher and
# student of the committed small runs.
SMALL_PRESET = "bert_tiny_mlm"
# Records that lie apart, all of one commit, with one teacher for each task: the
# ways to make samples are compared with a run of Table 3, too, with an older
# record there.
APART = {("table6", "small"): "small/table6"}


def _score(name, factor=100):
    def read(record):
        value = record["scores"].get(name)
        return None if value is None else factor * value

    return read


def _last(name, factor=1):
    def read(record):
        curve = record.get("curves", {}).get(name)
        # 0 is what a method has that weighs no views.
        return factor * curve[-1] or None if curve else None

    return read


# What stands behind the scores, where records have it: title, reader, decimals.
MORE = (
    ("NLL", _score("nll", 1), 3),
    ("ECE", _score("ece"), 2),
    ("flipped", _score("accuracy_flipped"), 2),
    ("shifted", _score("accuracy_shifted"), 2),
    ("in training", _last("accuracy", 100), 1),
    ("effective views", _last("effective_views"), 2),
    ("hours a run", lambda record: record["hours"], 3),
)


@dataclasses.dataclass(frozen=True)
class Line:
    """One cell and its records, one for each seed that has run."""

    cell: Cell
    records: tuple[dict, ...]

    def scores(self, name: str) -> dict[int, float]:
        """A score by seed, in percent; a dot leads into a score's parts."""
        found = {}
        for record in self.records:
            value = record["scores"]
            for part in name.split("."):
                value = value[part]
            found[record["seed"]] = 100 * value
        return found

    def mean(self, read) -> float | None:
        """The mean of what `read` finds in the records, if it finds any."""
        found = [read(record) for record in self.records]
        found = [value for value in found if value is not None]
        return statistics.mean(found) if found else None


def lines_of(
    table: str, scale: str, results: pathlib.Path, preset: str = SMALL_PRESET
) -> list[Line]:
    """The lines of a table, those of a row together.

    Args:
        table: A name in `registry.TABLES`.
        scale: `"paper"` or `"small"`.
        results: Folder of the records; those of a scale are in a folder of it,
            but for those of `APART`.
        preset: Of the small text runs.
    """
    names = ("masked_lm", "teacher", "student")
    presets = dict.fromkeys(names, preset if scale == "small" else None)
    folder = results / APART.get((table, scale), scale)
    places = Places(out=str(folder), **presets)
    found = []
    for cell in registry.TABLES[table](scale, places):
        paths = [cell.record_path(seed) for seed in cell.seeds]
        found.append(
            Line(
                cell,
                tuple(records.read_record(p) for p in paths if p.exists()),
            )
        )
    rows = list(dict.fromkeys(line.cell.row for line in found))
    return sorted(found, key=lambda line: rows.index(line.cell.row))


def reference_of(line: Line, lines: Iterable[Line]) -> Line | None:
    """What a line is compared with; None for itself or nothing."""
    for other in lines:
        cell = other.cell
        if (cell.row, cell.column) == (line.cell.row, line.cell.reference):
            return None if other is line or not other.records else other
    return None


def table_of(table: str, scale: str, results: pathlib.Path) -> str:
    """A table as Markdown; nothing where it has no record."""
    lines = lines_of(table, scale, results)
    made = [record for line in lines for record in line.records]
    if not made:
        return ""
    # A cell without a record stands there where the paper has a number.
    lines = [line for line in lines if line.records or line.cell.paper]
    with_paper = any(line.cell.paper for line in lines)
    more = [
        (title, read, digits)
        for title, read, digits in MORE
        if any(line.mean(read) is not None for line in lines)
    ]
    tests = _tests(lines)
    header = ["", "method", "runs", "ours"]
    header += ["paper", "minus paper"] if with_paper else []
    header += ["minus reference", "p (Holm)", *(title for title, _, _ in more)]
    rows, last = [], None
    for line, tested in zip(lines, tests, strict=True):
        row = [line.cell.row if line.cell.row != last else ""]
        last = line.cell.row
        row += [line.cell.column, str(len(line.records)), _ours(line)]
        row += _beside_paper(line) if with_paper else []
        row += tested
        row += [markdown.number(line.mean(read), n) for _, read, n in more]
        rows.append(row)
    title = registry.TABLES[table].__doc__.partition("\n")[0]
    compared = dict.fromkeys(
        f"`{other.cell.column}`"
        for line in lines
        if (other := reference_of(line, lines))
    )
    command = f"python -m experiments.reproduce {table} --scale {scale}"
    return (
        f"{title} Scores in percent.\n\n"
        + markdown.table(header, rows, words=2)
        + f"\nReference: {', '.join(compared) or 'none'} of the same row, seed "
        "by seed (paired t-test; in brackets by Holm's method for all tests of "
        f"the table). {markdown.origin(made, command)}.\n"
    )


def _tests(lines):
    """Cells of the two columns of every line; two scores a cell count twice."""
    asked, places = [], []
    for place, line in enumerate(lines):
        other = reference_of(line, lines)
        for name in line.cell.scores if other else ():
            asked.append(
                paired.difference(line.scores(name), other.scores(name))
            )
            places.append(place)
    found = [[] for _ in lines]
    for place, texts in zip(places, paired.columns(asked), strict=True):
        found[place].append(texts)
    return [
        [" / ".join(filter(None, part)) for part in zip(*texts, strict=True)]
        or ["", ""]
        for texts in found
    ]


def _ours(line):
    scores = [line.scores(name).values() for name in line.cell.scores]
    return " / ".join(filter(None, map(markdown.spread, scores)))


def _beside_paper(line):
    paper = line.cell.paper
    if paper is None:
        return ["", ""]
    gaps = []
    if line.records:
        for name, mean in zip(line.cell.scores, paper.mean, strict=True):
            ours = statistics.mean(line.scores(name).values())
            gaps.append(f"{ours - mean:+.2f}")
    return [str(paper), " / ".join(gaps)]
