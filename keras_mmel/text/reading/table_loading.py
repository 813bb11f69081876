"""From files and sources to tables of token ids."""

import array
import dataclasses
import hashlib
import itertools
import os
import pathlib
import warnings
from collections.abc import Iterable

import numpy as np

from keras_mmel.counts import check_count
from keras_mmel.text.bert.tokenizer import Tokenizer
from keras_mmel.text.bert.tokenizer import check_class
from keras_mmel.text.bert.tokenizer import longest_first
from keras_mmel.text.files.directory import Manifest
from keras_mmel.text.files.format import Columns
from keras_mmel.text.files.reader import AugmentedFiles
from keras_mmel.text.reading import token_table
from keras_mmel.text.reading.token_table import TokenTable
from keras_mmel.text.reading.token_table import hash_id
from keras_mmel.text.sources.records import Record
from keras_mmel.text.sources.records import Source
from keras_mmel.text.sources.records import as_text

# Records encoded at a time: what bounds the memory that their texts take.
_CHUNK = 512
# [CLS], a token, [SEP].
MIN_LENGTH = 3
MAX_LENGTH = 128
# Of a row that is a text: as long as all others.
_NO_IDS = (0,)


def load_table(
    data: "str | os.PathLike | Source | TokenTable",
    tokenizer: Tokenizer | None = None,
    *,
    max_length: int = MAX_LENGTH,
    as_text: bool = False,
    cache: str | os.PathLike | None = None,
) -> TokenTable:
    """Loads what files or a source hold.

    Loading costs more than reading batches: give the table to
    `read_augmented` and `read_plain` where several readers need the same
    data, and a `cache` where several runs do.

    Args:
        data: A directory that `write_augmented` wrote, or a source; a table is
            returned as it is, and has its tokenizer and its lengths.
        tokenizer: The tokenizer of the model; a source of texts alone needs
            one. `None` takes the ids in the files, and so does one with the
            fingerprint of the tokenizer that they were made with, unless the
            augmenter cut them to a smaller `max_length`.
        max_length: Longest text or pair, special tokens included; without a
            tokenizer none is longer than the files have it.
        as_text: Whether to keep the texts, for a model whose preprocessor makes
            token ids of them.
        cache: A folder on a disk, such as that of the files, in which the table
            of a directory is kept and found the next time, as
            `TokenTable.save` keeps it. Other files, those that were written
            anew (or copied without their times), another tokenizer and another
            length have tables of their own there: delete those that are no
            longer needed.

    Returns:
        The table.

    Raises:
        FileNotFoundError: If there are no such files.
        TypeError: If the tokenizer is that of another library, or `data` is
            something else.
        ValueError: If there are no ids and no tokenizer, what is in the cache
            is damaged, or there is nothing to be kept in one.

    Example:

    ```python
    from keras_mmel.text import load_table

    table = load_table("rte", max_length=64, cache="rte")
    table.views.max()  # the largest group
    ```
    """
    max_length = check_count("max_length", max_length, MIN_LENGTH)
    has_ids = isinstance(data, str | os.PathLike) and not as_text
    if cache is not None and not has_ids:
        raise ValueError(
            "`cache` keeps the token ids of a directory that `write_augmented` "
            f"wrote. Received: {cache=}, {as_text=}, a {type(data).__name__}"
        )
    if as_text or isinstance(data, TokenTable):
        check_for_no_ids(tokenizer, max_length)
    if isinstance(data, TokenTable):
        if as_text != (data.texts is not None):
            raise ValueError(
                f"`as_text` must be as of the table. Received: {as_text=}"
            )
        return data
    if tokenizer is not None:
        check_class(tokenizer, "encode", "fingerprint")
    # Files say which tokenizer made their ids.
    if isinstance(data, str | os.PathLike):
        files = AugmentedFiles(data)
        tokenizer = encoder_for(files.manifest, tokenizer, max_length)
        if not as_text:
            return _table_of(files, tokenizer, max_length, cache)
        data = files
    if not hasattr(data, "read"):
        raise TypeError(
            "`data` must be the directory that `write_augmented` wrote, a "
            "source, as `from_columns(data, texts, label)`, or a `TokenTable`. "
            f"Received: {data!r:.80}"
        )
    for note in getattr(data, "notes", ()):
        warnings.warn(f"{note}.", stacklevel=3)  # the line that calls a reader
    return make_table(data.read(0, len(data)), tokenizer, max_length, as_text)


