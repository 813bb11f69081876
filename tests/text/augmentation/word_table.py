"""A made masked LM for searches: log-probabilities drawn from what it sees."""

import numpy as np

from keras_mmel.text.augmentation.masking import Masked

MASK = 1


class WordTable:
    """Log-probabilities from a hash of the tokens and the position.

    Args:
        allowed: Ids of the words.
    """

    def __init__(self, allowed):
        self.allowed = np.asarray(allowed)
        self.rows = []

    def log_probs(self, token_ids, segment_ids, position, allowed):
        """As the plain loops ask."""
        assert list(allowed) == list(self.allowed)
        key = hash((*map(int, token_ids), -1, *map(int, segment_ids), position))
        random = np.random.default_rng(key % 2**63)
        logits = random.uniform(0, 5, len(self.allowed))
        return logits - np.log(np.exp(logits).sum())

    def rank(self, token_ids, segment_ids, lengths, positions, count):
        """As the searches ask."""
        self.rows.append(len(lengths))
        ids, log_probs = [], []
        for i, length in enumerate(lengths):
            found = self.log_probs(
                token_ids[i, :length],
                segment_ids[i, :length],
                int(positions[i]),
                self.allowed,
            )
            order = np.argsort(-found, kind="stable")[:count]
            ids.append(self.allowed[order])
            log_probs.append(found[order])
        return np.stack(ids), np.stack(log_probs)


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
