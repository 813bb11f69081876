import collections
import types

import numpy as np
import pytest
import tensorflow as tf

from keras_mmel.text.reading import view_choice
from keras_mmel.text.reading.token_table import hash_id

# Of each example, the original included.
VIEWS = np.array([1, 2, 3, 5, 5, 8, 9, 6] * 10)
FIRST = np.concatenate([[0], np.cumsum(VIEWS)[:-1]])
KEYS = np.array([hash_id(str(i)) for i in range(len(VIEWS))])


ALL = np.arange(len(VIEWS))
TABLE = types.SimpleNamespace(
    first=np.append(FIRST, FIRST[-1] + VIEWS[-1]), keys=KEYS
)


def groups(num_views, epoch=0, seed=0, chosen=ALL):
    rows, real = view_choice.choose_groups(
        TABLE, num_views, seed, epoch, chosen
    )
    return rows.numpy(), real.numpy()


@pytest.mark.parametrize("num_views", [1, 2, 5, 12])
def test_a_group_is_the_original_and_distinct_views_of_it(num_views):
    rows, real = groups(num_views)
    assert rows.shape == real.shape == (len(VIEWS), num_views)
    for row, there, first, count in zip(rows, real, FIRST, VIEWS, strict=True):
        assert row[0] == first and there[0]
        size = min(count, num_views)
        assert there.tolist() == [True] * size + [False] * (num_views - size)
        assert len(set(row[:size])) == size
        assert all(first <= one < first + count for one in row)
        assert set(row[size:]) <= {first}


def test_draws_change_with_epoch_and_seed_only():
    again, _ = groups(4)
    np.testing.assert_array_equal(groups(4)[0], again)
    assert (groups(4, epoch=1)[0] != again).any()
    assert (groups(4, seed=1)[0] != again).any()
    # An example's draw does not depend on the others.
    some = np.array([70, 5, 6])
    np.testing.assert_array_equal(groups(4, chosen=some)[0], again[some])


def test_all_views_are_drawn_equally_often():
    example = 6  # with 8 augmented views, of which 3 are drawn
    counts = collections.Counter()
    for epoch in range(96):
        rows, _ = groups(4, epoch=epoch, chosen=ALL[example : example + 1])
        counts.update((rows[0, 1:] - FIRST[example]).tolist())
    assert sorted(counts) == list(range(1, 9))
    # 36 expected, standard deviation 4.7.
    assert all(abs(count - 36) < 24 for count in counts.values())


def test_every_view_of_a_group_has_its_turn():
    seen = np.stack(
        [
            view_choice.choose_one(TABLE, 5, 0, epoch, ALL)[0].numpy()[:, 0]
            for epoch in range(10)
        ]
    )
    for cycle in (0, 1):
        rows, real = groups(5, epoch=cycle)
        turns = seen[5 * cycle : 5 * cycle + 5]
        for example in range(len(VIEWS)):
            shown = collections.Counter(turns[:, example].tolist())
            assert set(shown) == set(rows[example][real[example]].tolist())
            assert max(shown.values()) - min(shown.values()) <= 1


class TestOrder:
    lengths = np.random.default_rng(0).integers(1, 9, 103) * 8
    keys = np.array([hash_id(str(i)) for i in range(103)])

    def order(self, window=4, epoch=0, seed=0):
        order, shown = view_choice.order_batches(
            tf.constant(self.lengths),
            tf.constant(self.keys),
            10,
            window,
            seed,
            epoch,
        )
        return order.numpy(), shown.numpy()

    @pytest.mark.parametrize("window", [1, 4, 100])
    def test_every_example_and_every_batch_once(self, window):
        order, shown = self.order(window)
        assert sorted(order) == list(range(103))
        assert sorted(shown) == list(range(11))

    def test_lengths_are_sorted_within_windows(self):
        order, _ = self.order(4)
        shuffled, _ = self.order(1)
        assert (np.diff(self.lengths[shuffled]) < 0).any()
        for start in range(0, 103, 40):
            window = order[start : start + 40]
            assert (np.diff(self.lengths[window]) >= 0).all()
            # The same examples as without sorting.
            assert set(window) == set(shuffled[start : start + 40])

    def test_another_order_in_each_epoch(self):
        first, others = self.order(), self.order(epoch=1)
        assert (first[0] != others[0]).any() and (first[1] != others[1]).any()
        for one, other in zip(first, self.order(), strict=True):
            np.testing.assert_array_equal(one, other)
        assert (first[0] != self.order(seed=1)[0]).any()