def _table_of(files, tokenizer, max_length, cache):
    """The table of files, out of the cache if it is there."""
    encoder = getattr(tokenizer, "fingerprint", None)
    facts = [files.fingerprint, max_length, encoder]
    digest = hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
    path = pathlib.Path(cache or "", f"table-{digest}")
    if cache is not None and (path / token_table.HEAD).exists():
        return TokenTable.load(path, digest)
    if tokenizer is None:
        table = _gather(files.read_columns(_CHUNK), max_length)
    else:
        table = make_table(files.read(0, len(files)), tokenizer, max_length)
    table = dataclasses.replace(table, fingerprint=digest)
    if cache is not None:
        table.save(path)
    return table


def check_for_no_ids(tokenizer: Tokenizer | None, max_length: int) -> None:
    """Raises ValueError where there is a setting, but no token ids to make.

    Args:
        tokenizer: As of `load_table`.
        max_length: As of `load_table`.
    """
    if tokenizer is not None or max_length != MAX_LENGTH:
        raise ValueError(
            "`tokenizer` and `max_length` make token ids. Those of a table are "
            "there already: both go to `load_table`, which makes it. A model "
            "that takes texts has its own, in its preprocessor "
            "(`sequence_length`). "
            f"Received: tokenizer={tokenizer!r}, max_length={max_length}"
        )


def encoder_for(
    manifest: Manifest, tokenizer: Tokenizer | None, max_length: int
) -> Tokenizer | None:
    """Which tokenizer has to encode the texts of files, if any.

    Args:
        manifest: That of the files, which tells their augmenter's tokenizer
            and its `max_length`.
        tokenizer: The tokenizer of the model, or `None`.
        max_length: As of `load_table`.

    Returns:
        The tokenizer, or `None` where the ids in the files are to be taken:
        it made them, no shorter than asked for, or there is none.
    """
    made_by = manifest.made.get("augmenter", {})
    is_same = tokenizer and tokenizer.fingerprint == made_by.get("tokenizer")
    # Ids that were cut shorter are not all that is asked for.
    longest = made_by.get("max_length") or max_length
    return None if is_same and longest >= max_length else tokenizer


def make_table(
    records: Iterable[Record],
    tokenizer: Tokenizer | None,
    max_length: int = MAX_LENGTH,
    as_text: bool = False,
) -> TokenTable:
    """Gathers records into a table.

    Args:
        records: The examples.
        tokenizer: Encodes the texts; `None` takes the ids of the records.
        max_length: Longest row, special tokens included; the longer sentence
            of a pair is cut first.
        as_text: Whether to gather the texts in place of ids.

    Returns:
        The table.

    Raises:
        TypeError: If `max_length` is no integer.
        ValueError: If it is below 3, there is no record, ids are wanted that
            are not there, or two teachers' predictions differ in their length.
    """
    max_length = check_count("max_length", max_length, MIN_LENGTH)
    records = iter(records)
    chunks = iter(lambda: list(itertools.islice(records, _CHUNK)), [])

    def columns_of(chunk):
        rows = [row for record in chunk for row in (record, *record.views)]
        if as_text:
            ids = [_NO_IDS] * len(rows)
        else:
            ids = _ids_of(rows, tokenizer, max_length)
        return Columns(
            [record.example_id for record in chunk],
            [record.label for record in chunk],
            np.array([1 + len(record.views) for record in chunk]),
            *_flat(ids, np.int32),
            *_flat([row.teacher for row in rows], np.float32),
            texts=[row.texts for row in rows] if as_text else (),
        )

    return _gather(map(columns_of, chunks), max_length)


def _ids_of(rows, tokenizer, max_length):
    """The ids of originals and views."""
    if tokenizer is None:
        return [row.token_ids for row in rows]
    texts = [as_text(row.texts) for row in rows]
    encodings = tokenizer.encode(texts, max_length=max_length)
    return [encoded.token_ids for encoded in encodings]


