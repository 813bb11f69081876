"""Rows of CSV, TSV and JSONL files, each with its place in the file."""

import array
import codecs
import collections.abc
import csv
import dataclasses
import json
import pathlib

from keras_mmel.text.sources.problems import Problems

Row = dict[str, object]

_CHANGED = "the file changed while it was read"


@dataclasses.dataclass(frozen=True)
class Record:
    """One row: where it starts in bytes, its first line from 1, its values."""

    offset: int
    line: int
    row: Row


class TableFile:
    """A CSV or TSV file, read row by row or from a given place.

    A row is a dict of strings. Cells may hold line breaks where they are
    quoted. Every row must have as many cells as the header.

    Args:
        path: the file, UTF-8, with or without a byte-order mark.
        columns: names of the columns where the file has no header.
        has_header: whether the first row is a header; with `columns` it is
            skipped.
        quoting: `"csv"` where quotes enclose a cell, `"none"` where they are
            part of the text.
        delimiter: of the cells; a tab for `.tsv`, else a comma.
    """

    def __init__(
        self,
        path,
        *,
        columns: tuple[str, ...] | None = None,
        has_header: bool = True,
        quoting: str = "csv",
        delimiter: str | None = None,
    ):
        self.path = pathlib.Path(path)
        self._has_header = has_header
        if delimiter is None:
            is_tsv = self.path.suffix.lower() == ".tsv"
            delimiter = "\t" if is_tsv else ","
        self._dialect = {"delimiter": delimiter, "strict": True}
        if quoting == "none":
            self._dialect["quoting"] = csv.QUOTE_NONE
        self.quoting = quoting
        self._columns = columns

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns; raises `BadFile` where the header is bad."""
        if self._columns is None:
            problems = Problems(self.path)
            with open(self.path, "rb") as file:
                lines = _Lines(file, 0, 1)
                cells = _next_row(csv.reader(lines, **self._dialect), lines)
            if isinstance(cells, str):
                problems.add(1, cells)
            if not cells:
                problems.add(1, "no header with the names of the columns")
            twice = sorted({c for c in cells if cells.count(c) > 1})
            if twice:
                problems.add(1, f"two columns are called {twice[0]!r}")
            self._columns = tuple(cells)
        return self._columns

    def records(self, problems: Problems) -> collections.abc.Iterator[Record]:
        """Rows in order; what cannot be read is noted and left out."""
        columns = self.columns
        with open(self.path, "rb") as file:
            lines = _Lines(file, 0, 1)
            reader = csv.reader(lines, **self._dialect)
            skip = self._has_header
            while True:
                offset, line = lines.offset, lines.line
                cells = _next_row(reader, lines)
                if cells is None:
                    return
                if isinstance(cells, str):
                    problems.add(line, self._explain(cells, line, lines.line))
                    # What the parser half read is of no use to the next row.
                    reader = csv.reader(lines, **self._dialect)
                elif skip:
                    skip = False
                elif not cells:
                    continue  # an empty line
                elif len(cells) != len(columns):
                    problems.add(
                        line,
                        f"{len(cells)} columns where {len(columns)} are "
                        f"expected ({', '.join(columns)})",
                    )
                else:
                    row = dict(zip(columns, cells, strict=True))
                    yield Record(offset, line, row)

    def record_at(self, file, offset: int) -> Row:
        """The row that starts at `offset` of the open binary `file`."""
        file.seek(offset)
        lines = _Lines(file, offset, 0)
        cells = _next_row(csv.reader(lines, **self._dialect), lines)
        return self._row(cells)

    def records_from(self, offset: int) -> collections.abc.Iterator[Row]:
        """The rows from the one that starts at `offset` on, in order."""
        with open(self.path, "rb") as file:
            file.seek(offset)
            lines = _Lines(file, offset, 0)
            reader = csv.reader(lines, **self._dialect)
            while (cells := _next_row(reader, lines)) is not None:
                if cells:
                    yield self._row(cells)

    def _row(self, cells):
        if not isinstance(cells, list) or len(cells) != len(self.columns):
            Problems(self.path).add(None, _CHANGED)
        return dict(zip(self.columns, cells, strict=True))

    def _explain(self, message, first, after):
        if self.quoting == "csv" and "UTF-8" not in message:
            span = f" (the row goes on to line {after - 1})"
            return (
                f"{message}{span if after - 1 > first else ''}; where quotes "
                "are part of the text use quoting 'none'"
            )
        return message


class JsonLinesFile:
    """A file with a JSON object a line, read as `TableFile` is.

    Args:
        path: the file, UTF-8.
    """

    quoting = "json"

    def __init__(self, path):
        self.path = pathlib.Path(path)

    @property
    def columns(self) -> tuple[str, ...]:
        """Keys of the first object."""
        for record in self.records(Problems(self.path)):
            return tuple(record.row)
        return ()

    def records(self, problems: Problems) -> collections.abc.Iterator[Record]:
        """Objects in order; what cannot be read is noted and left out."""
        with open(self.path, "rb") as file:
            offset = 0
            for number, raw in enumerate(file, start=1):
                if raw.strip():
                    row = _parse_object(raw, number == 1)
                    if isinstance(row, str):
                        problems.add(number, row)
                    else:
                        yield Record(offset, number, row)
                offset += len(raw)

    def record_at(self, file, offset: int) -> Row:
        """The object that starts at `offset` of the open binary `file`."""
        file.seek(offset)
        return self._row(file.readline(), offset)

    def records_from(self, offset: int) -> collections.abc.Iterator[Row]:
        """The objects from the one that starts at `offset` on, in order."""
        with open(self.path, "rb") as file:
            file.seek(offset)
            for raw in file:
                if raw.strip():
                    yield self._row(raw, offset)
                offset += len(raw)

    def _row(self, raw, offset):
        row = _parse_object(raw, offset == 0)
        if isinstance(row, str):
            Problems(self.path).add(None, _CHANGED)
        return row


def open_table(path, quoting: str = "csv") -> TableFile | JsonLinesFile:
    """A reader of the file's rows, chosen by the end of its name."""
    if pathlib.Path(path).suffix.lower() == ".jsonl":
        return JsonLinesFile(path)
    return TableFile(path, quoting=quoting)


