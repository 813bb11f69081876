"""Long form: a row a view, as TextAttack's command line and pandas write it."""

import array
import hashlib

from keras_mmel.text.sources.group_file import GroupFile
from keras_mmel.text.sources.group_file import check_columns
from keras_mmel.text.sources.groups import Group
from keras_mmel.text.sources.groups import make_group
from keras_mmel.text.sources.values import BadValue
from keras_mmel.text.sources.values import read_id
from keras_mmel.text.sources.values import read_texts
from keras_mmel.text.sources.values import read_view


class LongForm(GroupFile):
    """Groups of a file with a view in each row.

    The rows of a group share an id (`id`), or their original text
    (`original`), or both; they need not stand together. Without `original`
    the first row of an id is the original, as `textattack augment` and a table
    of originals followed by a table of views have it.

    Args:
        table: a `TableFile` or a `JsonLinesFile`.
        text: the column of a view, or both columns of a pair.
        label: the column of the labels, if there is one.
        id: the column of the ids.
        original: the columns of the original text.
        label_names: what the labels 0, 1, ... are called in the file.
        max_problems: how many bad lines to name at once.

    Raises:
        BadFile: naming the lines that are wrong.

    Example:

    ```python
    from keras_mmel.text import sources

    table = sources.open_table("views.csv")
    groups = sources.LongForm(table, ("text",), "label", id="id")
    ```
    """

    def __init__(
        self,
        table,
        text: tuple[str, ...],
        label: str | None = None,
        *,
        id: str | None = None,
        original: tuple[str, ...] | None = None,
        label_names=None,
        max_problems: int = 20,
    ):
        if id is None and original is None:
            raise ValueError(
                "rows of a group must be told apart by `id`, by `original`, "
                "or by the file that was augmented. Received: none of them"
            )
        self._text = tuple(text)
        self.num_texts = len(self._text)
        self._label = label
        self._id = id
        self._original = tuple(original) if original else None
        super().__init__(
            table, label_names=label_names, max_problems=max_problems
        )

    def describe(self) -> dict[str, object]:
        """What the record of the written files says of this one."""
        return super().describe() | {
            "text": list(self._text),
            "label": self._label,
            "id": self._id,
            "original": list(self._original or ()),
        }

    def _index(self, problems):
        named = [self._label, self._id, *self._text, *(self._original or ())]
        check_columns(self.table, [c for c in named if c], problems)
        numbers: dict[object, int] = {}
        lines = array.array("Q")
        first_labels: list[object] = []
        originals: list[bytes] = []
        for record in self.table.records(problems):
            try:
                key, label, original = self._look_at(record.row)
            except BadValue as error:
                problems.add(record.line, str(error))
                continue
            number = numbers.get(key)
            if number is None:
                name = key if self._id else str(len(self.ids))
                numbers[key] = self._start(name, record.offset)
                lines.append(record.line)
                first_labels.append(label)
                originals.append(original)
                continue
            self._places[number].append(record.offset)
            if self._original is None:
                self._check_view(record, problems)
            where = f"line {lines[number]}"
            if label != first_labels[number]:
                problems.add(
                    record.line,
                    f"label {label!r}, but {first_labels[number]!r} in "
                    f"{where}, of the same original",
                )
            if original != originals[number]:
                problems.add(
                    record.line,
                    f"another original than in {where}, with the same id "
                    f"{key!r}",
                )

    def _check_view(self, record, problems):
        try:
            read_view(record.row, self._text)
        except BadValue as error:
            problems.add(record.line, str(error))

    def _look_at(self, row):
        """What a row belongs to, its label, and a digest of its original."""
        if self._original:
            texts = read_texts(row, self._original)
            original = _digest(texts)
            if read_texts(row, self._text) != texts:
                read_view(row, self._text)
        else:
            original = b""
            read_texts(row, self._text)
        label = row.get(self._label) if self._label else None
        if self._label:
            problem = self.labels.add(label, self._label)
            if problem:
                raise BadValue(problem)
        key = read_id(row, self._id) if self._id else original
        return key, label, original

    def _group(self, example_id, rows) -> Group:
        first = rows[0]
        original = read_texts(first, self._original or self._text)
        label = self.labels.read(first[self._label]) if self._label else None
        views = [read_texts(row, self._text) for row in rows]
        if self._original is None:
            views = views[1:]
        return make_group(example_id, original, label, views)


def _digest(texts):
    """Sixteen bytes in the place of a text that may be long."""
    joined = "\0".join(texts).encode("utf-8")
    return hashlib.blake2b(joined, digest_size=16).digest()
