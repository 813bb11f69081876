"""BERT's normalizer and pre-tokenizer in plain TensorFlow."""

import functools
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from keras_mmel import extras
from keras_mmel.text.serving import code_points

_DEFAULTS = (
    ("clean_text", True),
    ("handle_chinese_chars", True),
    ("strip_accents", None),
    ("lowercase", True),
)


class GraphNormalizer(tf.Module):
    """From strings to normalized code points and what words are made of.

    Args:
        options: those of BERT's normalizer, as in `tokenizer.json`.

    Example:

    ```python
    import tensorflow as tf
    from keras_mmel.text.serving.graph_normalizer import GraphNormalizer

    normalize = GraphNormalizer({"lowercase": True})
    codes, kinds, rows = normalize(tf.constant(["A film!"]))
    tf.strings.unicode_encode(codes, "UTF-8")  # "a film!"
    ```
    """

    def __init__(self, options: Mapping):
        super().__init__()
        tables = make_tables(*(options.get(name, d) for name, d in _DEFAULTS))
        self._entries = _paged(tables.entries)
        self._kinds = _paged(tables.kinds)
        self._replacements = tf.RaggedTensor.from_row_lengths(
            tf.constant(np.concatenate(tables.replacements), tf.int32),
            [len(codes) for codes in tables.replacements],
        )

    def __call__(
        self, texts: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Normalize a batch of sentences.

        Args:
            texts: (batch,) strings, UTF-8.

        Returns:
            For each code point of the normalized sentences, one sentence after
            the other: itself, whether it is a `LETTER`, a `SPACE` or
            `PUNCTUATION` (int32), and the number of its sentence (int64).
        """
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
        kinds = _look_up(self._kinds, codes) % 4
        kept = kinds != code_points.REMOVED
        return codes[kept], kinds[kept], rows[kept]


def _ordered(codes, ranks, same_row):
    """Each run of marks sorted by rank; neighbours of one rank stay."""
    size = tf.size(codes, tf.int64)
    follows = tf.concat([[False], same_row & (ranks[1:] > 0)], 0)
    runs = tf.cumsum(tf.cast(~follows, tf.int64))
    keys = (runs * 64 + tf.cast(ranks, tf.int64)) * size + tf.range(size)
    return tf.gather(codes, tf.argsort(keys))


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
def make_tables(
    clean_text: bool,
    handle_chinese_chars: bool,
    strip_accents: bool | None,
    lowercase: bool,
) -> code_points.CodePoints:
    """The tables of a normalizer with these options; seconds the first time."""
    library = extras.need("tokenizers", "text")
    return code_points.read_code_points(
        library.normalizers.BertNormalizer(
            clean_text, handle_chinese_chars, strip_accents, lowercase
        ).normalize_str,
        library.pre_tokenizers.BertPreTokenizer().pre_tokenize_str,
    )
