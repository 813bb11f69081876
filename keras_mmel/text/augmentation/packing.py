"""Sequences of several lengths as one list of tokens, with or without padding.

Dense layers and normalizations see each token by itself: they run on a list of
tokens. Attention alone needs rows of one length.
"""

import tensorflow as tf


class PaddedTokens:
    """Tokens of all rows one after the other, with the padding.

    Args:
        seen: (rows, longest) bool, whether there is a token.
    """

    def __init__(self, seen):
        self.shape = tf.shape(seen)

    def pack(self, table):
        """(rows or 1, longest) to (tokens,)."""
        return tf.reshape(tf.broadcast_to(table, self.shape), [-1])

    def distinct(self, tables):
        """Columns of the tokens, and what repeats their rows (`None`)."""
        return [self.pack(table) for table in tables], None

    def unpack(self, x):
        """(tokens, width) to (rows, longest, width)."""
        return tf.reshape(x, [self.shape[0], self.shape[1], x.shape[-1]])

    def split(self, x, parts, heads):
        """(tokens, parts * heads * size) to (parts, rows, heads, .., size)."""
        size = x.shape[-1] // (parts * heads)
        x = tf.reshape(x, [self.shape[0], self.shape[1], parts, heads, size])
        return tf.transpose(x, [2, 0, 3, 1, 4])

    def merge(self, x):
        """(rows, heads, longest, size) to (tokens, heads * size)."""
        width = x.shape[1] * x.shape[3]
        return tf.reshape(tf.transpose(x, [0, 2, 1, 3]), [-1, width])


class PackedTokens(PaddedTokens):
    """Tokens of all rows one after the other, without the padding."""

    def __init__(self, seen):
        super().__init__(seen)
        flat = tf.cast(tf.reshape(seen, [-1]), tf.int32)
        self.places = tf.cast(tf.where(flat)[:, 0], tf.int32)
        # What stands at the padding does not matter, as long as it is finite.
        back = tf.maximum(tf.cumsum(flat) - 1, 0)
        self.back = tf.reshape(back, self.shape)

    def distinct(self, tables):
        """Every row of columns once, and which of them each token is.

        Samples of one text differ at the filled words alone, so most tokens
        enter the first layer several times.
        """
        columns = [tf.cast(self.pack(table), tf.int64) for table in tables]
        sizes = [tf.reduce_max(column) + 1 for column in columns]
        keys = tf.unique(
            (columns[0] * sizes[1] + columns[1]) * sizes[2] + columns[2]
        )
        rest, last = keys.y // sizes[2], keys.y % sizes[2]
        return [rest // sizes[1], rest % sizes[1], last], keys.idx

    def pack(self, table):
        """(rows or 1, longest) to (tokens,)."""
        return tf.gather(super().pack(table), self.places)

    def unpack(self, x):
        """(tokens, width) to (rows, longest, width)."""
        return tf.gather(x, self.back)

    def split(self, x, parts, heads):
        """(tokens, parts * heads * size) to (parts, rows, heads, .., size)."""
        # Rows of one head each: one gather that also transposes.
        index = self.back[:, None] * (parts * heads)
        index += tf.range(heads)[:, None]
        index += heads * tf.range(parts)[:, None, None, None]
        size = x.shape[-1] // (parts * heads)
        return tf.gather(tf.reshape(x, [-1, size]), index)

    def merge(self, x):
        """(rows, heads, longest, size) to (tokens, heads * size)."""
        heads, size = x.shape[1], x.shape[3]
        longest = self.shape[1]
        row, place = self.places // longest, self.places % longest
        index = (row[:, None] * heads + tf.range(heads)) * longest
        found = tf.gather(tf.reshape(x, [-1, size]), index + place[:, None])
        return tf.reshape(found, [-1, heads * size])
