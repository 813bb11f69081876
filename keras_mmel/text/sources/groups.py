"""A group of texts as an importer reads it, and what each value must be."""

import dataclasses
import math
import re

Texts = tuple[str, ...]

_INTEGER = re.compile(r"[+-]?[0-9]+")


@dataclasses.dataclass(frozen=True)
class Group:
    """An original with its views, as another tool left them.

    Attributes:
        example_id: the id of the original.
        texts: the original: one text, or two of a pair.
        label: class, value, or `None`.
        views: augmented texts in the order of the file; distinct, none equal
            to the original.
        dropped: how many views were left out because they were equal to the
            original or to another view.
    """

    example_id: str
    texts: Texts
    label: int | float | None
    views: tuple[Texts, ...]
    dropped: int = 0


def make_group(example_id: str, texts: Texts, label, views) -> Group:
    """A `Group` of the distinct views among `views`."""
    distinct = dict.fromkeys(views)
    distinct.pop(texts, None)
    kept = tuple(distinct)
    return Group(example_id, texts, label, kept, len(views) - len(kept))


def text_problem(value, column: str) -> str | None:
    """What keeps `value` from being a text, or `None`."""
    if not isinstance(value, str):
        return f"{column!r} is no text. Received: {_short(value)}"
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return f"{column!r} holds half a character (a lone surrogate)"
    return None


class Labels:
    """Reads labels and settles what kind all of them are.

    Args:
        names: what the labels 0, 1, ... are called in the file. Without them
            all labels must be integers, or numbers, or words; words are
            numbered in alphabetical order.
    """

    def __init__(self, names=None):
        self._given = tuple(names) if names else None
        self._kind: str | None = None
        self._words: set[str] = set()

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the classes, where the labels have any."""
        if self._given:
            return self._given
        return tuple(sorted(self._words)) or None

    @property
    def kind(self) -> str | None:
        """`"class"`, `"value"`, or `None` where there are no labels."""
        kinds = {"integer": "class", "word": "class", "number": "value"}
        return kinds.get(self._kind)

    def add(self, value, column: str) -> str | None:
        """Look at one label; say what is wrong with it, or `None`."""
        kind = _kind(value)
        if self._given and value in self._given:
            kind = "word"  # also where the names are numbers
        if kind == "none":
            return f"{column!r} is no label. Received: {_short(value)}"
        if self._given and not self._is_class(value, kind):
            return (
                f"{column!r} is none of the label names "
                f"{', '.join(self._given)}. Received: {_short(value)}"
            )
        before = self._kind or kind
        if {before, kind} == {"integer", "number"}:
            before = kind = "number"
        if kind != before:
            return (
                f"{column!r} is {_KINDS[kind]} where the rows before have "
                f"{_KINDS[before]}. Received: {_short(value)}"
            )
        self._kind = kind
        if kind == "word" and not self._given:
            self._words.add(value)
            if len(self._words) > _MOST_CLASSES:
                return f"{column!r} holds too many words to be classes"
        return None

    def _is_class(self, value, kind):
        if kind == "integer":
            return -1 <= int(value) < len(self._given)
        return kind == "missing" or value in self._given

    def read(self, value) -> int | float | None:
        """The label that `value` stands for, after all were looked at."""
        if self._kind == "missing":
            return None
        if self._kind == "word":
            return self.names.index(value)
        return float(value) if self._kind == "number" else int(value)


_MOST_CLASSES = 1000
_KINDS = {
    "missing": "missing",
    "integer": "an integer",
    "number": "a number",
    "word": "a word",
}


def _kind(value):
    if value is None or value == "":
        return "missing"
    if isinstance(value, str):
        if _INTEGER.fullmatch(value):
            return "integer"
        try:
            value = float(value)
        except ValueError:
            return "word"
    if isinstance(value, bool | int):
        return "integer"
    if isinstance(value, float) and math.isfinite(value):
        return "number"
    return "none"


def _short(value):
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
