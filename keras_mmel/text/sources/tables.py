"""Examples from CSV, TSV and JSONL files."""

import hashlib
import itertools
import pathlib
from collections.abc import Iterator
from collections.abc import Sequence

from keras_mmel.text.files.ids import IdHashes
from keras_mmel.text.files.records import Example
from keras_mmel.text.sources.groups import Labels
from keras_mmel.text.sources.problems import Problems
from keras_mmel.text.sources.rows import JsonLinesFile
from keras_mmel.text.sources.rows import TableFile
from keras_mmel.text.sources.rows import offsets
from keras_mmel.text.sources.values import BadValue
from keras_mmel.text.sources.values import read_id
from keras_mmel.text.sources.values import read_texts

_MOST_PROBLEMS = 20

# Where every 64th row starts is kept: next to no memory, and reading starts
# near enough to where it should.
_STRIDE = 64


def from_csv(
    path: str | pathlib.Path,
    text: str | Sequence[str],
    label: str | None = None,
    id: str | None = None,
    *,
    label_names: Sequence[str] | None = None,
    quoting: str = "csv",
    delimiter: str | None = None,
) -> "TableSource":
    """Examples from a CSV or TSV file, read row by row.

    The whole file is checked once, here; every bad line is named, up to 20.

    Args:
        path: the file, UTF-8, with a header.
        text: the column with the text, or the two of a pair.
        label: the column with the labels. Where all are integers they are
            classes; where all are numbers, values (regression); else words,
            which are numbered in alphabetical order.
        id: the column with the ids, unique; the number of the row, from 0,
            where it is `None`.
        label_names: words that stand for the classes 0, 1, ..., in the file
            or where the labels are integers.
        quoting: `"csv"` where quotes enclose a cell, `"none"` where they are
            part of the text, as in many TSV files.
        delimiter: of the cells; a tab for `.tsv`, else a comma.

    Returns:
        A source for `write_augmented`.

    Raises:
        ValueError: naming the file and the lines, where a column or a value
            is missing, an id occurs twice, or bytes are not UTF-8.

    Example:

    ```python
    from keras_mmel.text.files import from_csv

    source = from_csv("pairs.tsv", text=["question", "answer"], label="good")
    next(source.read(0, 1))  # Example('0', ('Why?', 'Because.'), 1)
    ```
    """
    table = TableFile(path, quoting=quoting, delimiter=delimiter)
    return TableSource(table, text, label, id, label_names, kind="csv")


def from_jsonl(
    path: str | pathlib.Path,
    text: str | Sequence[str],
    label: str | None = None,
    id: str | None = None,
    *,
    label_names: Sequence[str] | None = None,
) -> "TableSource":
    """Examples from a file with a JSON object a line; see `from_csv`.

    Args:
        path: the file, UTF-8.
        text: the key of the text, or the two of a pair.
        label: the key of the labels, as in `from_csv`.
        id: the key of the ids, words or integers.
        label_names: as in `from_csv`.

    Returns:
        A source for `write_augmented`.

    Raises:
        ValueError: as in `from_csv`.
    """
    table = JsonLinesFile(path)
    return TableSource(table, text, label, id, label_names, kind="jsonl")


class TableSource:
    """A checked file of examples; keeps places, not texts, in memory."""

    def __init__(self, table, text, label, id, label_names, *, kind):
        self._table, self._kind = table, kind
        self._text = (text,) if isinstance(text, str) else tuple(text)
        self._label, self._id = label, id
        if len(self._text) not in (1, 2):
            raise ValueError(
                f"`text` must name one or two columns. Received: text={text!r}"
            )
        self.num_texts = len(self._text)
        self._labels = Labels(label_names)
        self._places, self._length = offsets(), 0
        self._check_columns()
        self._check_rows()
        self.label_kind = self._labels.kind
        self.label_names = (
            self._labels.names if self.label_kind == "class" else None
        )
        with open(table.path, "rb") as file:
            self._sha256 = hashlib.file_digest(file, "sha256").hexdigest()

    def __len__(self) -> int:
        return self._length

    def read(self, start: int, stop: int) -> Iterator[Example]:
        """The examples from number `start` up to `stop`, in order."""
        for number, row in self._rows(start, stop):
            label = None
            if self._label is not None:
                label = self._labels.read(row[self._label])
            texts = read_texts(row, self._text)
            yield Example(self._id_of(row, number), texts, label)

    def describe(self) -> dict:
        """The name, hash and columns of the file."""
        return {
            "kind": self._kind,
            "file": self._table.path.name,
            "sha256": self._sha256,
            "quoting": self._table.quoting,
            "text": list(self._text),
            "label": self._label,
            "id": self._id,
        }

    def _check_columns(self):
        columns = self._table.columns
        for name in (*self._text, self._label, self._id):
            if name is not None and name not in columns:
                Problems(self._table.path).add(
                    1,
                    f"no column {name!r}; there are "
                    f"{', '.join(map(repr, columns))}",
                )

    def _check_rows(self):
        problems = Problems(self._table.path, _MOST_PROBLEMS)
        lines, hashes = offsets(), IdHashes()
        for record in self._table.records(problems):
            try:
                name = self._id_of(record.row, self._length)
                read_texts(record.row, self._text)
            except BadValue as error:
                problems.add(record.line, str(error))
                continue
            self._check_label(record, problems)
            hashes.add(name)
            lines.append(record.line)
            if self._length % _STRIDE == 0:
                self._places.append(record.offset)
            self._length += 1
        problems.raise_any()
        if not self._length:
            Problems(self._table.path).add(None, "no rows")
        rows = self._rows(0, self._length)
        ids = (self._id_of(row, number) for number, row in rows)
        repeated = hashes.repeated(ids)
        if repeated:
            name, first, second = repeated
            Problems(self._table.path).add(
                lines[second],
                f"the id {name!r} for the second time; it is that of line "
                f"{lines[first]}",
            )

    def _check_label(self, record, problems):
        if self._label is None:
            return
        if self._label not in record.row:
            problems.add(record.line, f"no {self._label!r}")
            return
        problem = self._labels.add(record.row[self._label], self._label)
        if problem:
            problems.add(record.line, problem)

    def _rows(self, start, stop):
        """Numbers and rows from `start` up to `stop`."""
        start, stop = max(start, 0), min(stop, self._length)
        if start < stop:
            first = start - start % _STRIDE
            rows = self._table.records_from(self._places[first // _STRIDE])
            rows = enumerate(rows, start=first)
            yield from itertools.islice(rows, start - first, stop - first)

    def _id_of(self, row, number):
        return str(number) if self._id is None else read_id(row, self._id)
