"""A BERT tokenizer as TensorFlow operations, from strings to ids."""

import functools
import json

import numpy as np
import tensorflow as tf

from keras_mmel.text import code_points
from keras_mmel.text import extras
from keras_mmel.text.graph_wordpiece import GraphWordPiece
from keras_mmel.text.tokenizer import Tokenizer


class GraphTokenizer(tf.Module):
    """The tokenizer as operations that TensorFlow itself brings.

    Its ids equal those of `Tokenizer.encode` for every string, so a model that
    is served with it sees what it saw in training. It needs no other library,
    neither here nor where it is loaded as part of a SavedModel.

    Bytes that are not UTF-8 become U+FFFD, as with
    `bytes.decode("utf-8", errors="replace")`; a tokenizer that cleans text
    (BERT's does) then drops them.

    Args:
        tokenizer: a `keras_mmel.text.Tokenizer` with the normalizer and the
            pre-tokenizer of BERT.
        max_length: longest result, special tokens included.

    Raises:
        ValueError: if the tokenizer has parts that BERT's has not, or
            `max_length` has no room for the special tokens of a pair.

    Example:

    ```python
    import tensorflow as tf
    from keras_mmel.text import load_text_classifier
    from keras_mmel.text.graph_tokenizer import GraphTokenizer

    model = load_text_classifier("hf://google-bert/bert-base-uncased", 2)
    tokenize = GraphTokenizer(model.tokenizer, max_length=128)
    tokenize(tf.constant(["A fine film."]))["token_ids"]
    ```
    """

    def __init__(self, tokenizer: Tokenizer, max_length: int):
        super().__init__()
        state = json.loads(tokenizer.to_json())
        _check(state)
        if max_length < 3:
            raise ValueError(
                "`max_length` must be at least 3, the number of special "
                f"tokens. Received: max_length={max_length}"
            )
        self.max_length = max_length
        self.pad_id = tokenizer.pad_id
        self.cls_id = tokenizer.cls_id
        self.sep_id = tokenizer.sep_id
        model = state["model"]
        self._pieces = GraphWordPiece(
            model["vocab"],
            model["unk_token"],
            model["continuing_subword_prefix"],
            model["max_input_chars_per_word"],
        )
        tables = _tables(json.dumps(state["normalizer"]))
        self._entries = _paged(tables.entries)
        self._kinds = _paged(tables.kinds)
        self._replacements = tf.ragged.constant(
            tables.replacements, dtype=tf.int32, row_splits_dtype=tf.int32
        )

    def __call__(
        self, texts: tf.Tensor, second: tf.Tensor | None = None
    ) -> dict[str, tf.Tensor]:
        """Encode a batch of sentences or of pairs of sentences.

        Args:
            texts: (batch,) strings, UTF-8.
            second: (batch,) strings, the second sentences of pairs.

        Returns:
            `token_ids` and `segment_ids`, (batch, longest) int32, and
            `padding_mask`, (batch, longest) bool, where `longest` is the
            length of the longest one.
        """
        rows = tf.shape(texts)[0]
        cls = tf.fill([rows, 1], self.cls_id)
        sep = tf.fill([rows, 1], self.sep_id)
        pieces = self.pieces(texts)
        if second is None:
            parts = [cls, pieces[:, : self.max_length - 2], sep]
            left = 0
        else:
            others = self.pieces(second)
            a, b = _longest_first(
                pieces.row_lengths(), others.row_lengths(), self.max_length - 3
            )
            pieces, others = _cut(pieces, a), _cut(others, b)
            parts = [cls, pieces, sep, others, sep]
            left = a + 2
        joined = tf.concat(parts, axis=1)
        lengths = joined.row_lengths()
        ids = joined.to_tensor(self.pad_id)
        mask = tf.sequence_mask(lengths, tf.shape(ids)[1])
        segments = tf.zeros_like(ids)
        if second is not None:
            first = tf.sequence_mask(left, tf.shape(ids)[1])
            segments = tf.cast(mask & ~first, tf.int32)
        return {
            "token_ids": ids,
            "segment_ids": segments,
            "padding_mask": mask,
        }

    def pieces(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Ids of sentences without special tokens, nothing cut."""
        codes, rows = self._normalize(texts)
        kinds = self._kind(codes)
        before = tf.concat([[code_points.SPACE], kinds[:-1]], 0)
        begins = tf.concat([[True], rows[1:] != rows[:-1]], 0)
        begins = begins[: tf.size(codes)]
        before = before[: tf.size(codes)]
        is_letter = tf.equal(kinds, code_points.LETTER)
        is_sign = tf.equal(kinds, code_points.PUNCTUATION)
        starts = is_sign | (
            is_letter & (begins | (before != code_points.LETTER))
        )
        seen = is_sign | is_letter
        rows = rows[seen]
        ids, where = self._pieces(codes[seen], starts[seen])
        return tf.RaggedTensor.from_value_rowids(
            ids, tf.gather(rows, where), tf.shape(texts, tf.int64)[0]
        )

    def _normalize(self, texts):
        """Normalized code points of all sentences and the row of each."""
        codes = tf.strings.unicode_decode(texts, "UTF-8", errors="replace")
        rows, codes = codes.value_rowids(), codes.values
        parts = tf.gather(self._replacements, _look_up(self._entries, codes))
        origin = parts.value_rowids()
        codes = tf.where(
            parts.values == code_points.ITSELF,
            tf.gather(codes, origin),
            parts.values,
        )
        rows = tf.gather(rows, origin)
        # Canonical ordering: marks in a row go by their rank. Almost no text
        # has two of those that are left.
        ranks = _look_up(self._kinds, codes) // 4
        same_row = rows[1:] == rows[:-1]
        exchanged = same_row & (ranks[1:] > 0) & (ranks[1:] < ranks[:-1])
        codes = tf.cond(
            tf.reduce_any(exchanged),
            lambda: _ordered(codes, ranks, same_row),
            lambda: codes,
        )
        kept = self._kind(codes) != code_points.REMOVED
        return codes[kept], rows[kept]

    def _kind(self, codes):
        return _look_up(self._kinds, codes) % 4


def _ordered(codes, ranks, same_row):
    """Each run of marks sorted by rank; neighbours of one rank stay."""
    size = tf.size(codes, tf.int64)
    follows = tf.concat([[False], same_row & (ranks[1:] > 0)], 0)
    runs = tf.cumsum(tf.cast(~follows, tf.int64))
    keys = (runs * 64 + tf.cast(ranks, tf.int64)) * size + tf.range(size)
    return tf.gather(codes, tf.argsort(keys))


def _longest_first(a, b, room):
    """As `keras_mmel.text.tokenizer.longest_first`, for a batch."""
    room = tf.constant(room, a.dtype)
    short = tf.minimum(a, b)
    long = tf.maximum(short, room - short)
    both = short + long > room
    short = tf.where(both, room // 2, short)
    long = tf.where(both, room - room // 2, long)
    fits = a + b <= room
    return (
        tf.where(fits, a, tf.where(a > b, long, short)),
        tf.where(fits, b, tf.where(a > b, short, long)),
    )


def _cut(pieces, lengths):
    """The first `lengths` of every row."""
    return tf.ragged.boolean_mask(
        pieces,
        tf.ragged.range(pieces.row_lengths()) < lengths[:, None],
    )


def _paged(table):
    return (
        tf.constant(table.pages, tf.int32),
        tf.constant(table.values.astype(np.int32)),
    )


def _look_up(paged, codes):
    pages, values = paged
    size = values.shape[1]
    page = tf.gather(pages, codes // size)
    return tf.gather_nd(values, tf.stack([page, codes % size], axis=1))


@functools.lru_cache(maxsize=4)
def _tables(normalizer):
    """The tables of a normalizer given as JSON; seconds the first time."""
    library = extras.need("tokenizers", "text")
    options = json.loads(normalizer)
    del options["type"]
    return code_points.read_code_points(
        library.normalizers.BertNormalizer(**options).normalize_str,
        library.pre_tokenizers.BertPreTokenizer().pre_tokenize_str,
    )


def _check(state):
    """Raises a `ValueError` where the graph would give other ids."""
    for name, wanted in (
        ("normalizer", "BertNormalizer"),
        ("pre_tokenizer", "BertPreTokenizer"),
        ("model", "WordPiece"),
    ):
        found = (state.get(name) or {}).get("type")
        if found != wanted:
            raise ValueError(
                f"`tokenizer` must have a {name} of type {wanted!r}, as "
                "BERT's have: others cannot be written into a graph with the "
                f"same ids. Received: a {name} of type {found!r}"
            )
    unknown = state["model"]["unk_token"]
    if unknown not in state["model"]["vocab"]:
        raise ValueError(
            "`tokenizer` must have its unknown token in the vocabulary of its "
            f"model. Received: {unknown!r} is not there"
        )
    own = [
        token["content"]
        for token in state.get("added_tokens") or []
        if not token["special"]
    ]
    if own:
        raise ValueError(
            "`tokenizer` must have no added tokens but special ones: they are "
            "taken out of a text before anything else, which a graph cannot "
            f"repeat. Received: {own[:5]}"
        )
