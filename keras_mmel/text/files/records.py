"""What the files hold: an example with its views, as plain values."""

import dataclasses
from collections.abc import Iterator
from typing import Protocol


@dataclasses.dataclass(frozen=True)
class View:
    """One augmented view of an example.

    Attributes:
        texts: one text, or two of a pair.
        token_ids: ids with the special tokens; empty where nobody gave any.
        positions: indices into `token_ids` of the replaced tokens, in the
            order in which they were filled.
        log_prob: log-probability of the filled tokens; NaN where unknown.
        teacher: the teacher's class probabilities, or one value for
            regression; empty before the file was labelled.
    """

    texts: tuple[str, ...]
    token_ids: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()
    log_prob: float = float("nan")
    teacher: tuple[float, ...] = ()


@dataclasses.dataclass(frozen=True)
class Record:
    """One example of the files: the original and its augmented views.

    Attributes:
        example_id: unique within the files.
        texts: the original: one text, or two of a pair.
        label: class, value, or `None` where the examples have no labels.
        token_ids: ids of the original with the special tokens; empty where
            nobody gave any.
        views: the augmented views, the original not included.
        teacher: the teacher's prediction for the original, as in `View`.
    """

    example_id: str
    texts: tuple[str, ...]
    label: int | float | None = None
    token_ids: tuple[int, ...] = ()
    views: tuple[View, ...] = ()
    teacher: tuple[float, ...] = ()


@dataclasses.dataclass(frozen=True)
class Example:
    """One example of a text data set.

    Attributes:
        example_id: unique within the data set.
        texts: one text, or two of a pair.
        label: class, value, or `None` where there are no labels.
    """

    example_id: str
    texts: tuple[str, ...]
    label: int | float | None = None


class Source(Protocol):
    """A data set whose examples can be read in order from any place on.

    Attributes:
        num_texts: texts of an example, 1 or 2.
        label_kind: "class" for integers, "value" for real numbers, `None`
            where there are no labels.
        label_names: names of the classes, or `None`.
    """

    num_texts: int
    label_kind: str | None
    label_names: tuple[str, ...] | None

    def __len__(self) -> int:
        """Number of examples."""

    def read(self, start: int, stop: int) -> Iterator[Example]:
        """The examples from number `start` up to `stop`, in order."""

    def describe(self) -> dict:
        """What the record of the written files says of this source.

        Plain values without a path, the same on every machine, that change
        whenever the examples do.
        """


class First:
    """The first examples of a source.

    Args:
        source: a source.
        limit: how many examples to keep, at least 1.
    """

    def __init__(self, source: Source, limit: int):
        if limit < 1:
            raise ValueError(
                f"`limit` must be at least 1. Received: limit={limit}"
            )
        self._source = source
        self._length = min(limit, len(source))
        self.num_texts = source.num_texts
        self.label_kind = source.label_kind
        self.label_names = source.label_names

    def __len__(self) -> int:
        return self._length

    def read(self, start: int, stop: int) -> Iterator[Example]:
        """The examples from number `start` up to `stop`, in order."""
        return self._source.read(start, min(stop, self._length))

    def describe(self) -> dict:
        """The description of the whole source, and how many were kept."""
        return self._source.describe() | {"limit": self._length}
