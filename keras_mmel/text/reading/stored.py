"""Load what files or sources hold into a table of token ids."""

import os
from collections.abc import Iterator

from keras_mmel.text.bert.tokenizer import Tokenizer
from keras_mmel.text.files.directory import read_manifest
from keras_mmel.text.files.reader import read_records
from keras_mmel.text.files.records import Record
from keras_mmel.text.files.records import Source
from keras_mmel.text.reading.token_table import TokenTable
from keras_mmel.text.reading.token_table import make_table


def load_table(
    data: str | os.PathLike | Source,
    tokenizer: Tokenizer | None = None,
    *,
    split: str = "train",
    max_length: int = 128,
) -> TokenTable:
    """Load a directory or a source.

    Loading costs more than reading batches: give the table to
    `read_augmented` and `read_plain` where several runs need the same data.

    Args:
        data: a directory that `write_augmented` wrote, or a source.
        tokenizer: the tokenizer of the model; a source needs one. `None`
            takes the ids in the files, and so does one with the fingerprint
            of the tokenizer that they were made with.
        split: which split the files must be of.
        max_length: longest text or pair, special tokens included.

    Returns:
        The table.

    Raises:
        FileNotFoundError: if there are no such files.
        ValueError: if the files are of another split, or have no ids and
            there is no tokenizer.

    Example:

    ```python
    from keras_mmel.text.reading.stored import load_table

    table = load_table("rte", max_length=64)
    table.views.max()  # the largest group
    ```
    """
    if not isinstance(data, str | os.PathLike):
        if tokenizer is None:
            raise ValueError(
                "`tokenizer` must be given for a source of examples, which "
                "has texts alone. Received: tokenizer=None"
            )
        records = source_records(data)
        return make_table(records, tokenizer, max_length=max_length)
    manifest = read_manifest(data)
    if manifest.split != split:
        raise ValueError(
            "`split` must be the split of the files, "
            f"{manifest.split!r}. Received: split={split!r}"
        )
    return make_table(
        read_records(data),
        tokenizer,
        max_length=max_length,
        stored_ids=has_ids_of(tokenizer, manifest.made),
    )


def source_records(source: Source) -> Iterator[Record]:
    """The examples of a source as records without views."""
    for example in source.read(0, len(source)):
        yield Record(example.example_id, example.texts, example.label)


def has_ids_of(tokenizer: Tokenizer | None, made: dict) -> bool:
    """Whether the ids in files are those that a tokenizer would give.

    Args:
        tokenizer: the tokenizer, or `None` for whichever made them.
        made: what the files say of how they were made.
    """
    if tokenizer is None:
        return True
    augmenter = made.get("augmenter") or {}
    return augmenter.get("tokenizer") == tokenizer.fingerprint
