import collections

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from keras_mmel.text.augmentation.masking import Masking
from keras_mmel.text.augmentation.masking import choose_positions
from keras_mmel.text.augmentation.masking import count_masked


@pytest.mark.parametrize(
    ("length", "ratio", "expected"),
    [
        (10, 0.4, 4),
        (1, 0.4, 1),
        (2, 0.2, 1),
        (4, 0.4, 2),
        # Half to even, as Python rounds.
        (5, 0.3, 2),
        (5, 0.5, 2),
        (7, 0.5, 4),
        (12, 0.0, 1),
        (12, 1.0, 12),
    ],
)
def test_count(length, ratio, expected):
    assert count_masked(length, length, ratio) == expected


def test_count_is_at_most_what_may_be_masked():
    assert count_masked(10, 2, 0.4) == 2
    assert count_masked(10, 0, 0.4) == 0
    assert count_masked(0, 0, 0.4) == 0


@settings(max_examples=50, deadline=None)
@given(
    candidates=st.sets(st.integers(0, 500), min_size=1, max_size=30).map(
        sorted
    ),
    data=st.data(),
    seed=st.integers(),
    example_id=st.text(),
)
def test_chosen_positions_are_distinct_candidates(
    candidates, data, seed, example_id
):
    count = data.draw(st.integers(1, len(candidates)))
    chosen = choose_positions(candidates, count, seed, example_id)
    assert len(set(chosen)) == len(chosen) == count
    assert set(chosen) <= set(candidates)
    # A prefix of the full order: a larger ratio masks more of the same.
    everything = choose_positions(candidates, len(candidates), seed, example_id)
    assert everything[:count] == chosen


def test_order_and_choice_are_uniform():
    count = 6000
    chosen = [choose_positions(range(4), 2, 0, str(i)) for i in range(count)]
    for counted in map(collections.Counter, zip(*chosen, strict=True)):
        observed = np.array([counted[i] for i in range(4)])
        chi_squared = ((observed - count / 4) ** 2 / (count / 4)).sum()
        # 3 degrees of freedom: above this once in 10,000 seeds.
        assert chi_squared < 21.1


def test_seed_id_and_segment_decide():
    def choose(*key):
        return choose_positions(range(30), 30, *key)

    base = choose(0, "1")
    assert base == choose(0, "1", 0)
    others = [choose(1, "1"), choose(0, "2"), choose(0, "1", 1)]
    assert len({base, *others}) == 4
    # The parts of the key cannot be mistaken for one another.
    assert choose(1, "23") != choose(12, "3")


def test_known_choice():
    # The choice is part of a data set: it must never change.
    assert choose_positions(range(1, 11), 4, 0, "0") == (1, 6, 4, 5)


@pytest.mark.parametrize("separate", [True, False])
def test_sequences_of_a_pair(masked_lm, separate):
    tokenizer = masked_lm.tokenizer
    masking = Masking(tokenizer, 1.0, "token", separate, 0)
    (encoded,) = tokenizer.encode([("a film", "it was good")])
    sequences = masking.mask(encoded, "7")
    cls, sep, mask = tokenizer.cls_id, tokenizer.sep_id, tokenizer.mask_id
    first, second = [cls, mask, mask, sep], [mask, mask, mask, sep]
    if separate:
        expected = [first, [cls, *second]], [[0] * 4, [0] * 5], [0, 3]
    else:
        expected = [first + second], [[0] * 4 + [1] * 4], [0]
    assert [s.token_ids.tolist() for s in sequences] == expected[0]
    assert [s.segment_ids.tolist() for s in sequences] == expected[1]
    assert [s.start for s in sequences] == expected[2]
    for one in sequences:
        assert one.original == tuple(
            encoded.token_ids[one.start + p] for p in one.positions
        )
