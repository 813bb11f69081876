"""A BERT tokenizer as TensorFlow operations, from strings to ids."""

import json

import tensorflow as tf

from keras_mmel.text.bert.tokenizer import Tokenizer
from keras_mmel.text.serving import code_points
from keras_mmel.text.serving.graph_normalizer import GraphNormalizer
from keras_mmel.text.serving.graph_wordpiece import GraphWordPiece


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
    from keras_mmel.text.serving.graph_tokenizer import GraphTokenizer

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
        self._normalize = GraphNormalizer(state["normalizer"])
        # Traced once, also where two sides of a pair go through it.
        self.pieces = tf.function(
            self._split, [tf.TensorSpec([None], tf.string)], autograph=False
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
            a, b = longest_first(
                pieces.row_lengths(), others.row_lengths(), self.max_length - 3
            )
            pieces, others = _cut(pieces, a), _cut(others, b)
            parts = [cls, pieces, sep, others, sep]
            left = a + 2
        joined = tf.concat(parts, axis=1)
        lengths = joined.row_lengths()
        ids = joined.to_tensor(self.pad_id)
        # Only an empty batch has no column: no model takes that.
        missing = tf.maximum(2 - tf.shape(ids)[1], 0)
        ids = tf.pad(ids, [[0, 0], [0, missing]])
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

    def _split(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Ids of sentences without special tokens, nothing cut."""
        codes, kinds, rows = self._normalize(texts)
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


def longest_first(
    a: tf.Tensor, b: tf.Tensor, room: int
) -> tuple[tf.Tensor, tf.Tensor]:
    """As `keras_mmel.text.bert.tokenizer.longest_first`, for a batch.

    Args:
        a: (batch,) integers, tokens of the first sentences.
        b: (batch,) integers, tokens of the second sentences.
        room: tokens that both may have together.

    Returns:
        The two lengths, each (batch,).

    Example:

    ```python
    import tensorflow as tf
    from keras_mmel.text.serving.graph_tokenizer import longest_first

    longest_first(tf.constant([10]), tf.constant([3]), 9)  # [6], [3]
    ```
    """
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
