"""The token ids of a data set in flat arrays: four bytes a token in memory."""

import array
import dataclasses
import hashlib
import itertools
import os
from collections.abc import Iterable
from collections.abc import Sequence

import numpy as np

from keras_mmel.counts import check_count
from keras_mmel.text.bert.tokenizer import Tokenizer
from keras_mmel.text.bert.tokenizer import check_class
from keras_mmel.text.bert.tokenizer import longest_first
from keras_mmel.text.files.directory import Manifest
from keras_mmel.text.files.reader import AugmentedFiles
from keras_mmel.text.sources.records import Record
from keras_mmel.text.sources.records import Source
from keras_mmel.text.sources.records import as_text

# Records encoded at a time: what bounds the memory that their texts take.
_CHUNK = 1024
# [CLS], a token, [SEP].
MIN_LENGTH = 3
MAX_LENGTH = 128
# Of a row that is a text: as long as all others.
_NO_IDS = (0,)


@dataclasses.dataclass(frozen=True)
class TokenTable:
    """Originals and views of a data set, as ids.

    The rows of an example stand next to each other, the original first.

    Attributes:
        token_ids: int32 (tokens,), row after row, special tokens included.
        starts: int64 (rows + 1,), where in `token_ids` each row begins.
        borders: int32 (rows,), how many tokens of a row are of segment 0.
        first: int64 (examples + 1,), the row of each example's original.
        labels: int64 or float32 (examples,), or `None`.
        teacher: float32 (rows, classes or 1), or `None` where some row has
            no prediction of a teacher.
        keys: int64 (examples,), a hash of each example's id.
        example_ids: The ids.
        texts: Instead of token ids the texts of the rows, str (rows,), once or,
            of pairs, twice; else `None`.
    """

    token_ids: np.ndarray
    starts: np.ndarray
    borders: np.ndarray
    first: np.ndarray
    labels: np.ndarray | None
    teacher: np.ndarray | None
    keys: np.ndarray
    example_ids: tuple[str, ...]
    texts: tuple[np.ndarray, ...] | None = None

    def __len__(self) -> int:
        return len(self.example_ids)

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each row, int64."""
        return np.diff(self.starts)

    @property
    def views(self) -> np.ndarray:
        """Number of rows of each example, the original included."""
        return np.diff(self.first)


def load_table(
    data: "str | os.PathLike | Source | TokenTable",
    tokenizer: Tokenizer | None = None,
    *,
    max_length: int = MAX_LENGTH,
    as_text: bool = False,
) -> TokenTable:
    """Loads what files or a source hold.

    Loading costs more than reading batches: give the table to
    `read_augmented` and `read_plain` where several runs need the same data.

    Args:
        data: A directory that `write_augmented` wrote, or a source; a table is
            returned as it is.
        tokenizer: The tokenizer of the model; a source needs one. `None`
            takes the ids in the files, and so does one with the fingerprint
            of the tokenizer that they were made with.
        max_length: Longest text or pair, special tokens included.
        as_text: Whether to keep the texts, for a model whose preprocessor makes
            token ids of them.

    Returns:
        The table.

    Raises:
        FileNotFoundError: If there are no such files.
        TypeError: If the tokenizer is that of another library.
        ValueError: If there are no ids and no tokenizer.

    Example:

    ```python
    from keras_mmel.text import load_table

    table = load_table("rte", max_length=64)
    table.views.max()  # the largest group
    ```
    """
    if as_text:
        check_for_texts(tokenizer, max_length)
    if isinstance(data, TokenTable):
        if as_text != (data.texts is not None):
            raise ValueError(
                "`as_text` must be what the table was loaded with. "
                f"Received: as_text={as_text}"
            )
        return data
    if tokenizer is not None:
        check_class(tokenizer, "encode", "fingerprint")
    # Only files have ids that somebody made already.
    if isinstance(data, str | os.PathLike):
        files = AugmentedFiles(data)
        data, tokenizer = files, encoder_for(files.manifest, tokenizer)
    elif tokenizer is None and not as_text:
        raise ValueError(
            "`tokenizer` must be given for a source of examples, which has "
            "texts alone; or `as_text=True` for a model that takes texts. "
            "Received: tokenizer=None"
        )
    return make_table(data.read(0, len(data)), tokenizer, max_length, as_text)


def check_for_texts(tokenizer: Tokenizer | None, max_length: int) -> None:
    """Raises ValueError where there is a setting that only token ids have.

    Args:
        tokenizer: As of `load_table`.
        max_length: As of `load_table`.
    """
    if tokenizer is not None or max_length != MAX_LENGTH:
        raise ValueError(
            "`tokenizer` and `max_length` are for token ids. A model that "
            "takes texts has its own, in its preprocessor (`sequence_length`). "
            f"Received: tokenizer={tokenizer!r}, max_length={max_length}"
        )


def encoder_for(
    manifest: Manifest, tokenizer: Tokenizer | None
) -> Tokenizer | None:
    """Which tokenizer has to encode the texts of files, if any.

    Args:
        manifest: That of the files, which tells their augmenter's tokenizer.
        tokenizer: The tokenizer of the model, or `None`.

    Returns:
        The tokenizer, or `None` where the ids in the files are to be taken:
        it made them, or there is none.
    """
    made_by = manifest.made.get("augmenter", {}).get("tokenizer")
    if tokenizer is None or tokenizer.fingerprint == made_by:
        return None
    return tokenizer


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
    # Of tokens there are so many that a list would not fit into memory.
    tokens, lengths, borders, teachers = array.array("i"), [], [], []
    counts, labels, example_ids, texts = [], [], [], []
    records = iter(records)
    while chunk := list(itertools.islice(records, _CHUNK)):
        rows: list = []
        for record in chunk:
            rows += [record, *record.views]
            counts.append(1 + len(record.views))
            labels.append(record.label)
            example_ids.append(record.example_id)
        if as_text:
            texts += [row.texts for row in rows]
            ids_of_rows = [_NO_IDS] * len(rows)
        else:
            ids_of_rows = _ids_of(rows, tokenizer, max_length)
        for row, ids in zip(rows, ids_of_rows, strict=True):
            tokens.extend(ids)
            lengths.append(len(ids))
            borders.append(_border(ids))
            teachers.append(row.teacher)
    if not example_ids:
        raise ValueError("There must be an example. Received: 0 examples")
    return TokenTable(
        token_ids=np.frombuffer(tokens, np.int32),
        starts=_cumulate(lengths),
        borders=np.asarray(borders, np.int32),
        first=_cumulate(counts),
        labels=_labels(labels),
        teacher=_teacher(teachers),
        keys=np.asarray([hash_id(i) for i in example_ids], np.int64),
        example_ids=tuple(example_ids),
        texts=tuple(np.array(texts, object).T) if as_text else None,
    )


def hash_id(example_id: str) -> int:
    """A hash of an example's id, an int64 that is not negative."""
    digest = hashlib.blake2b(example_id.encode(), digest_size=8).digest()
    # Without the lowest bit it has 63, which an int64 holds.
    return int.from_bytes(digest, "little") >> 1


