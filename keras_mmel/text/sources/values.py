"""Texts and ids of a row, or what is wrong with them."""

from keras_mmel.text.sources.groups import Texts
from keras_mmel.text.sources.groups import text_problem
from keras_mmel.text.sources.rows import Row


class BadValue(ValueError):
    """A value that cannot be used; caught where the line is known."""


def read_texts(row: Row, columns: tuple[str, ...]) -> Texts:
    """The texts of a row; raises `BadValue` where one is no text."""
    for column in columns:
        if column not in row:
            raise BadValue(f"no {column!r}")
        problem = text_problem(row[column], column)
        if problem:
            raise BadValue(problem)
    return tuple(row[column] for column in columns)


def read_view(row: Row, columns: tuple[str, ...]) -> Texts:
    """As `read_texts`, for a view, which must not be empty."""
    return check_view(read_texts(row, columns), columns)


def check_view(texts: Texts, columns: tuple[str, ...]) -> Texts:
    """Raise `BadValue` where a view has nothing in its (first) text."""
    if not any(text.strip() for text in texts):
        names = " and ".join(map(repr, columns))
        raise BadValue(f"an empty view: nothing in {names}")
    return texts


def read_id(row: Row, column: str) -> str:
    """The id of a row: a word or an integer."""
    value = row.get(column)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise BadValue(
            f"{column!r} must be a word or an integer. Received: {value!r}"
        )
    problem = text_problem(value, column)
    if problem:
        raise BadValue(problem)
    return value
