"""Greedy and beam search on made tables, beside plain loops."""

import functools

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from keras_mmel.text.augmentation.masking import Masked
from keras_mmel.text.augmentation.search import beam_search
from keras_mmel.text.augmentation.search import greedy
from tests.text.augmentation import plain_loop

MASK = 1


class WordTable:
    """A made masked LM: log-probabilities from a hash of what it sees."""

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


@st.composite
def originals(draw):
    """Tokens, segments and positions of one sequence."""
    length = draw(st.integers(1, 7))
    token_ids = draw(
        st.lists(st.integers(2, 6), min_size=length, max_size=length)
    )
    positions = draw(st.permutations(range(length)))
    count = draw(st.integers(1, length))
    segments = [0] * (length - length // 2) + [1] * (length // 2)
    return token_ids, segments, positions[:count]


many = st.lists(originals(), min_size=1, max_size=6)


def check(samples, expected, positions, original):
    found = []
    for sample in samples:
        tokens = list(original)
        for position, word in zip(positions, sample.token_ids, strict=True):
            tokens[position] = word
        found.append(tokens)
    assert found == [list(tokens) for tokens, _ in expected]
    np.testing.assert_allclose(
        [sample.log_prob for sample in samples],
        [total for _, total in expected],
        atol=1e-9,
    )
    assert original not in found
    assert len({tuple(tokens) for tokens in found}) == len(found)


@pytest.mark.parametrize("search", ["greedy", "beam"])
@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(
    sequences=many,
    count=st.integers(1, 5),
    more=st.integers(0, 2),
    slots=st.integers(1, 12),
    words=st.integers(1, 6),
)
def test_samples_are_those_of_a_plain_loop(
    search, sequences, count, more, slots, words
):
    table = WordTable(range(2, 2 + words))
    arguments = [masked(t, p, s) for t, s, p in sequences]
    if search == "greedy":
        plain, widest = plain_loop.algorithm_2, slots
        result = greedy(arguments, table.rank, count, slots)
    else:
        beams = count + more
        plain = functools.partial(plain_loop.plain_beam, beams=beams)
        widest = max(slots, beams)
        result = beam_search(arguments, table.rank, count, beams, slots)
    assert max(table.rows) <= widest
    for one, samples in zip(sequences, result, strict=True):
        expected, _ = plain(
            table.log_probs, *one, count, allowed=table.allowed, mask=MASK
        )
        check(samples, expected, one[2], one[0])
        if search == "greedy":
            # As many as there are first words, but for the original.
            assert count >= len(samples) >= min(count, words - 1)


def test_a_better_filling_may_begin_with_a_worse_word():
    # First mask: 2 is likelier than 3; after 3 the second is nearly sure.
    def rank(token_ids, segment_ids, lengths, positions, count):
        first = token_ids[:, 0]
        p = np.where(first == MASK, 0.6, np.where(first == 2, 0.5, 0.9))
        log_probs = np.log(np.stack([p, 1 - p], axis=1))
        ids = np.tile([2, 3], (len(p), 1))
        return ids[:, :count], log_probs[:, :count]

    sequence = masked([3, 3], [0, 1])
    found = beam_search([sequence], rank, 2, 2, 8)[0]
    assert [one.token_ids for one in found] == [(3, 2), (2, 2)]
    assert found[0].log_prob == pytest.approx(np.log(0.4 * 0.9))
    found = greedy([sequence], rank, 2, 8)[0]
    assert [one.token_ids for one in found] == [(2, 2), (3, 2)]


def test_slots_are_full_until_the_end():
    table = WordTable(range(3, 9))
    sequences = [masked([2] * n, range(n)) for n in (1, 9, 3, 3, 6, 2, 9, 4)]
    done = greedy(sequences, table.rank, 1, 4)
    assert [len(one.token_ids) for (one,) in done] == [1, 9, 3, 3, 6, 2, 9, 4]
    # The first masks, four at a time.
    assert table.rows[:2] == [4, 4]
    assert sum(table.rows[2:]) == 8 + 2 + 2 + 5 + 1 + 8 + 3
    # 29 masks in 4 slots: 8 calls at the least.
    assert len(table.rows[2:]) == 8
    assert table.rows[2] == 4