def _flat(rows, dtype):
    """The values of all rows, one after the other, and how many each has."""
    values = np.fromiter(itertools.chain.from_iterable(rows), dtype)
    return values, np.array(list(map(len, rows)))


def _gather(chunks, max_length):
    """The table of columns, whose parts are let go one after the other."""
    # Arrays that grow where they are: a list of parts would be a second table.
    tokens, borders, teacher = map(array.array, "iif")
    starts, first = array.array("q", [0]), array.array("q", [0])
    example_ids: list[str] = []
    labels: list = []
    texts: list[tuple[str, ...]] = []
    widths: set[int] = set()
    for chunk in chunks:
        example_ids += chunk.example_ids
        labels += chunk.labels
        texts += chunk.texts
        widths.update(chunk.teacher_lengths.tolist())
        ids, lengths, own_borders = _cut(chunk, max_length)
        for column, values in (
            (tokens, ids),
            (borders, own_borders),
            (teacher, chunk.teacher),
            (starts, starts[-1] + np.cumsum(lengths)),
            (first, first[-1] + np.cumsum(chunk.views)),
        ):
            column.frombytes(values.view(np.uint8))
    if not example_ids:
        raise ValueError("There must be an example. Received: 0 examples")
    return TokenTable(
        token_ids=np.frombuffer(tokens, np.int32),
        starts=np.frombuffer(starts, np.int64),
        borders=np.frombuffer(borders, np.int32),
        first=np.frombuffer(first, np.int64),
        labels=_labels(labels),
        teacher=_teacher(teacher, widths),
        keys=np.array([hash_id(i) for i in example_ids], np.int64),
        example_ids=tuple(example_ids),
        texts=tuple(np.array(texts, object).T) if texts else None,
    )


def _cut(chunk, max_length):
    """Ids cut as the tokenizer cuts, their lengths, and those of segment 0."""
    ids, lengths = chunk.token_ids, chunk.lengths
    if not lengths.all():
        example = np.repeat(chunk.example_ids, chunk.views)[lengths.argmin()]
        raise ValueError(
            "Examples without token ids need `tokenizer`, which makes them of "
            "the texts, or `as_text=True` for a model that takes texts. "
            f"Received: tokenizer=None for example {example!r}"
        )
    ends = np.cumsum(lengths)
    starts = ends - lengths
    # The last token is [SEP], and text never gives one: segment 0 ends with
    # the first.
    seps = np.flatnonzero(ids == np.repeat(ids[ends - 1], lengths))
    borders = seps[np.searchsorted(seps, starts)] + 1 - starts
    keep = np.ones(len(ids), bool)
    for row in np.flatnonzero(lengths > max_length):
        second, end = starts[row] + borders[row], ends[row]
        # Between [CLS] and [SEP], and of a pair between this and the last one.
        sentences = [(starts[row] + 1, second - 1), (second, end - 1)]
        sentences = sentences[: 1 + (second < end)]
        sizes = longest_first([b - a for a, b in sentences], max_length)
        for (start, stop), size in zip(sentences, sizes, strict=True):
            keep[start + size : stop] = False
        borders[row] = sizes[0] + 2
        lengths[row] = sum(sizes) + len(sizes) + 1
    return ids[keep], lengths, borders.astype(np.int32)


def _labels(labels):
    missing = sum(label is None for label in labels)
    if missing == len(labels):
        return None
    if missing:
        raise ValueError(
            "All examples must have a label, or none. Received: "
            f"{missing} of {len(labels)} without one"
        )
    values = np.asarray(labels)
    is_value = values.dtype.kind == "f"
    return values.astype(np.float32 if is_value else np.int64)


def _teacher(values, widths):
    # A few without one, and all are given up: a batch has no gaps.
    if 0 in widths:
        return None
    if len(widths) > 1:
        raise ValueError(
            "The teacher's predictions must have one length in all records. "
            f"Received: {sorted(widths)}"
        )
    return np.frombuffer(values, np.float32).reshape(-1, *widths)
