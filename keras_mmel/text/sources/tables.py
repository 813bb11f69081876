"""Rows of CSV, TSV, JSONL and JSON files, in memory."""

import csv
import dataclasses
import io
import json
import pathlib
from collections.abc import Iterable
from typing import Any
from typing import NoReturn

Texts = tuple[str, ...]
"""The text of an example or a view, or both texts of a pair."""


class BadFile(ValueError):
    """A file that cannot be read as asked; the message names the line."""


class Row(dict):
    """A row of a table: a dict of its values that knows where it stands.

    Attributes:
        table: The table.
        line: Number of its first line in the file, from 1; in a JSON list
            that of the object.
    """

    __slots__ = ("line", "table")

    def __init__(self, values, table: "Table", line: int):
        super().__init__(values)
        self.table, self.line = table, line

    def fail(self, problem: str) -> NoReturn:
        """Raises `BadFile` for what is wrong in this row."""
        self.table.fail(problem, self.line)

    def texts(self, columns: Iterable[str]) -> Texts:
        """Reads the texts in some columns."""
        return tuple(self._text(self.get(name), name) for name in columns)

    def id(self, column: str) -> str:
        """Reads an id: a word or an integer."""
        value = self.get(column)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or not value.strip():
            self.fail(
                f"{column!r} must be a word or an integer. Received: {value!r}"
            )
        return self._text(value, column)

    def views(self, column: str, num_texts: int) -> list[Texts]:
        """Reads the views in a column: a JSON list of them, one, or none.

        Args:
            column: The column.
            num_texts: Texts of a view, 1 or 2.

        Returns:
            The texts of each view.

        Raises:
            BadFile: If it holds something else.
        """
        cell = self.get(column)
        if isinstance(cell, str) and cell.lstrip().startswith("["):
            try:
                cell = json.loads(cell)
            except json.JSONDecodeError as error:
                self.fail(
                    f"{column!r} is no JSON list, as json.dumps writes it (and "
                    f"pandas does not): {error}"
                )
        if cell is None or cell == "":
            return []
        views = cell if isinstance(cell, list) else [cell]
        if num_texts == 2 and len(views) == 2 and isinstance(views[0], str):
            views = [views]  # one pair
        checked = []
        for view in views:
            cells = view if isinstance(view, list) else [view]
            if len(cells) != num_texts:
                self.fail(
                    f"{column!r} must hold views of {num_texts} texts. "
                    f"Received: {view!r:.40}"
                )
            texts = tuple(self._text(text, column) for text in cells)
            self.check_view(texts)
            checked.append(texts)
        return checked

    def check_view(self, texts: Texts) -> None:
        """Raises `BadFile` where there is nothing in a view."""
        if not any(text.strip() for text in texts):
            self.fail("an empty view")

    def _text(self, value, column):
        if not isinstance(value, str):
            self.fail(f"{column!r} is no text. Received: {value!r:.40}")
        return value


@dataclasses.dataclass
class Table:
    """Rows of a file, or of other data, in memory.

    Attributes:
        path: The file, or what other data are called in messages.
        unit: What a number of a row counts, such as "line".
        columns: Names of the columns; of JSONL, keys of the first object.
        rows: The rows: strings, or whatever JSON and other data hold.
        facts: Plain values that tell where the rows are from.
        label_kind: "class" or "value" where the data say that their labels are
            such numbers; `None` where the labels themselves must tell.
    """

    path: pathlib.Path | str
    unit: str
    columns: tuple[str, ...] = ()
    rows: list[Row] = dataclasses.field(default_factory=list)
    facts: dict = dataclasses.field(default_factory=dict)
    label_kind: str | None = None

    def add(self, line: int, values: Any) -> None:
        """Adds a row.

        Args:
            line: The number of its first line, or of the object.
            values: A dict, or pairs of a column and its value.
        """
        self.rows.append(Row(values, self, line))

    def fail(self, problem: str, line: int | None = None) -> NoReturn:
        """Raises `BadFile` for what is wrong in a line, or in the file.

        Args:
            problem: What is wrong.
            line: Number of the line, or of the object; `None` for the file.
        """
        place = f", {self.unit} {line}" if line else ""
        raise BadFile(f"{self.path}{place}: {problem}")

    def require(self, *columns: str | None) -> None:
        """Raises `BadFile` unless there are these columns, each once."""
        header = 1 if isinstance(self.path, pathlib.Path) else None
        for name in columns:
            if name is not None and name not in self.columns:
                names = ", ".join(map(repr, self.columns))
                self.fail(f"no column {name!r}; there are {names}", header)
            if self.columns.count(name) > 1:
                self.fail(f"two columns are called {name!r}", header)


