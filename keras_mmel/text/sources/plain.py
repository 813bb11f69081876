"""Examples in CSV, TSV and JSONL files.

In plain and in wide form a row is an example, without views or with them; in
long form, as other tools write augmented text, a row is a view.
"""

import pathlib
from collections.abc import Sequence

from keras_mmel.text.sources.labels import notes_on_labels
from keras_mmel.text.sources.labels import read_labels
from keras_mmel.text.sources.records import InMemory
from keras_mmel.text.sources.records import Record
from keras_mmel.text.sources.records import View
from keras_mmel.text.sources.records import check_names
from keras_mmel.text.sources.tables import Row
from keras_mmel.text.sources.tables import Table
from keras_mmel.text.sources.tables import Texts
from keras_mmel.text.sources.tables import read_table


def from_csv(
    path: str | pathlib.Path,
    text: str | Sequence[str],
    label: str | None = None,
    id: str | None = None,
    *,
    views: str | Sequence[str] = (),
    label_names: Sequence[str] | None = None,
    quoting: str = "csv",
    delimiter: str | None = None,
) -> InMemory:
    """Reads examples from a CSV or TSV file, an example in each row.

    The whole file is read and checked at once.

    Args:
        path: The file, UTF-8, with a header.
        text: The column with the text, or the two of a pair.
        label: The column with the labels. Where all are whole numbers they
            are classes, counted from 0 (written as `1.0`, if there are at most
            20 of them); where all are numbers, values (regression); else
            words, which are numbered in alphabetical order: give `label_names`
            where another file has others of them.
        id: The column with the ids, unique; the number of the row, from 0,
            where it is `None`.
        views: Augmented text of another tool, if there is any: one column
            with a JSON list of views, or several columns, each with one view
            or nothing. A view of a pair is a list of two texts.
        label_names: Words that stand for the classes 0, 1, ..., in the file
            or where the labels are whole numbers.
        quoting: `"csv"` where quotes enclose a cell, `"none"` where they are
            part of the text, as in many TSV files.
        delimiter: Between the cells; a tab for `.tsv`, else a comma.

    Returns:
        A source for `write_augmented`.

    Raises:
        ValueError: If a column or a value is missing or of another kind, an
            id occurs twice, or bytes are not UTF-8; the file and the line
            are named. If `label_names` are not different strings.

    Example:

    ```python
    from keras_mmel.text.files import from_csv

    source = from_csv("pairs.tsv", text=["question", "answer"], label="good")
    next(source.read(0, 1))  # Record('0', ('Why?', 'Because.'), 1, ...)
    ```
    """
    table = read_table(path, "csv", quoting=quoting, delimiter=delimiter)
    return one_a_row(table, text, label, id, views, label_names)


