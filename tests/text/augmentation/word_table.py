"""A made masked LM for searches: log-probabilities drawn from what it sees."""

import numpy as np

from keras_mmel.text.augmentation.scorer import Ranked
from keras_mmel.text.augmentation.slots import Masked

MASK = 1


class WordTable:
    """Log-probabilities from a hash of the tokens and the position.

    Args:
        allowed: ids of the words.
        levels: how many different logits there are; few make ties.
    """

    def __init__(self, allowed, levels=10**6):
        self.allowed = np.asarray(allowed)
        self.levels = levels
        self.rows = []

    def log_probs(self, token_ids, segment_ids, position):
        key = hash((*map(int, token_ids), -1, *map(int, segment_ids), position))
        random = np.random.default_rng(key % 2**63)
        logits = random.integers(0, self.levels, len(self.allowed))
        logits = 5 * logits / self.levels
        return logits - np.log(np.exp(logits).sum())

    def rank(self, rows, count):
        self.rows.append(len(rows.lengths))
        ids, log_probs, close = [], [], []
        for i, length in enumerate(rows.lengths):
            found = self.log_probs(
                rows.token_ids[i, :length],
                rows.segment_ids[i, :length],
                int(rows.positions[i]),
            )
            order = np.argsort(-found, kind="stable")
            ids.append(self.allowed[order[:count]])
            log_probs.append(found[order[:count]])
            gaps = -np.diff(found[order[: count + 1]])
            close.append((gaps < 5e-4).any())
        return Ranked(np.stack(ids), np.stack(log_probs), np.array(close))

    def plain(self, token_ids, segment_ids, position, allowed):
        """The same for the plain loops, which hand over what is allowed."""
        assert list(allowed) == list(self.allowed)
        return self.log_probs(token_ids, segment_ids, position)


class PlainTable:
    """A `WordTable` as the plain loops want it."""

    def __init__(self, table):
        self.log_probs = table.plain


def masked(token_ids, positions, segment_ids=None):
    """A `Masked` from the tokens of an original."""
    token_ids = np.array(token_ids, "int32")
    if segment_ids is None:
        segment_ids = np.zeros(len(token_ids))
    original = tuple(token_ids[list(positions)].tolist())
    token_ids[list(positions)] = MASK
    return Masked(
        token_ids, np.array(segment_ids, "int32"), tuple(positions), original
    )
