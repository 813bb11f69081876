"""Paired differences and Holm's method against their formulas."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from keras_mmel.comparison.paired import holm
from keras_mmel.comparison.paired import paired_difference


def test_equals_the_formula():
    rng = np.random.default_rng(0)
    base = rng.normal(size=7)
    values = base + rng.normal(0.5, 0.3, size=7)
    found = paired_difference(values, base)
    differences = values - base
    error = differences.std(ddof=1) / math.sqrt(7)
    t = differences.mean() / error
    reach = scipy.stats.t(6).ppf(0.975) * error
    assert_allclose(found.mean, differences.mean())
    assert_allclose(found.p, 2 * scipy.stats.t(6).sf(abs(t)))
    assert_allclose(found.low, differences.mean() - reach)
    assert_allclose(found.high, differences.mean() + reach)
    assert found.seeds == 7


@pytest.mark.parametrize("count", [1, 3])
def test_differences_alike_have_no_p(count):
    found = paired_difference([2.0] * count, [1.5] * count)
    assert found.mean == 0.5 and math.isnan(found.p)


def test_other_numbers_of_seeds_are_refused():
    with pytest.raises(ValueError, match="zip.*shorter"):
        paired_difference([1.0, 2.0], [1.0])


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_equals_a_plain_loop(p_values):
    found = holm(p_values)
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    largest = 0.0
    for rank, i in enumerate(order):
        largest = max(largest, (len(p_values) - rank) * p_values[i])
        assert_allclose(found[i], min(largest, 1.0))


def test_holm_leaves_nan_out():
    found = holm([0.02, float("nan"), 0.01])
    assert_allclose(found, [0.02, float("nan"), 0.02])