def from_jsonl(
    path: str | pathlib.Path,
    text: str | Sequence[str],
    label: str | None = None,
    id: str | None = None,
    *,
    views: str | Sequence[str] = (),
    label_names: Sequence[str] | None = None,
) -> InMemory:
    """Reads examples from a file with a JSON object a line; see `from_csv`.

    Args:
        path: The file, UTF-8; where its name ends in .json a list of objects.
        text: The key of the text, or the two of a pair.
        label: The key of the labels, as in `from_csv`.
        id: The key of the ids, words or integers.
        views: The key of the views, as in `from_csv`.
        label_names: As in `from_csv`.

    Returns:
        A source for `write_augmented`.

    Raises:
        ValueError: As in `from_csv`.
    """
    is_list = str(path).lower().endswith(".json")
    table = read_table(path, "json" if is_list else "jsonl")
    return one_a_row(table, text, label, id, views, label_names)


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
    from keras_mmel.text import files

    source = files.from_long("views.csv", "text", "label", id="id")
    files.write_augmented("imported", source)
    ```
    """
    if id is None and original is None:
        raise ValueError(
            "Rows of a group must be told apart by `id` or by `original`. "
            "Received: none of them"
        )
    table, columns = read_table(path, quoting=quoting), as_columns("text", text)
    originals = () if original is None else as_columns("original", original)
    table.require(label, id, *columns, *originals)

    groups: dict = {}
    for row in table.rows:
        texts = row.texts(columns)
        of_original = row.texts(originals) if originals else texts
        key = of_original if id is None else row.id(id)
        # The original text would be too long for an id.
        example_id = str(len(groups)) if id is None else key
        group = groups.setdefault(key, (example_id, row, of_original, []))
        _, first_row, first_original, views = group
        place = f"in {table.unit} {first_row.line}, of the same example"
        if row.get(label) != first_row.get(label):
            row.fail(
                f"label {row.get(label)!r}, "
                f"but {first_row.get(label)!r} {place}"
            )
        if originals and of_original != first_original:
            row.fail(f"another original than {place}")
        if originals or row is not first_row:
            # An empty original may stand among the views; it is dropped later.
            if texts != first_original:
                row.check_view(texts)
            views.append(texts)
    table.facts |= {"text": columns, "id": id, "original": originals}
    return as_source(list(groups.values()), label, label_names)


def one_a_row(
    table: Table,
    text: str | Sequence[str],
    label: str | None,
    id: str | None = None,
    views: str | Sequence[str] = (),
    label_names: Sequence[str] | None = None,
) -> InMemory:
    """Makes a source of a table with an example in each row.

    Args:
        table: The table.
        text: As in `from_csv`.
        label: As in `from_csv`.
        id: As in `from_csv`.
        views: As in `from_csv`.
        label_names: As in `from_csv`.

    Returns:
        The source.

    Raises:
        BadFile: As `from_csv` does.
    """
    columns = as_columns("text", text)
    views = (views,) if isinstance(views, str) else tuple(views)
    table.require(*columns, label, id, *views)
    groups = []
    for number, row in enumerate(table.rows):
        example_id = str(number) if id is None else row.id(id)
        texts_of_views = []
        for column in views:
            texts_of_views += row.views(column, num_texts=len(columns))
        groups.append((example_id, row, row.texts(columns), texts_of_views))
    table.facts |= {"text": columns, "id": id, "views": views}
    return as_source(groups, label, label_names)


def as_source(
    groups: Sequence[tuple[str, Row, Texts, Sequence[Texts]]],
    label: str | None,
    label_names: Sequence[str] | None,
) -> InMemory:
    """Makes a source of what was found in a table.

    Args:
        groups: Id, first row, original and views of each example. Views that
            are equal to their original or to another one are left out.
        label: The column of the labels, or `None`.
        label_names: As in `from_csv`.

    Returns:
        The source.

    Raises:
        BadFile: If a label is wrong or an id occurs twice; the line is named.
    """
    rows = [row for _, row, _, _ in groups]
    table = rows[0].table
    label_names = check_names(label_names)
    kind, names, labels = read_labels(rows, label, label_names)
    records, line_by_id, num_dropped = [], {}, 0
    for group, value in zip(groups, labels, strict=True):
        example_id, row, texts, views = group
        line = line_by_id.setdefault(example_id, row.line)
        if line != row.line:
            row.fail(f"the id {example_id!r} is that of {table.unit} {line}")
        # A dict for its order, which a set has not.
        new_views = dict.fromkeys(views)
        new_views.pop(texts, None)
        num_dropped += len(views) - len(new_views)
        of_example = tuple(map(View, new_views))
        records.append(Record(example_id, texts, value, views=of_example))
    notes = []
    if not label_names and table.label_kind != "value":
        notes = notes_on_labels(kind, names, labels)
    empty = [
        r.line for _, r, texts, _ in groups if not all(map(str.strip, texts))
    ]
    if empty:
        notes.append(
            f"{len(empty)} examples have an empty text, the first in "
            f"{table.unit} {empty[0]}"
        )
    merged = [r.line for _, r, texts, _ in groups if _look_like_rows(texts)]
    if merged:
        notes.append(
            f"{len(merged)} examples have tabs and line breaks in their texts, "
            f"the first in {table.unit} {merged[0]}: if these are "
            "several rows, quotes are text, and quoting is 'none'"
        )
    if num_dropped:
        notes.append(
            f"{num_dropped} views are left out, equal to their original or to "
            "another one"
        )
    facts = table.facts | {"label": label}
    return InMemory(records, kind, names, facts, notes)


def as_columns(name: str, columns: str | Sequence[str]) -> tuple[str, ...]:
    """Gives the columns of a text, or of the two of a pair, as a tuple.

    Args:
        name: The argument that the message names.
        columns: What was given for it: a column, or several.

    Returns:
        One column or two.

    Raises:
        ValueError: If there are more or none, or one twice.
    """
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    if len(names) not in (1, 2) or len(set(names)) < len(names):
        raise ValueError(
            f"`{name}` must name one column, or two that differ. "
            f"Received: {name}={columns!r}"
        )
    return names


def _look_like_rows(texts):
    text = "".join(texts)
    return "\t" in text and "\n" in text