def offsets() -> array.array:
    """An empty array for places in a file: eight bytes each."""
    return array.array("Q")


class _Lines:
    """Decoded lines of a binary file; knows where the next one starts."""

    def __init__(self, file, offset, line):
        self._file = file
        self.offset = offset
        self.line = line
        self.error = None

    def __iter__(self):
        return self

    def __next__(self):
        raw = self._file.readline()
        if not raw:
            raise StopIteration
        start = len(codecs.BOM_UTF8) if self.offset == 0 else 0
        self.offset += len(raw)
        self.line += 1
        if start and raw.startswith(codecs.BOM_UTF8):
            raw = raw[start:]
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            # Not through the parser: it would lose count of its rows.
            self.error = _not_utf8(error)
            raise


def _next_row(reader, lines):
    """The next row as a list, None at the end, or what is wrong as text."""
    try:
        return next(reader)
    except StopIteration:
        return None
    except UnicodeDecodeError:
        return lines.error
    except csv.Error as error:
        return f"not a row of a table: {error}"


def _parse_object(raw, first):
    if first and raw.startswith(codecs.BOM_UTF8):
        raw = raw[len(codecs.BOM_UTF8) :]
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return _not_utf8(error)
    try:
        row = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        return f"not JSON: {error}"
    if not isinstance(row, dict):
        return f"a JSON object is expected. Received: {text.strip()[:40]}"
    return row


def _not_utf8(error):
    return (
        f"not UTF-8: byte {error.object[error.start]:#04x} at position "
        f"{error.start} of the line"
    )
