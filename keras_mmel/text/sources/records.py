"""Examples with their views as plain values, and the sources that give them."""

import dataclasses
import hashlib
import math
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any
from typing import Protocol

import numpy as np

# Integer classes, real values (regression), or no labels at all.
_LABEL_TYPES: dict[str | None, tuple[type, ...]] = {
    "class": (int, np.integer),
    "value": (int, float, np.integer, np.floating),
    None: (type(None),),
}

NO_LABEL = -1
"""Stored as the label where there is none, as GLUE does."""


@dataclasses.dataclass(frozen=True, slots=True)
class View:
    """One augmented view of an example.

    Attributes:
        texts: One text, or two of a pair.
        token_ids: Ids with the special tokens; empty where nobody gave any.
        positions: Indices into `token_ids` of the replaced tokens, in the
            order in which they were filled.
        teacher: The teacher's class probabilities, or one value for
            regression; empty before the file was labelled.
    """

    texts: tuple[str, ...]
    token_ids: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()
    teacher: tuple[float, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """One example of a text data set, with its augmented views if it has any.

    Attributes:
        example_id: Unique within the data set.
        texts: The original: one text, or two of a pair.
        label: Class, value, or `None` where the examples have no labels.
        token_ids: Ids of the original with the special tokens; empty where
            nobody gave any.
        views: The augmented views, the original not included.
        teacher: The teacher's prediction for the original, as in `View`.
    """

    example_id: str
    texts: tuple[str, ...]
    label: int | float | None = None
    token_ids: tuple[int, ...] = ()
    views: tuple[View, ...] = ()
    teacher: tuple[float, ...] = ()


def as_text(texts: tuple[Any, ...]) -> Any:
    """Gives the texts of a record as tokenizers take them: one, or a pair."""
    return texts[0] if len(texts) == 1 else texts


def check_names(label_names: Any) -> tuple[str, ...] | None:
    """Returns the names of classes as a tuple, or raises.

    Args:
        label_names: A list of different strings, or an array or a Series of
            them; `None` for no names.

    Returns:
        The names, or `None`.

    Raises:
        ValueError: If it is something else.
    """
    if label_names is None:
        return None
    # Of a string, every letter would be a name; of a dict, every key.
    is_row = isinstance(label_names, Sequence) or hasattr(
        label_names, "__array__"
    )
    is_list = is_row and not isinstance(label_names, str)
    names = list(label_names) if is_list else []
    different = {name for name in names if isinstance(name, str)}
    if not 0 < len(different) == len(names):
        raise ValueError(
            "`label_names` must be a list of different strings, a name for "
            "each class in their order, '4' for 4. "
            f"Received: label_names={label_names!r}"
        )
    return tuple(map(str, names))


def check_label(
    record: Record, label_kind: str | None, num_classes: int | None
) -> None:
    """Raises ValueError where a label is of another kind than its source says.

    Args:
        record: The record.
        label_kind: "class", "value" or `None`.
        num_classes: Number of classes, where they have names; a label of -1 is
            a hidden one.
    """
    label: Any = record.label
    is_bool = isinstance(label, bool)
    fits = isinstance(label, _LABEL_TYPES[label_kind]) and not is_bool
    if fits and label_kind == "class" and num_classes:
        fits = NO_LABEL <= label < num_classes
    if fits and label_kind == "value":
        fits = math.isfinite(label)
    if not fits:
        classes = f", of {num_classes} classes" if num_classes else ""
        raise ValueError(
            f"The label of example {record.example_id!r} must be as its source "
            f"says: label_kind={label_kind!r}{classes}. Received: {label!r}"
        )


class Source(Protocol):
    """A data set whose examples can be read in order from any place on.

    Attributes:
        num_texts: Texts of an example, 1 or 2.
        label_kind: "class" for integers, "value" for real numbers, `None`
            where there are no labels.
        label_names: Names of the classes, or `None`.
    """

    num_texts: int
    label_kind: str | None
    label_names: tuple[str, ...] | None

    def __len__(self) -> int:
        """Number of examples."""

    def read(self, start: int, stop: int) -> Iterator[Record]:
        """Reads the examples from number `start` up to `stop`, in order.

        Args:
            start: Number of the first example, from 0.
            stop: Number behind the last one; beyond the end is no error.

        Returns:
            An iterator over the records.
        """

    def describe(self) -> dict:
        """Tells where the examples are from, for the files made of them.

        Plain values without a path, the same on every machine, that change
        whenever the examples do.
        """


class InMemory:
    """A source that holds its records in memory.

    Args:
        records: The records; their ids differ.
        label_kind: "class", "value" or `None`.
        label_names: Names of the classes.
        description: Plain values that tell where the records are from, for
            `describe`.
        notes: Sentences that tell the user what was done to the data.

    Raises:
        TypeError: If they hold something else: an id that is no string, or
            texts that are no tuple of one or two.
        ValueError: If there is no record, an id occurs twice, some are pairs
            and some are not, there is no such kind of labels, a label is of
            another kind or has no name, names are not different strings, or a
            text is no valid Unicode.

    Example:

    ```python
    from keras_mmel.text.files import InMemory
    from keras_mmel.text.files import Record

    records = [Record("0", ("so good",), 1), Record("1", ("too long",), 0)]
    source = InMemory(records, "class", ("bad", "good"))
    ```
    """

    def __init__(
        self,
        records: Iterable[Record],
        label_kind: str | None = None,
        label_names: Sequence[str] | None = None,
        description: dict | None = None,
        notes: Sequence[str] = (),
    ):
        if label_kind not in ("class", "value", None):
            raise ValueError(
                "`label_kind` must be 'class', 'value' or None. "
                f"Received: label_kind={label_kind!r}"
            )
        names = check_names(label_names)
        self.records = list(records)
        if not self.records:
            raise ValueError("There must be examples. Received: none")
        number_by_id: dict[str, int] = {}
        counts = set()
        for number, record in enumerate(self.records):
            _check_record(record)
            if label_kind is not None:
                check_label(record, label_kind, len(names or ()))
            counts.add(len(record.texts))
            counts.update(len(view.texts) for view in record.views)
            first = number_by_id.setdefault(record.example_id, number)
            if first != number:
                raise ValueError(
                    "Ids of examples must differ. Received: "
                    f"{record.example_id!r} for examples {first} and {number}"
                )
        if len(counts) > 1:
            raise ValueError(
                "All examples and views must have one text, or all of them "
                "two. Received: both in one source"
            )
        if label_kind == "value":
            self.records = list(map(_with_value, self.records))
        (self.num_texts,) = counts
        self.label_kind = label_kind
        self.label_names = names
        self.notes = tuple(notes)
        self._description = description

    def __len__(self) -> int:
        return len(self.records)

    def read(self, start: int, stop: int) -> Iterator[Record]:
        """Reads the examples from number `start` up to `stop`, in order.

        Args:
            start: Number of the first example, from 0.
            stop: Number behind the last one; beyond the end is no error.

        Returns:
            An iterator over the records.
        """
        return iter(self.records[start:stop])

    def describe(self) -> dict:
        """Tells where the examples are from, and them apart from others."""
        digest = hashlib.blake2b(digest_size=16)
        for record in self.records:
            digest.update(repr(record).encode("utf-8", "surrogatepass"))
        return (self._description or {}) | {"records": digest.hexdigest()}


def _with_value(record):
    # Those who read labels take an integer for a class.
    if isinstance(record.label, float):
        return record
    return dataclasses.replace(record, label=float(record.label))


def _check_record(record):
    fits = isinstance(record, Record) and isinstance(record.example_id, str)
    for row in (record, *record.views) if fits else ():
        texts = row.texts if isinstance(row.texts, tuple | list) else ()
        fits &= len(texts) in (1, 2) and all(isinstance(t, str) for t in texts)
    if not fits:
        raise TypeError(
            "A `Record` has a string as `example_id`, str(7) for 7, and as "
            "`texts`, as its views have, a tuple of one string, or of two for "
            "a pair; columns go to `from_columns`. "
            f"Received: {record!r:.200}"
        )
    for row in (record, *record.views):
        try:
            "".join(row.texts).encode()
        except UnicodeEncodeError:
            raise ValueError(
                "Texts must be valid Unicode (a lone surrogate comes from "
                "bytes that were not UTF-8). Received: example "
                f"{record.example_id!r} with {row.texts!r:.80}"
            ) from None
