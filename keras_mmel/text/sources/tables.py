"""Rows of CSV, TSV, JSONL and JSON files, in memory."""

import csv
import hashlib
import io
import json
import pathlib
from collections.abc import Iterable
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


class Table:
    """A CSV, TSV or JSONL file, or a list of objects in JSON, in memory.

    Args:
        path: The file, UTF-8, with or without a byte-order mark.
        kind: "csv", "jsonl" or "json"; by the end of the name where it is
            `None`.
        quoting: As in `from_csv`.
        delimiter: As in `from_csv`.

    Attributes:
        columns: Names of the columns; of JSONL, keys of the first object.
        rows: The rows: strings, or whatever JSON holds.
        facts: Name and hash of the file, and how it was read.
        unit: What a number of a row counts: "line" or "object".

    Raises:
        BadFile: If the file is no such table; the line is named.
    """

    def __init__(
        self,
        path: str | pathlib.Path,
        kind: str | None = None,
        *,
        quoting: str = "csv",
        delimiter: str | None = None,
    ):
        if not isinstance(path, str | pathlib.PurePath):
            raise TypeError(
                "`path` must be that of a file; what is in memory goes to "
                f"`from_columns`. Received: {type(path).__name__}"
            )
        self.path: pathlib.Path | str = pathlib.Path(path)
        self.columns: tuple[str, ...] = ()
        self.rows: list[Row] = []
        suffix = self.path.suffix.lower()
        kind = kind or suffix[1:]
        self.unit = "object" if kind == "json" else "line"
        data = self.path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        self.facts = {"file": self.path.name, "sha256": digest}
        try:
            data.decode()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            self.fail(
                f"not UTF-8: byte {data[error.start]:#04x}; what pandas, "
                "pyarrow or datasets can read goes to `from_columns`",
                line,
            )
        lines = io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", newline="\n")
        if kind == "json":
            objects = self._parse(lines.read())
            if not isinstance(objects, list):
                self.fail("a JSON list of objects is expected")
            self._read_json(enumerate(objects, start=1))
        elif kind == "jsonl":
            self._read_json(
                (number, self._parse(line, number))
                for number, line in enumerate(lines, start=1)
                if line.strip()
            )
        else:
            if quoting not in ("csv", "none"):
                raise ValueError(
                    "`quoting` must be 'csv' or 'none'. "
                    f"Received: quoting={quoting!r}"
                )
            self.facts["quoting"] = quoting
            # The limit is of the whole process: never lower than it was.
            csv.field_size_limit(max(csv.field_size_limit(), len(data)))
            delimiter = delimiter or ("\t" if suffix == ".tsv" else ",")
            is_text = quoting == "none"
            reader = csv.reader(
                lines,
                delimiter=delimiter,
                quoting=csv.QUOTE_NONE if is_text else csv.QUOTE_MINIMAL,
                strict=True,
            )
            self._read_csv(reader)
        if not self.rows:
            self.fail("no rows")

    def fail(self, problem: str, line: int | None = None) -> NoReturn:
        """Raises `BadFile` for what is wrong in a line, or in the file.

        Args:
            problem: What is wrong.
            line: Number of the line, or of the object; `None` for the file.
        """
        place = f", {self.unit} {line}" if line else ""
        raise BadFile(f"{self.path}{place}: {problem}")

    def require(self, *columns: str | None) -> None:
        """Raises `BadFile` unless the file has these columns."""
        line = None if self.unit == "row" else 1  # that of the header
        for name in columns:
            if name is not None and name not in self.columns:
                names = ", ".join(map(repr, self.columns))
                self.fail(f"no column {name!r}; there are {names}", line)

    def _read_csv(self, reader):
        line = 1
        try:
            # Many write a space behind the comma.
            self.columns = tuple(name.strip() for name in next(reader, []))
            if not self.columns:
                self.fail("no header with the names of the columns", 1)
            for name in self.columns:
                if self.columns.count(name) > 1:
                    self.fail(f"two columns are called {name!r}", 1)
            line, expected = reader.line_num + 1, len(self.columns)
            for cells in reader:
                if cells and len(cells) != expected:
                    self.fail(
                        f"{len(cells)} columns where {expected} are expected "
                        f"({', '.join(self.columns)})",
                        line,
                    )
                if cells:  # no empty line
                    values = zip(self.columns, cells, strict=True)
                    self.rows.append(Row(values, self, line))
                line = reader.line_num + 1
        except csv.Error as error:
            self.fail(
                f"not a row of a table: {error} (it goes on to line "
                f"{reader.line_num}); where quotes are part of the text use "
                "quoting 'none'",
                line,
            )

    def _parse(self, text, line=None):
        try:
            return json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            self.fail(f"not JSON: {error}", line)

    def _read_json(self, objects):
        for line, values in objects:
            if not isinstance(values, dict):
                self.fail(
                    f"a JSON object is expected. Received: {values!r:.40}", line
                )
            self.columns = self.columns or tuple(values)
            self.rows.append(Row(values, self, line))
