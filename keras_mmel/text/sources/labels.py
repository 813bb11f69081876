"""Labels as tables have them: what kind they are, and what they stand for."""

import collections
import contextlib
import itertools
import re
from collections.abc import Sequence
from typing import Any

from keras_mmel.text.sources.records import Source
from keras_mmel.text.sources.tables import Row

Labels = list[int] | list[float] | list[None]

# Where there are more, numbers written as 1.0 are values.
_MOST_FLOAT_CLASSES = 20

# Beyond, not every whole number is a real number of 64 bits.
_LARGEST = 2**53

_INTEGER = re.compile(r"[+-]?[0-9]+")
_TYPES = {type(None): "missing", str: "a word"}


def read_labels(
    rows: Sequence[Row], column: str | None, names: Sequence[str] | None = None
) -> tuple[str | None, Sequence[str] | None, Labels]:
    """Finds out what kind all labels are, and reads them.

    Args:
        rows: A row of each example.
        column: The column of the labels, or `None` where there is none.
        names: What the labels 0, 1, ... are called in the file. Without them
            all labels must be whole numbers, or numbers, or words.

    Returns:
        The kind ("class", "value" or `None`), the names of the classes where
        they have any, and the labels.

    Raises:
        BadFile: If a label is of another kind than those before, or no class.
    """
    kind = rows[0].table.label_kind
    # The number of a class is no name, also where names are numbers.
    values = [_read(row, column, None if kind else names) for row in rows]
    types = [_TYPES.get(type(value), "a number") for value in values]
    for row, of_row in zip(rows, types, strict=True):
        if of_row != types[0]:
            row.fail(
                f"{column!r} is {of_row} where the rows before have "
                f"{types[0]}. Received: {row.get(column)!r:.40}"
            )
    if types[0] == "missing":
        return None, None, values
    if types[0] == "a word":
        names = sorted(set(values))
        numbers = {name: number for number, name in enumerate(names)}
        return "class", names, [numbers[value] for value in values]
    if kind is None:
        kind = "class" if _are_classes(values) else "value"
    if kind == "value":
        return kind, None, list(map(float, values))
    end = len(names) if names else _LARGEST
    for row, value in zip(rows, values, strict=True):
        if not 0 <= value < end:
            row.fail(
                f"{column!r} must be a class, counted from 0, and have a name "
                f"if any has. Received: {value}; if it stands for a hidden "
                "label, read the data without labels; values (regression) that "
                "are integers go to `InMemory(records, 'value')`"
            )
    return "class", names, list(map(int, values))


def notes_on_labels(
    kind: str | None, names: Sequence[str] | None, labels: Sequence[Any]
) -> list[str]:
    """Tells what was made of labels without given names, and may be wrong.

    Args:
        kind: As `read_labels` returns it.
        names: Likewise.
        labels: Likewise.

    Returns:
        Sentences for the user.
    """
    if kind == "value" and all(map(float.is_integer, labels)):
        why = "some are negative"
        if min(labels) >= 0:
            why = f"more than {_MOST_FLOAT_CLASSES} differ, written as 1.0"
        return [
            f"labels are whole numbers, read as values (regression): {why}; "
            "classes are integers, counted from 0, or have `label_names`"
        ]
    if kind != "class":
        return []
    if names:
        order = ", ".join(f"{i} {name}" for i, name in enumerate(names[:10]))
        more = ", ..." if len(names) > 10 else ""
        return [
            f"labels are words, numbered in alphabetical order ({order}{more}):"
            " data that lack one of them need `label_names`"
        ]
    classes = set(labels)
    missing = max(classes) + 1 - len(classes)
    if not missing:
        return []
    first = next(i for i in itertools.count() if i not in classes)
    return [
        f"{missing} of {missing + len(classes)} classes have no example, "
        f"the first is {first}: labels are counted from 0, and others need "
        "`label_names`"
    ]


def describe_labels(source: Source) -> str:
    """Tells what the labels of a source are, for a user to see.

    Args:
        source: The source; its labels are read.

    Returns:
        Such as "2 classes: bad 88, good 112" or "values from 0 to 5".
    """
    if source.label_kind is None:
        return "no labels"
    labels: list = [record.label for record in source.read(0, len(source))]
    if source.label_kind == "value":
        return f"values from {min(labels):g} to {max(labels):g}"
    counts = collections.Counter(labels)
    names = source.label_names or range(max(labels) + 1)
    shown = [f"{name} {counts[i]}" for i, name in enumerate(names[:10])]
    more = ", ..." if len(names) > 10 else ""
    return f"{len(names)} classes: {', '.join(shown)}{more}"


def _read(row, column, names):
    """Reads a label: `None`, a whole number, a number, or a word.

    With names it is the number of a class, or the row is refused: what the
    label is called, or else its place among names that are no numbers.
    """
    value = row.get(column)
    if isinstance(value, str):
        value = value.strip()
    if value is None or value == "":
        return None
    if names and str(value) in names:
        return names.index(str(value))  # also where the names are numbers
    if isinstance(value, str) and "_" not in value:  # which Python overreads
        # What is no number is a word, and stays as it is.
        with contextlib.suppress(ValueError):
            value = int(value) if _INTEGER.fullmatch(value) else float(value)
    if names:
        # pandas has 1.0 for 1 in a column where a label is missing.
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if str(value) in names:
            return names.index(str(value))
        is_place = isinstance(value, int) and value in range(len(names))
        # Where names are numbers, a number is a name.
        if not is_place or _INTEGER.fullmatch(names[value]):
            row.fail(
                f"{column!r} is none of the label names {', '.join(names)}. "
                f"Received: {row.get(column)!r:.40}"
            )
        return int(value)
    if isinstance(value, str):
        return value
    if not isinstance(value, int | float) or not -_LARGEST < value < _LARGEST:
        row.fail(f"{column!r} is no label. Received: {row.get(column)!r:.40}")
    return value


def _are_classes(values):
    """Tells whether numbers are classes: whole, and few or written so."""
    if all(isinstance(value, int) for value in values):
        return True
    different = set(values)
    return len(different) <= _MOST_FLOAT_CLASSES and all(
        value >= 0 and value == int(value) for value in different
    )
