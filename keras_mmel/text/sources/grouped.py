"""Augmented text of other tools in long form: a row a view."""

import pathlib
from collections.abc import Sequence

from keras_mmel.text.sources.plain import as_columns
from keras_mmel.text.sources.plain import as_source
from keras_mmel.text.sources.records import InMemory
from keras_mmel.text.sources.tables import Table


def from_long(
    path: str | pathlib.Path,
    text: str | Sequence[str],
    label: str | None = None,
    *,
    id: str | None = None,
    original: str | Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    quoting: str = "csv",
) -> InMemory:
    """Reads groups from a file with a view in each row.

    The rows of a group share an id (`id`), or their original text
    (`original`), or both; they need not stand together. Without `original`
    the first row of an id is the original, as a table of originals followed by
    a table of views has it.

    Args:
        path: A .csv, .tsv, .jsonl or .json file.
        text: The column of a view, or both columns of a pair.
        label: The column of the labels, if there is one.
        id: The column of the ids.
        original: The columns of the original text.
        label_names: As in `from_csv`.
        quoting: As in `from_csv`.

    Returns:
        A source whose records have views.

    Raises:
        BadFile: If a line is wrong; it is named.

    Example:

    ```python
    from keras_mmel import text
    from keras_mmel.text import sources

    source = sources.from_long("views.csv", "text", "label", id="id")
    text.write_augmented("imported", source)
    ```
    """
    if id is None and original is None:
        raise ValueError(
            "Rows of a group must be told apart by `id` or by `original`. "
            "Received: none of them"
        )
    table, columns = Table(path, quoting=quoting), as_columns("text", text)
    originals = () if original is None else as_columns("original", original)
    table.require(label, id, *columns, *originals)

    groups: dict = {}
    for row in table.rows:
        texts = row.texts(columns)
        original_texts = row.texts(originals) if originals else texts
        key = original_texts if id is None else row.id(id)
        is_first = key not in groups
        if is_first:
            # The original text would be too long for an id.
            example_id = str(len(groups)) if id is None else key
            groups[key] = (example_id, row, original_texts, [])
        _, first_row, first_original, views = groups[key]
        place = f"in {table.unit} {first_row.line}, of the same example"
        if row.get(label) != first_row.get(label):
            row.fail(
                f"label {row.get(label)!r}, "
                f"but {first_row.get(label)!r} {place}"
            )
        if originals and original_texts != first_original:
            row.fail(f"another original than {place}")
        if originals or not is_first:
            # An empty original may stand among the views; it is dropped later.
            if texts != first_original:
                row.check_view(texts)
            views.append(texts)
    facts = {"text": list(columns), "id": id, "original": list(originals)}
    return as_source(list(groups.values()), label, label_names, facts)
