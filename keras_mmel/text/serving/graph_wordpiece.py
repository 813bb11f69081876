"""WordPiece in plain TensorFlow: the longest piece first, all words at once."""

from collections.abc import Mapping

import numpy as np
import tensorflow as tf

# More than any code point: what a state is multiplied with in a key.
_CODES = 1 << 21
_START, _INSIDE = 0, 1


class GraphWordPiece(tf.Module):
    """Greedy longest-match WordPiece on words given as code points.

    The pieces are a tree that is walked one code point a step, from every
    code point of every word at the same time. Then each word goes from piece
    to piece, again all words at once. A word that does not come out, or is
    too long, is one unknown token.

    Args:
        vocabulary: from piece to id.
        unknown: the piece of what has no other.
        prefix: what a piece that continues a word begins with.
        longest_word: words of more code points are unknown.

    Example:

    ```python
    import tensorflow as tf
    from keras_mmel.text.serving.graph_wordpiece import GraphWordPiece

    pieces = GraphWordPiece({"[UNK]": 0, "film": 1, "##s": 2}, "[UNK]")
    codes = tf.strings.unicode_decode("films", "UTF-8")
    ids, where = pieces(codes, tf.constant([True] + [False] * 4))
    ids.numpy(), where.numpy()  # ([1, 2], [0, 4])
    ```

    Source: Wu et al. 2016, https://arxiv.org/abs/1609.08144; as in the
    `tokenizers` library.
    """

    def __init__(
        self,
        vocabulary: Mapping[str, int],
        unknown: str,
        prefix: str = "##",
        longest_word: int = 100,
    ):
        super().__init__()
        keys, accepted = _tree(vocabulary, prefix)
        self._next = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(
                tf.constant(list(keys), tf.int64),
                tf.constant(list(keys.values()), tf.int32),
            ),
            default_value=-1,
        )
        self._accepted = tf.constant(accepted, tf.int32)
        self._unknown = vocabulary[unknown]
        self._longest_word = longest_word

    def __call__(
        self, codes: tf.Tensor, starts: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Split words into pieces.

        Args:
            codes: (n,) int32, the code points of all words, one word after
                the other, nothing between them.
            starts: (n,) bool, where a word begins.

        Returns:
            Ids of the pieces, int32, and for each the index of its first code
            point, int32.
        """
        size = tf.size(codes)
        words = tf.cumsum(tf.cast(starts, tf.int32)) - 1
        first = tf.cast(tf.where(starts)[:, 0], tf.int32)
        end = tf.concat([first[1:], size[None]], 0)[: tf.size(first)]
        ends = tf.gather(end, words)
        ids, lengths = self._longest_pieces(codes, starts, ends)
        reached, good = self._follow(first, end, ends, lengths)
        good = tf.gather(good, words)
        ids = tf.where(good, ids, self._unknown)
        where = tf.where(tf.where(good, reached, starts))[:, 0]
        return tf.gather(ids, where), tf.cast(where, tf.int32)

    def _longest_pieces(self, codes, starts, ends):
        """Id and length of the longest piece from every code point on."""
        size = tf.size(codes)

        def step(depth, alive, states, ids, lengths):
            here = alive + depth
            inside = here < tf.gather(ends, alive)
            alive, states = alive[inside], states[inside]
            code = tf.gather(codes, here[inside])
            keys = tf.cast(states, tf.int64) * _CODES
            states = self._next.lookup(keys + tf.cast(code, tf.int64))
            alive, states = alive[states >= 0], states[states >= 0]
            found = tf.gather(self._accepted, states)
            at, found = alive[found >= 0][:, None], found[found >= 0]
            ids = tf.tensor_scatter_nd_update(ids, at, found)
            lengths = tf.tensor_scatter_nd_update(
                lengths, at, tf.fill(tf.shape(found), depth + 1)
            )
            return depth + 1, alive, states, ids, lengths

        none = tf.zeros([size], tf.int32)
        *_, ids, lengths = tf.while_loop(
            lambda depth, alive, *_: tf.size(alive) > 0,
            step,
            [
                tf.constant(0),
                tf.range(size),
                tf.where(starts, _START, _INSIDE),
                none,
                none,
            ],
            shape_invariants=[
                tf.TensorShape([]),
                *[tf.TensorShape([None])] * 4,
            ],
        )
        return ids, lengths

    def _follow(self, first, end, ends, lengths):
        """Where pieces begin, and which words are made of pieces."""
        short = end - first <= self._longest_word
        reached = tf.zeros(tf.shape(lengths), bool)

        def step(word, at, reached, good):
            reached = tf.tensor_scatter_nd_update(
                reached, at[:, None], tf.ones(tf.shape(at), bool)
            )
            length = tf.gather(lengths, at)
            good = tf.tensor_scatter_nd_update(good, word[:, None], length > 0)
            following = at + length
            more = (length > 0) & (following < tf.gather(ends, at))
            return word[more], following[more], reached, good

        *_, reached, good = tf.while_loop(
            lambda word, *_: tf.size(word) > 0,
            step,
            [tf.range(tf.size(first))[short], first[short], reached, short],
            shape_invariants=[tf.TensorShape([None])] * 4,
        )
        return reached, good


def _tree(vocabulary, prefix):
    """The pieces as a tree over code points.

    Two roots: at the beginning of a word a piece is looked up as it is, after
    it behind the prefix.
    """
    keys: dict[int, int] = {}
    accepted = [-1, -1]
    for piece, number in vocabulary.items():
        roots = [(_START, piece)]
        if piece.startswith(prefix):
            roots.append((_INSIDE, piece[len(prefix) :]))
        for state, text in roots:
            for char in text:
                key = state * _CODES + ord(char)
                state = keys.setdefault(key, len(accepted))
                if state == len(accepted):
                    accepted.append(-1)
            if text:
                accepted[state] = number
    if not keys:
        raise ValueError(
            "`vocabulary` must have pieces. Received: "
            f"{len(vocabulary)} of them, all empty"
        )
    return keys, np.array(accepted)
