"""A BERT tokenizer as TensorFlow operations, from strings to ids."""

import functools
import json
import sys
import unicodedata

import numpy as np
import tensorflow as tf

from keras_mmel import extras
from keras_mmel.text.bert.tokenizer import Tokenizer

# A combining mark carries its canonical class above its code point. Two values
# are no code points: one that stands for the code point itself, and one for
# nothing at all, but such that marks do not change places across it.
_CLASS = 1 << 21
_ITSELF = -1
_NOTHING = _CLASS - 1

_length = functools.partial(tf.strings.length, unit="UTF8_CHAR")


class GraphTokenizer(tf.Module):
    """The tokenizer as operations that TensorFlow itself brings.

    Its ids equal those of `Tokenizer.encode` for every string, so a model that
    is served with it sees what it saw in training. It needs no other library,
    neither here nor where it is loaded as part of a SavedModel.

    Bytes that are not UTF-8 become U+FFFD, as with
    `bytes.decode("utf-8", errors="replace")`; a tokenizer that cleans text
    (BERT's does) then drops them.

    Args:
        tokenizer: A `keras_mmel.text.Tokenizer` with the normalizer and the
            pre-tokenizer of BERT.
        max_length: Longest result, special tokens included, at least 3.

    Raises:
        ValueError: If the tokenizer has parts that BERT's has not.
    """

    def __init__(self, tokenizer: Tokenizer, max_length: int):
        super().__init__()
        state = json.loads(tokenizer.to_json())
        steps = [state["normalizer"] or {}, state["pre_tokenizer"] or {}]
        kinds = [step.get("type") for step in steps]
        if kinds != ["BertNormalizer", "BertPreTokenizer"]:
            raise ValueError(
                "`tokenizer` must have the normalizer and the pre-tokenizer of "
                "BERT: what else is done to a text cannot be written into a "
                f"graph with the same ids. Received: {kinds}"
            )
        self.max_length = max_length
        self._tokenizer = tokenizer
        entries, replacements = code_points(json.dumps(state["normalizer"]))
        self._entries = tf.constant(entries)
        self._replacements = tf.ragged.constant(replacements, dtype=tf.int32)
        model = state["model"]
        self._unknown = model["unk_token"]
        self._prefix = model["continuing_subword_prefix"]
        self._longest_word = model["max_input_chars_per_word"]
        vocabulary = model["vocab"]
        self._longest_piece = max(map(len, vocabulary))
        pieces = tf.constant(list(vocabulary))
        ids = tf.constant(list(vocabulary.values()), tf.int32)
        table = tf.lookup.KeyValueTensorInitializer(pieces, ids)
        self._ids = tf.lookup.StaticHashTable(table, default_value=-1)

    def __call__(
        self, texts: tf.Tensor, second: tf.Tensor | None = None
    ) -> dict[str, tf.Tensor]:
        """Encodes a batch of sentences or of pairs of sentences.

        Args:
            texts: (batch,) strings, UTF-8.
            second: (batch,) strings, the second sentences of pairs.

        Returns:
            `token_ids`, `segment_ids` and `padding_mask`, (batch, longest)
            int32, where `longest` is the length of the longest one.
        """
        cls = tf.fill([tf.size(texts), 1], self._tokenizer.cls_id)
        sep = tf.fill([tf.size(texts), 1], self._tokenizer.sep_id)
        pieces = self.pieces(texts)
        if second is None:
            parts = [cls, pieces[:, : self.max_length - 2], sep]
        else:
            others = self.pieces(second)
            # As `longest_first` of the tokenizer, for a batch in the graph.
            a, b = pieces.row_lengths(), others.row_lengths()
            room = tf.constant(self.max_length - 3, a.dtype)
            half = (room + tf.cast(a > b, a.dtype)) // 2
            a = tf.minimum(a, tf.maximum(half, room - b))
            b = tf.minimum(b, tf.maximum(room - half, room - a))
            pieces = tf.RaggedTensor.from_tensor(pieces.to_tensor(), a)
            others = tf.RaggedTensor.from_tensor(others.to_tensor(), b)
            parts = [cls, pieces, sep, others, sep]
        joined = tf.concat(parts, axis=1)
        # Only an empty batch has no column: no model takes that.
        longest = tf.maximum(joined.bounding_shape()[1], 2)
        mask = tf.sequence_mask(joined.row_lengths(), longest, tf.int32)
        segments = tf.zeros_like(mask)
        if second is not None:
            segments = mask - tf.sequence_mask(a + 2, longest, tf.int32)
        pad_id = self._tokenizer.pad_id
        return {
            "token_ids": joined.to_tensor(pad_id, shape=tf.shape(mask)),
            "segment_ids": segments,
            "padding_mask": mask,
        }

    def words(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Normalizes texts and splits them into words.

        Args:
            texts: (batch,) strings, UTF-8.

        Returns:
            (batch, words) strings.
        """
        # The space keeps marks at the start of a text out of the one before.
        texts = tf.strings.join([" ", texts])
        codes = tf.strings.unicode_decode(texts, "UTF-8", errors="replace")
        entries = tf.cast(tf.gather(self._entries, codes.values), tf.int32)
        new = tf.gather(self._replacements, entries)
        origin = new.value_rowids()
        rows = tf.gather(codes.value_rowids(), origin)
        itself = tf.gather(codes.values, origin)
        points = tf.where(new.values == _ITSELF, itself, new.values)
        # Canonical ordering: marks in a row go by their class, of which there
        # are 256. No mark leaves its row: there is a space in front of each.
        classes = tf.cast(points // _CLASS, tf.int64)
        runs = tf.cumsum(tf.cast(classes == 0, tf.int64))
        order = tf.argsort(runs * 256 + classes, stable=True)
        points = tf.gather(points, order) % _CLASS
        stays = points != _NOTHING
        points, rows = points[stays], rows[stays]
        ragged = tf.RaggedTensor.from_value_rowids(points, rows, codes.nrows())
        return tf.strings.split(tf.strings.unicode_encode(ragged, "UTF-8"))

    # Traced once, also where the two sides of pairs go through it.
    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.string)], autograph=False
    )
    def pieces(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Encodes texts without special tokens, nothing cut.

        The longest piece goes first, in all words at once. A word that does
        not come out is one unknown token.

        Args:
            texts: (batch,) strings, UTF-8.

        Returns:
            (batch, pieces) ids, int32.

        Reference: Wu et al. 2016, https://arxiv.org/abs/1609.08144.
        """
        ragged = self.words(texts)
        too_long = _length(ragged.values) > self._longest_word
        words = tf.where(too_long, self._unknown, ragged.values)
        sizes = _length(words)
        lengths = tf.range(self._longest_piece, 0, -1)[None]

        def step(place, start, ids, places):
            # Of each word all pieces that may come next, the longest first.
            rows = tf.gather(words, place)[:, None]
            starts = start[:, None] + tf.zeros_like(lengths)
            counts = lengths + tf.zeros_like(starts)
            pieces = tf.strings.substr(rows, starts, counts, unit="UTF8_CHAR")
            prefix = tf.where(start > 0, self._prefix, "")[:, None]
            piece_ids = self._ids.lookup(prefix + pieces)
            best = tf.argmax(tf.cast(piece_ids >= 0, tf.int32), axis=1)
            piece_id = tf.gather(piece_ids, best, axis=1, batch_dims=1)
            piece = tf.gather(pieces, best, axis=1, batch_dims=1)
            end = start + _length(piece)
            goes_on = (piece_id >= 0) & (end < tf.gather(sizes, place))
            ids = tf.concat([ids, piece_id], 0)
            places = tf.concat([places, place], 0)
            return place[goes_on], end[goes_on], ids, places

        none = tf.zeros([0], tf.int32)
        *_, ids, places = tf.while_loop(
            lambda place, *_: tf.size(place) > 0,
            step,
            [tf.range(tf.size(words)), tf.zeros_like(sizes), none, none],
            shape_invariants=[tf.TensorShape([None])] * 4,
        )
        least = tf.math.unsorted_segment_min(ids, places, tf.size(words))
        good = tf.gather(least >= 0, places)
        ids = tf.where(good, ids, self._ids.lookup(tf.constant(self._unknown)))
        # Of the others the first step alone, which all words have taken.
        stays = good | (tf.range(tf.size(ids)) < tf.size(words))
        ids, places = ids[stays], places[stays]
        order = tf.argsort(places, stable=True)
        rows = tf.gather(ragged.value_rowids(), tf.gather(places, order))
        ids = tf.gather(ids, order)
        return tf.RaggedTensor.from_value_rowids(ids, rows, ragged.nrows())


@functools.lru_cache(maxsize=4)
def code_points(normalizer: str) -> tuple[np.ndarray, list[tuple[int, ...]]]:
    """Tabulates what becomes of each code point.

    BERT's normalizer and pre-tokenizer look at one code point at a time, with
    one exception: the canonical ordering of combining marks. The library is
    asked about each, so that the table is right whatever the version of
    Unicode that it was built with.

    Args:
        normalizer: The normalizer as JSON, as in `tokenizer.json`.

    Returns:
        For each code point the number of its replacement, int16, and the
        replacements: what takes its place, with spaces around what is a word
        of its own.
    """
    library = extras.need("tokenizers", "text")
    options = json.loads(normalizer)
    del options["type"]
    normalize = library.normalizers.BertNormalizer(**options).normalize_str
    split = library.pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    # No surrogates, and of the planes those that have characters.
    ranges = (0, 0xD800), (0xE000, 0x40000), (0xE0000, sys.maxunicode + 1)
    codes = [chr(c) for start, stop in ranges for c in range(start, stop)]
    # A letter that nothing else becomes stands between them.
    mark = "\u3042"
    codes.remove(mark)
    text = normalize(mark + mark.join(codes) + mark)
    texts = " ".join(word for word, _ in split(text)).split(mark)[1:-1]
    # These two change places, also across marks and what is removed before.
    high, low = "\u302e", "\U0001d165"
    may_combine = [
        code
        for code, text in zip(codes, texts, strict=True)
        if not text or unicodedata.combining(code)
    ]
    between = mark.join(high + code + low for code in may_combine)
    answers = normalize(mark + between + mark).split(mark)[1:-1]
    combining = {
        code: ord(code) + unicodedata.combining(code) * _CLASS
        for code, answer in zip(may_combine, answers, strict=True)
        if not answer.startswith(high)
    }
    entries = np.zeros(sys.maxunicode + 1, np.int16)
    numbers: dict[tuple[int, ...], int] = {(_ITSELF,): 0}
    for code, text in zip(codes, texts, strict=True):
        points = tuple(
            combining.get(char, _ITSELF if char == code else ord(char))
            for char in text
        )
        if not points and code not in combining:
            points = (_NOTHING,)
        entries[ord(code)] = numbers.setdefault(points, len(numbers))
    return entries, list(numbers)