def read_table(
    path: str | pathlib.Path,
    kind: str | None = None,
    *,
    quoting: str = "csv",
    delimiter: str | None = None,
) -> Table:
    """Reads a CSV, TSV or JSONL file, or a list of objects in JSON.

    Args:
        path: The file, UTF-8, with or without a byte-order mark.
        kind: "csv", "jsonl" or "json"; by the end of the name where it is
            `None`.
        quoting: As in `from_csv`.
        delimiter: As in `from_csv`.

    Returns:
        Its rows; the facts are the name of the file, and how it was read.

    Raises:
        BadFile: If the file is no such table; the line is named.
    """
    if not isinstance(path, str | pathlib.PurePath):
        raise TypeError(
            "`path` must be that of a file; what is in memory goes to "
            f"`from_columns`. Received: {type(path).__name__}"
        )
    path = pathlib.Path(path)
    suffix = path.suffix.lower()
    kind = kind or suffix[1:]
    data = path.read_bytes()
    table = Table(path, "object" if kind == "json" else "line")
    table.facts["file"] = path.name
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        table.fail(
            f"not UTF-8: byte {data[error.start]:#04x}; what pandas, "
            "pyarrow or datasets can read goes to `from_columns`",
            line,
        )
    lines = io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", newline="\n")
    if kind == "json":
        objects = _parse(table, lines.read())
        if not isinstance(objects, list):
            table.fail("a JSON list of objects is expected")
        _add_objects(table, enumerate(objects, start=1))
    elif kind == "jsonl":
        numbered = enumerate(lines, start=1)
        filled = ((n, line) for n, line in numbered if line.strip())
        _add_objects(table, ((n, _parse(table, line, n)) for n, line in filled))
    else:
        if quoting not in ("csv", "none"):
            raise ValueError(
                f"`quoting` must be 'csv' or 'none'. Received: {quoting=}"
            )
        table.facts["quoting"] = quoting
        # The limit is of the whole process: never lower than it was.
        csv.field_size_limit(max(csv.field_size_limit(), len(data)))
        reader = csv.reader(
            lines,
            delimiter=delimiter or ("\t" if suffix == ".tsv" else ","),
            quoting=csv.QUOTE_NONE if quoting == "none" else csv.QUOTE_MINIMAL,
            strict=True,
        )
        _add_csv(table, reader)
    if not table.rows:
        table.fail("no rows")
    return table


def _add_csv(table, reader):
    line = 1
    try:
        # Many write a space behind the comma.
        table.columns = tuple(name.strip() for name in next(reader, []))
        if not table.columns:
            table.fail("no header with the names of the columns", 1)
        table.require(*table.columns)
        line, expected = reader.line_num + 1, len(table.columns)
        for cells in reader:
            if cells and len(cells) != expected:
                table.fail(
                    f"{len(cells)} columns where {expected} are expected "
                    f"({', '.join(table.columns)})",
                    line,
                )
            if cells:  # no empty line
                table.add(line, zip(table.columns, cells, strict=True))
            line = reader.line_num + 1
    except csv.Error as error:
        table.fail(
            f"not a row of a table: {error} (it goes on to line "
            f"{reader.line_num}); where quotes are part of the text use "
            "quoting 'none'",
            line,
        )


def _parse(table, text, line=None):
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        table.fail(f"not JSON: {error}", line)


def _add_objects(table, objects):
    for number, values in objects:
        if not isinstance(values, dict):
            table.fail(
                f"a JSON object is expected. Received: {values!r:.40}", number
            )
        table.columns = table.columns or tuple(values)
        table.add(number, values)
