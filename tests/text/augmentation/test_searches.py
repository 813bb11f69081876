"""Greedy and beam search on made tables, beside plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from keras_mmel.text.augmentation.scorer import Ranked
from keras_mmel.text.augmentation.search import beam_search
from keras_mmel.text.augmentation.search import greedy
from keras_mmel.text.augmentation.slots import Filled
from keras_mmel.text.augmentation.slots import fill_rest
from tests.text.augmentation import plain_loop
from tests.text.augmentation.word_table import MASK
from tests.text.augmentation.word_table import PlainTable
from tests.text.augmentation.word_table import WordTable
from tests.text.augmentation.word_table import masked


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


def by_hand(table, tokens, segments, positions, count):
    """Samples of one sequence by the plain loop."""
    allowed = table.allowed
    return plain_loop.algorithm_2(
        PlainTable(table), tokens, segments, positions, count, allowed, MASK
    )


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


@settings(max_examples=100, deadline=None)
@given(
    sequences=many,
    count=st.integers(1, 5),
    slots=st.integers(1, 12),
    words=st.integers(1, 6),
)
def test_greedy(sequences, count, slots, words):
    table = WordTable(range(2, 2 + words))
    result = greedy(
        [masked(t, p, s) for t, s, p in sequences],
        table.rank,
        table.rank,
        count,
        slots,
    )
    assert max(table.rows) <= slots
    for (tokens, segments, positions), samples in zip(
        sequences, result, strict=True
    ):
        expected = by_hand(table, tokens, segments, positions, count)
        check(samples, expected, positions, tokens)
        # As many as there are first words, but for the original.
        assert count >= len(samples) >= min(count, words - 1)


@settings(max_examples=100, deadline=None)
@given(
    sequences=many,
    count=st.integers(1, 4),
    more=st.integers(0, 2),
    slots=st.integers(1, 12),
    words=st.integers(1, 6),
    levels=st.sampled_from([3, 10**6]),
)
def test_beam(sequences, count, more, slots, words, levels):
    table = WordTable(range(2, 2 + words), levels)
    beams = count + more
    result = beam_search(
        [masked(t, p, s) for t, s, p in sequences],
        table.rank,
        table.rank,
        count,
        beams,
        slots,
    )
    assert max(table.rows) <= max(slots, beams)
    for (tokens, segments, positions), samples in zip(
        sequences, result, strict=True
    ):
        expected = plain_loop.plain_beam(
            PlainTable(table),
            tokens,
            segments,
            positions,
            count,
            beams,
            table.allowed,
            MASK,
        )
        if levels > 3:
            check(samples, expected, positions, tokens)
        else:
            # Of equal fillings either may be kept; their sums are the same.
            np.testing.assert_allclose(
                [sample.log_prob for sample in samples],
                [total for _, total in expected],
                atol=1e-9,
            )


def test_beam_search_is_exact_where_noise_could_decide():
    table = WordTable(range(2, 8))
    noise = np.random.default_rng(0)

    def noisy(rows, count):
        ranked = table.rank(rows, count)
        ranked.log_probs[:] += noise.uniform(-1e-4, 1e-4)
        return ranked

    sequences = [masked([2, 3, 4, 5, i], [3, 0, 4]) for i in range(2, 40)]
    expected = beam_search(sequences, table.rank, table.rank, 4, 4, 16)
    result = beam_search(sequences, noisy, table.rank, 4, 4, 16)
    words = [[one.token_ids for one in samples] for samples in result]
    assert words == [[one.token_ids for one in s] for s in expected]


def test_a_better_filling_may_begin_with_a_worse_word():
    # First mask: 2 is likelier than 3; after 3 the second is nearly sure.
    def rank(rows, count):
        from keras_mmel.text.augmentation.scorer import Ranked

        first = rows.token_ids[:, 0]
        p = np.where(first == MASK, 0.6, np.where(first == 2, 0.5, 0.9))
        log_probs = np.log(np.stack([p, 1 - p], axis=1))
        ids = np.tile([2, 3], (len(p), 1))
        return Ranked(ids, log_probs, np.zeros(len(p), bool))

    sequence = masked([3, 3], [0, 1])
    found = beam_search([sequence], rank, rank, 2, 2, 8)[0]
    assert [one.token_ids for one in found] == [(3, 2), (2, 2)]
    assert found[0].log_prob == pytest.approx(np.log(0.4 * 0.9))
    found = greedy([sequence], rank, rank, 2, 8)[0]
    assert [one.token_ids for one in found] == [(2, 2), (3, 2)]


def test_slots_are_full_until_the_end():
    table = WordTable(range(2, 9))
    sequences = [masked([2] * n, range(n)) for n in (1, 9, 3, 3, 6, 2, 9, 4)]
    begun = [Filled((3,), 0.0)] * len(sequences)
    done = fill_rest(sequences, begun, table.rank, table.rank, 4)
    assert [len(filled.token_ids) for filled in done] == [
        1,
        9,
        3,
        3,
        6,
        2,
        9,
        4,
    ]
    assert sum(table.rows) == 8 + 2 + 2 + 5 + 1 + 8 + 3
    # 29 masks in 4 slots: 8 calls at the least.
    assert len(table.rows) == 8
    assert table.rows[0] == 4


@settings(max_examples=50, deadline=None)
@given(
    sequences=many,
    count=st.integers(1, 5),
    slots=st.integers(1, 12),
    levels=st.sampled_from([4, 10**6]),
    share=st.sampled_from([0.1, 0.5, 1.0]),
)
def test_greedy_where_noise_could_decide(
    sequences, count, slots, levels, share
):
    table = WordTable(range(2, 8), levels)
    exact = WordTable(range(2, 8), levels)
    random = np.random.default_rng(0)

    def noisy(rows, words):
        """Wrong words, which are told, wherever a row is close."""
        ranked = table.rank(rows, words)
        close = ranked.close | (random.random(len(rows.lengths)) < share)
        ranked.token_ids[close] = 99
        ranked.log_probs[close] = 1.0
        return Ranked(ranked.token_ids, ranked.log_probs, close)

    arguments = [masked(t, p, s) for t, s, p in sequences]
    found = greedy(arguments, noisy, exact.rank, count, slots)
    assert max(table.rows + exact.rows) <= slots
    for (tokens, segments, positions), samples in zip(
        sequences, found, strict=True
    ):
        expected = by_hand(table, tokens, segments, positions, count)
        check(samples, expected, positions, tokens)


def test_close_words_are_decided_together():
    table, exact = WordTable(range(2, 9)), WordTable(range(2, 9))

    def rank(rows, count):
        """Every row of four tokens or less is close."""
        ranked = table.rank(rows, count)
        return Ranked(ranked.token_ids, ranked.log_probs, rows.lengths <= 4)

    sequences = [masked([2] * n, range(n)) for n in (9, 4, 9, 3, 9, 4, 9, 9)]
    begun = [Filled((3,), 0.0)] * len(sequences)
    done = fill_rest(sequences, begun, rank, exact.rank, 4)
    assert done == fill_rest(sequences, begun, table.rank, table.rank, 4)
    # In one go as soon as nothing waits, then the next mask of each.
    assert exact.rows == [3, 3, 2]


def test_nothing_to_fill():
    table = WordTable(range(2, 9))
    assert fill_rest([], [], table.rank, table.rank, 4) == []
    assert greedy([], table.rank, table.rank, 2, 4) == []
    assert beam_search([], table.rank, table.rank, 2, 2, 4) == []
    assert table.rows == []
