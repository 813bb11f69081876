"""Wide form: a row an example, with its views beside it, as nlpaug's users."""

from keras_mmel.text.sources.cells import parse_views
from keras_mmel.text.sources.group_file import GroupFile
from keras_mmel.text.sources.group_file import check_columns
from keras_mmel.text.sources.groups import Group
from keras_mmel.text.sources.groups import Texts
from keras_mmel.text.sources.groups import make_group
from keras_mmel.text.sources.groups import text_problem
from keras_mmel.text.sources.values import BadValue
from keras_mmel.text.sources.values import check_view
from keras_mmel.text.sources.values import read_id
from keras_mmel.text.sources.values import read_texts


class WideForm(GroupFile):
    """Groups of a file with an example in each row.

    Args:
        table: a `TableFile` or a `JsonLinesFile`.
        text: the column of the original, or both columns of a pair.
        views: one column with a list of views, as JSON or as Python prints
            it; or several columns, each with one view or nothing. A view of a
            pair is a list of two texts, or an object with the names in `text`.
        label: the column of the labels, if there is one.
        id: the column of the ids; without it the rows are numbered from 0.
        label_names: what the labels 0, 1, ... are called in the file.
        max_problems: how many bad lines to name at once.

    Raises:
        BadFile: naming the lines that are wrong.

    Example:

    ```python
    from keras_mmel.text import sources

    table = sources.open_table("views.jsonl")
    groups = sources.WideForm(table, ("text",), ("augmented",), "label")
    ```
    """

    def __init__(
        self,
        table,
        text: tuple[str, ...],
        views: tuple[str, ...],
        label: str | None = None,
        *,
        id: str | None = None,
        label_names=None,
        max_problems: int = 20,
    ):
        self._text = tuple(text)
        self.num_texts = len(self._text)
        self._views = tuple(views)
        self._label = label
        self._id = id
        super().__init__(
            table, label_names=label_names, max_problems=max_problems
        )

    def describe(self) -> dict[str, object]:
        """What the record of the written files says of this one."""
        return super().describe() | {
            "text": list(self._text),
            "views": list(self._views),
            "label": self._label,
            "id": self._id,
        }

    def _index(self, problems):
        named = [self._label, self._id, *self._text, *self._views]
        check_columns(self.table, [c for c in named if c], problems)
        lines: dict[str, int] = {}
        number = 0
        for record in self.table.records(problems):
            try:
                name = str(number)
                number += 1
                if self._id:
                    name = read_id(record.row, self._id)
                if name in lines:
                    raise BadValue(
                        f"id {name!r} stands also in line {lines[name]}"
                    )
                self._look_at(record.row)
            except BadValue as error:
                problems.add(record.line, str(error))
                continue
            lines[name] = record.line
            self._start(name, record.offset)

    def _look_at(self, row):
        read_texts(row, self._text)
        self._read_views(row)
        if self._label:
            problem = self.labels.add(row.get(self._label), self._label)
            if problem:
                raise BadValue(problem)

    def _group(self, example_id, rows) -> Group:
        (row,) = rows
        label = self.labels.read(row[self._label]) if self._label else None
        original = read_texts(row, self._text)
        return make_group(example_id, original, label, self._read_views(row))

    def _read_views(self, row) -> list[Texts]:
        return [
            view for column in self._views for view in self._in(row, column)
        ]

    def _in(self, row, column):
        value = row.get(column)
        if value is None or value == "":
            return
        try:
            cells = parse_views(value)
        except ValueError as error:
            raise BadValue(f"{column!r}: {error}") from None
        if len(self._text) == 2 and _is_one_pair(cells):
            cells = [cells]
        for number, cell in enumerate(cells, start=1):
            where = column if len(cells) == 1 else f"{column}[{number}]"
            texts = self._texts(cell, where)
            for text in texts:
                problem = text_problem(text, where)
                if problem:
                    raise BadValue(problem)
            yield check_view(texts, (where,))

    def _texts(self, cell, where) -> Texts:
        if len(self._text) == 1:
            return (cell,)
        if isinstance(cell, dict) and set(cell) == set(self._text):
            return tuple(cell[column] for column in self._text)
        if isinstance(cell, list) and len(cell) == 2:
            return tuple(cell)
        raise BadValue(
            f"{where!r} must be a list of two texts, as the text is a pair"
        )


def _is_one_pair(cells):
    """Whether a cell holds one pair and not a list of pairs."""
    return len(cells) == 2 and all(isinstance(cell, str) for cell in cells)
