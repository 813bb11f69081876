"""The hash against SplitMix64 in Python integers, and its uniformity."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from keras_mmel.data.randomness import seeds

stats = pytest.importorskip("scipy.stats")

MASK = 2**64 - 1


def splitmix64(state):
    """Return the next output of Vigna's splitmix64.c from `state`."""
    z = (state + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def reference_fold(key, *parts):
    key = splitmix64(key & MASK)
    for part in parts:
        key = splitmix64((key + part) & MASK)
    return key


def test_published_first_output():
    # First output of splitmix64.c from state 0.
    assert int(seeds.fold(0)) == 0xE220A8397B1DCDAF


def test_fold_equals_python_integers():
    parts = np.array([[0, 1], [2**40, 2**62]])
    folded = seeds.fold(-5, 3, parts).numpy()
    for index in np.ndindex(2, 2):
        assert int(folded[index]) == reference_fold(-5, 3, int(parts[index]))


def test_view_seeds_are_their_own_for_every_example_and_view():
    ids, views = [7, 0, 2**33], [1, 2, 5]
    result = seeds.view_seeds(
        11, tf.constant(4, tf.int64), tf.constant(ids, tf.int64), views
    )
    keys = tf.bitcast(result, tf.uint64).numpy()
    for (i, example), (j, view) in itertools.product(
        enumerate(ids), enumerate(views)
    ):
        expected = reference_fold(11, seeds.VIEWS, 4, example, view)
        assert int(keys[i, j]) == expected
    own = np.array([[1, 4], [0, 2]])  # views that examples have of their own
    keys = tf.bitcast(seeds.view_seeds(11, 4, ids[:2], own), tf.uint64).numpy()
    for (i, j), view in np.ndenumerate(own):
        expected = reference_fold(11, seeds.VIEWS, 4, ids[i], int(view))
        assert int(keys[i, j]) == expected


def test_what_is_drawn_from_a_pool():
    ids = np.arange(20_000)
    found = seeds.drawn_from(5, 2, 3, 6, ids).numpy()
    for i in range(3):
        hashes = [
            reference_fold(3, seeds.POOL, 6, i, place) >> 2
            for place in range(5)
        ]
        assert list(found[i]) == sorted(np.argsort(hashes)[:2])
    # Each of the ten pairs as often as the others.
    _, counts = np.unique(found @ [5, 1], return_counts=True)
    assert len(counts) == 10
    assert stats.chisquare(counts).pvalue > 1e-3


def test_no_two_views_share_a_seed():
    keys = [
        tf.bitcast(seeds.view_seeds(s, e, range(500), range(10)), tf.uint64)
        for s in (0, 1)
        for e in (0, 1, 2)
    ]
    keys = np.stack([k.numpy() for k in keys]).ravel()
    assert len(np.unique(keys)) == keys.size
