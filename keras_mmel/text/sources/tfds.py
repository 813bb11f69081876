"""Examples of a TFDS data set."""

import os
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_mmel import extras
from keras_mmel.text.sources.plain import as_columns
from keras_mmel.text.sources.plain import one_a_row
from keras_mmel.text.sources.records import InMemory
from keras_mmel.text.sources.tables import Table

# Rows that come to NumPy at a time: one by one takes many times as long.
_BATCH = 1024


def from_tfds(
    name: str,
    split: str = "train",
    columns: str | Sequence[str] | None = None,
    label: str | None = "label",
    id: str | None = None,
    data_dir: str | os.PathLike | None = None,
) -> InMemory:
    """Reads examples of a TFDS data set, such as a task of GLUE.

    Args:
        name: Of the data set, such as "glue/rte"; a path is taken for a
            directory that TFDS has prepared.
        split: A split or a part of one, such as "train" or "train[:100]".
        columns: The feature with the text, or the two of a pair; `None` for
            those of a task of GLUE, and for one named "sentence".
        label: The feature with the label: integers are classes, real numbers
            values (regression); `None` for no labels, or hidden ones.
        id: The feature with the ids, unique; the number of the example, from
            0, where it is `None`.
        data_dir: Where TFDS keeps its data; prepared data is read, other
            data downloaded.

    Returns:
        A source for `write_augmented`.

    Raises:
        ValueError: If a feature is missing or of another kind, an id occurs
            twice, or a label is -1 (hidden); the example is named.

    Example:

    ```python
    from keras_mmel.text.files import from_tfds

    rte = from_tfds("glue/rte", "train", id="idx")
    films = from_tfds("imdb_reviews", "train", "text")
    ```
    """
    tfds = extras.need("tensorflow_datasets", "datasets")
    builder = prepared(name, data_dir)
    if columns is None:  # TFDS itself knows those of GLUE
        columns = getattr(builder.builder_config, "text_features", "sentence")
    columns = as_columns("columns", columns)
    features = builder.info.features
    table = Table(builder.info.full_name, "example", tuple(features))
    _check_features(table, features, columns, label, id)
    dataset = builder.as_dataset(
        split=split,
        shuffle_files=False,
        # One file after the other: a part lies as in the whole.
        read_config=tfds.ReadConfig(interleave_cycle_length=1),
    )
    wanted = [name for name in (*columns, label, id) if name is not None]
    # The other features, such as images, are not worth to be decoded.
    dataset = dataset.map(lambda row: {name: row[name] for name in wanted})
    for number, values in enumerate(_rows(dataset), start=1):
        table.add(number, values)
    table.facts = {"tfds": builder.info.full_name, "split": split}
    names = None
    if label is not None:
        names = getattr(features[label], "names", None)
        is_class = np.issubdtype(features[label].np_dtype, np.integer)
        table.label_kind = "class" if is_class else "value"
    return one_a_row(table, columns, label, id, label_names=names)


def prepared(name: str, data_dir: str | os.PathLike | None = None) -> Any:
    """Opens data that TFDS has, or downloads them where no folder is named.

    Args:
        name: As in `from_tfds`.
        data_dir: As in `from_tfds`.

    Returns:
        The builder of the data set, a `tfds.core.DatasetBuilder`.

    Raises:
        FileNotFoundError: If `data_dir` does not have the data.
    """
    tfds = extras.need("tensorflow_datasets", "datasets")
    if pathlib.Path(name, "features.json").is_file():
        try:
            return tfds.builder_from_directory(name)
        except Exception as error:  # of protobuf, too
            raise ValueError(
                "the files dataset_info.json and features.json must be whole; "
                "where `augment`, `label` or `import` made them, the same "
                f"command writes them anew. Received: {str(name)!r}: {error}"
            ) from error
    builder = tfds.builder(name, data_dir=data_dir)
    if data_dir is None:
        builder.download_and_prepare()
    elif not builder.is_prepared():
        raise FileNotFoundError(
            f"`data_dir` must have {name} as TFDS prepares it; without it the "
            f"data are downloaded. Received: data_dir={data_dir}"
        )
    return builder


def _check_features(table, features, columns, label, id):
    """Sees that the data set has what is asked for."""
    table.require(*columns, label, id)
    # Feature, what it holds, and the kinds of NumPy's dtypes of it.
    rules = [(name, "texts", "O") for name in columns]
    rules += [(label, "one number", "iuf"), (id, "words or integers", "iuO")]
    for name, what, kinds in rules:
        if name is None:
            continue
        feature = features[name]
        if feature.shape != () or np.dtype(feature.np_dtype).kind not in kinds:
            table.fail(
                f"{name!r} must be a feature of {what}. Received: {feature!r}"
            )


def _rows(dataset):
    """Gives the values of each example, texts as strings."""
    for batch in dataset.batch(_BATCH).as_numpy_iterator():
        columns = map(_plain, batch.values())
        for cells in zip(*columns, strict=True):
            yield zip(batch, cells, strict=True)


def _plain(values):
    if values.dtype == object:
        return [text.decode() for text in values]
    return values.tolist()
