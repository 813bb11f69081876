"""Examples in columns in memory: pandas, pyarrow, datasets, a dict of lists."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_mmel.text.sources import plain
from keras_mmel.text.sources.records import InMemory
from keras_mmel.text.sources.records import check_names
from keras_mmel.text.sources.tables import Table


def from_columns(
    data: Any,
    texts: str | Sequence[str],
    label: str | None = None,
    label_names: Sequence[str] | None = None,
) -> InMemory:
    """Reads examples from anything with columns, an example in each row.

    That is a DataFrame of pandas or polars, a table of pyarrow, a
    `datasets.Dataset` or a dict of lists; no such library is needed. The id of
    an example is the number of its row, from 0.

    Args:
        data: The columns. It is read and checked at once.
        texts: The column with the text, or the two of a pair.
        label: The column with the labels, by the rules of `from_csv`. A missing
            one (NaN) is as an empty cell.
        label_names: As in `from_csv`; a `datasets.Dataset` has its own, and
            others are refused.

    Returns:
        A source for `write_augmented` and `read_plain`.

    Raises:
        TypeError: If `data` has no columns.
        ValueError: If a column or a value is missing or of another kind; the
            row is named, counted from 1.

    Example:

    ```python
    from keras_mmel.text.files import from_columns

    source = from_columns(
        {"review": ["so good", "too long"], "good": [1, 0]}, "review", "good"
    )
    ```
    """
    columns = plain.as_columns("texts", texts)
    # A table of pyarrow has its arrays as `columns`.
    names = getattr(data, "column_names", getattr(data, "columns", None))
    if isinstance(data, Mapping):
        names = list(data)
    kind = type(data).__name__
    if names is None:
        raise TypeError(
            "`data` must have columns, as a DataFrame, a table of pyarrow, a "
            "`datasets.Dataset` or a dict of lists have them. "
            f"Received: {kind}"
        )
    table = Table(kind, "row", tuple(names))
    wanted = columns if label is None else (*columns, label)
    table.require(*wanted)
    values = [_values(table, name, data[name]) for name in wanted]
    sizes = set(map(len, values))
    if len(sizes) > 1 or sizes == {0}:
        table.fail(f"columns of one length, not empty. Received: {sizes}")
    for number, cells in enumerate(zip(*values, strict=True), start=1):
        table.add(number, zip(wanted, cells, strict=True))
    features = getattr(data, "features", None)
    feature = features.get(label) if isinstance(features, Mapping) else None
    if own_names := getattr(feature, "names", None):
        if tuple(own_names) != (check_names(label_names) or tuple(own_names)):
            raise ValueError(
                "`label_names` must be None, or those that `data` has for "
                f"{label!r}: {own_names}. Received: label_names={label_names!r}"
            )
        label_names, table.label_kind = own_names, "class"
    return plain.one_a_row(table, columns, label, label_names=label_names)


def _values(table, name, column):
    if isinstance(column, str):  # its letters would be rows
        table.fail(f"{name!r} must be a list. Received: {column!r:.40}")
    for method in ("to_pylist", "tolist", "to_list"):
        if hasattr(column, method):
            column = getattr(column, method)()
            break
    return [_plain(value) for value in column]


def _plain(value):
    """A value of Python; None for what pandas has where there is none."""
    if isinstance(value, np.generic):
        value = value.item()
    is_missing = type(value).__name__ == "NAType" or value != value
    return None if is_missing else value
