import collections

import numpy as np
import pytest

from keras_mmel.text.augmentation.masking import choose_positions
from keras_mmel.text.augmentation.masking import count_masked


@pytest.mark.parametrize(
    ("length", "candidates", "ratio", "expected"),
    [
        (10, 10, 0.4, 4),
        (3, 3, 0.4, 1),
        # Half to even, as Python rounds.
        (5, 5, 0.3, 2),
        (5, 5, 0.5, 2),
        (7, 7, 0.5, 4),
        (12, 12, 0.0, 1),
        (12, 12, 1.0, 12),
        # At most what may be masked.
        (10, 2, 0.4, 2),
        (10, 0, 0.4, 0),
    ],
)
def test_count(length, candidates, ratio, expected):
    assert count_masked(length, candidates, ratio) == expected


def test_a_larger_ratio_masks_more_of_the_same():
    candidates = [3, 5, 8, 20, 21]
    chosen = [choose_positions(candidates, n, 1, "a") for n in range(6)]
    assert sorted(chosen[5]) == candidates
    assert chosen == [chosen[5][:n] for n in range(6)]


def test_order_and_choice_are_uniform():
    count = 6000
    chosen = [choose_positions(range(4), 2, 0, str(i)) for i in range(count)]
    for counted in map(collections.Counter, zip(*chosen, strict=True)):
        observed = np.array([counted[i] for i in range(4)])
        chi_squared = ((observed - count / 4) ** 2 / (count / 4)).sum()
        # 3 degrees of freedom: above this once in 10,000 seeds.
        assert chi_squared < 21.1


def test_known_choice():
    # The choice is part of a data set: it must never change.
    candidates = range(1, 11)
    assert choose_positions(candidates, 4, 0, "0") == (1, 6, 4, 5)
    # The parts of the key cannot be mistaken for one another.
    one, other = (
        choose_positions(candidates, 10, *key) for key in ((1, "23"), (12, "3"))
    )
    assert one != other
