"""What stands on a page, and what may stand there for a recomputed number."""

import dataclasses
import itertools
import math
import re

TABLE = re.compile(
    r"<!-- table (?P<name>\S+) -->\n(?P<body>.*?)<!-- end (?P=name) -->",
    re.DOTALL,
)
WITH_DIGIT = re.compile(r"[^\s(),:;*`]*\d[^\s(),:;*`]*")


def tables(page):
    """Lines of each table of a page that are not empty, by the table's name."""
    return {
        found["name"]: [
            line for line in found["body"].splitlines() if line.strip()
        ]
        for found in TABLE.finditer(page)
    }


def near(value):
    """A float, and what another order of adding may have made of it."""
    change = max(1e-9 * abs(value), 1e-12)
    return value, value - change, value + change


def number(value, spec):
    """All that a float may be printed as: at a tie it has two roundings."""
    return {format(each, spec) for each in near(value)}


def joined(template, *parts):
    """The template filled with each combination of its parts."""
    return {
        template.format(*chosen)
        for chosen in itertools.product(
            *({part} if isinstance(part, str) else part for part in parts)
        )
    }


def short_p(p):
    """A p of the tables of evidence: "?" where there was no test."""
    if math.isnan(p):
        return {"?"}
    return {"<0.0001"} if p < 0.0001 else number(p, ".2g")


def said_p(p):
    """A p in a sentence, with its sign."""
    if math.isnan(p):
        return {"p ?"}
    return {"p < 0.0001"} if p < 0.0001 else joined("p = {}", number(p, ".2g"))


def long_p(p):
    """A p with three decimals, of the other tables."""
    return {"< 0.001"} if p < 0.0005 else number(p, ".3f")


def two_p(p, adjusted):
    """A p, and in brackets what Holm's method makes of it."""
    return joined("{} ({})", long_p(p), long_p(adjusted))


def spread(centre, deviation, spec=".2f"):
    """Mean and standard deviation; of a single value the mean alone."""
    if math.isnan(deviation):
        return number(centre, spec)
    return joined("{} ± {}", number(centre, spec), number(deviation, spec))


@dataclasses.dataclass(frozen=True)
class Line:
    """What one line of a table may be, cell by cell.

    Attributes:
        cells: For each cell all texts that are right.
        read: What of a printed cell is compared: all of it, or its numbers.
    """

    cells: list[set[str]]
    read: object = str.strip


def row(*cells):
    """A row of a table, its cells as texts or sets of texts."""
    return Line([{c} if isinstance(c, str) else c for c in cells])


def heads(*columns, left=1):
    """The two first rows of a table; all but the left columns are numbers."""
    rules = ["---"] * left + ["---:"] * (len(columns) - left)
    return [row(*columns), row(*rules)]


def sentence(texts):
    """A line that is no row, word by word."""
    return Line([{texts} if isinstance(texts, str) else texts])


def numbers_of(text):
    """The words of a text that have a digit, in their order."""
    return " ".join(word.rstrip(".") for word in WITH_DIGIT.findall(text))


def caption(*numbers):
    """A line of which only the words with a digit are ours to say."""
    return Line([{" ".join(numbers)}], numbers_of)


def _origin(text):
    """A line on where records come from, without order and repetition."""
    before, _, made = text.partition(", commit ")
    parts = sorted(set(made.rstrip(".").split(", ")))
    return f"{numbers_of(before)}; {', '.join(parts)}"


def origin(before, environments):
    """The line on where records come from.

    Args:
        before: What stands before the commits; its numbers count.
        environments: Those of all records.
    """
    parts = set()
    for made in environments:
        commit = (made["commit"] or "none")[:7]
        parts |= {
            commit + " with changes" * bool(made["dirty"]),
            *(
                made["accelerators"]
                or [f"{made['cores']} cores of an {made['cpu']}"]
            ),
            f"Keras {made['keras']}",
            made["backend"],
        }
    text = f"{numbers_of(before)}; {', '.join(sorted(parts))}"
    return Line([{text}], _origin)


def cells_of(line):
    """The cells of a printed line: of a sentence there is one."""
    if line.startswith("|"):
        return [cell.strip() for cell in line.strip().strip("|").split("|")]
    return [line]


def differences(printed, expected):
    """How many cells were compared, and what is not as it should be.

    Args:
        printed: Lines of a table as they stand on the page.
        expected: What each may be, as `Line`.

    Returns:
        The number of cells with a digit in them that were compared, and a text
        for each difference.
    """
    compared, found = 0, []
    for place, (line, right) in enumerate(
        itertools.zip_longest(printed, expected)
    ):
        if line is None or right is None:
            found.append(f"line {place}: {line!r} for {right}")
            continue
        cells = cells_of(line)
        if len(cells) != len(right.cells):
            found.append(f"line {place}: {line!r} for {right.cells}")
            continue
        for cell, texts in zip(cells, right.cells, strict=True):
            compared += any(map(str.isdigit, cell))
            if right.read(cell) not in texts:
                found.append(f"line {place}: {cell!r} for {sorted(texts)}")
    return compared, found