def _ids_of(rows, tokenizer, max_length):
    """The ids of originals and views, cut to a length."""
    if tokenizer is None:
        return [_cut(row, max_length) for row in rows]
    texts = [as_text(row.texts) for row in rows]
    encodings = tokenizer.encode(texts, max_length=max_length)
    return [encoded.token_ids for encoded in encodings]


def _border(ids: Sequence[int]) -> int:
    """How many tokens are of segment 0: those up to the first [SEP]."""
    # The last token is [SEP], and text never gives one.
    return ids.index(ids[-1]) + 1


def _cut(row, max_length):
    """The stored ids of a row, cut as the tokenizer cuts."""
    ids = row.token_ids
    if not ids:
        raise ValueError(
            "Files without token ids need `tokenizer`, which makes them of "
            f"the texts. Received: tokenizer=None for {row.texts!r:.80}"
        )
    if len(ids) <= max_length:
        return ids
    border, sep_id = _border(ids), ids[-1]
    sentences = [ids[1 : border - 1]]
    if border < len(ids):
        sentences.append(ids[border:-1])
    sizes = longest_first([len(s) for s in sentences], max_length)
    cut = [ids[0]]
    for sentence, size in zip(sentences, sizes, strict=True):
        cut += [*sentence[:size], sep_id]
    return cut


def _cumulate(counts):
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


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


def _teacher(teachers):
    sizes = {len(prediction) for prediction in teachers}
    # A few without one, and all are given up: a batch has no gaps.
    if 0 in sizes:
        return None
    if len(sizes) > 1:
        raise ValueError(
            "The teacher's predictions must have one length in all records. "
            f"Received: {sorted(sizes)}"
        )
    return np.asarray(teachers, np.float32)
