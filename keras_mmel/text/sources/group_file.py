"""What all importers share: an index of a file's groups, read on demand."""

import abc
import collections.abc
import hashlib

from keras_mmel.text.sources.groups import Group
from keras_mmel.text.sources.groups import Labels
from keras_mmel.text.sources.problems import Problems
from keras_mmel.text.sources.rows import Row
from keras_mmel.text.sources.rows import offsets


class GroupFile(abc.ABC):
    """A checked file of groups; keeps places, not texts, in memory.

    A subclass finds the rows of each group in `_index` and makes a group of
    them in `_group`. Making one reads the whole file once and checks every
    row.

    Args:
        table: a `TableFile` or a `JsonLinesFile`.
        label_names: what the labels 0, 1, ... are called in the file.
        max_problems: how many bad lines to name at once.

    Raises:
        BadFile: naming the lines that are wrong.
    """

    num_texts: int

    def __init__(self, table, *, label_names=None, max_problems: int = 20):
        self.table = table
        self.ids: list[str] = []
        self.labels = Labels(label_names)
        self._places = []
        self._numbers: dict[str, int] = {}
        problems = Problems(table.path, max_problems)
        self._index(problems)
        problems.raise_any()
        if not self.ids:
            problems.limit = 1
            problems.add(None, "no rows")
        self._numbers = {name: i for i, name in enumerate(self.ids)}

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def label_kind(self) -> str | None:
        """`"class"`, `"value"`, or `None` where there are no labels."""
        return self.labels.kind

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """Names of the classes, where the labels have any."""
        return self.labels.names if self.label_kind == "class" else None

    def groups(
        self, start: int = 0, stop: int | None = None
    ) -> collections.abc.Iterator[Group]:
        """The groups from number `start` up to `stop`."""
        with open(self.table.path, "rb") as file:
            for number in range(*slice(start, stop).indices(len(self))):
                yield self._read(file, number)

    def group(self, example_id: str) -> Group:
        """The group of one example."""
        number = self._numbers[example_id]
        return next(self.groups(number, number + 1))

    def describe(self) -> dict[str, object]:
        """What the record of the written files says of this one."""
        return {
            "importer": type(self).__name__,
            "file": self.table.path.name,
            "sha256": _sha256(self.table.path),
            "quoting": self.table.quoting,
            "label_names": list(self.label_names or ()),
        }

    def notes(self) -> list[str]:
        """What a user should know of the file beyond its counts."""
        return []

    def _read(self, file, number):
        rows = [
            self.table.record_at(file, place) for place in self._places[number]
        ]
        return self._group(self.ids[number], rows)

    def _start(self, example_id: str, place: int) -> int:
        """Begin a group with the row at `place`; return its number."""
        self.ids.append(example_id)
        self._places.append(offsets())
        self._places[-1].append(place)
        return len(self.ids) - 1

    @abc.abstractmethod
    def _index(self, problems: Problems) -> None:
        """Find the groups of the file: call `_start` for each."""

    @abc.abstractmethod
    def _group(self, example_id: str, rows: list[Row]) -> Group:
        """Make a group of the rows that belong to it."""


def check_columns(table, columns, problems: Problems) -> None:
    """Raise `BadFile` unless the file has the `columns`."""
    missing = [c for c in columns if c not in table.columns]
    if missing:
        problems.limit = 1
        problems.add(
            1,
            f"no column {missing[0]!r}; there are "
            f"{', '.join(map(repr, table.columns))}",
        )


def _sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
