import numpy as np
import pytest
import scipy.stats

from experiments import paired


def by_seed(*values):
    return dict(enumerate(values))


class TestDifference:
    def test_against_scipy(self):
        one, other = [0.5, 0.6, 0.9, 0.7], [0.4, 0.55, 0.7, 0.72]
        # Seeds that one alone has do not count, in whatever order they come.
        scores = {9: 5.0} | dict(reversed(by_seed(*one).items()))
        mean, p = paired.difference(scores, by_seed(*other))
        assert mean == pytest.approx(np.mean(one) - np.mean(other))
        assert p == pytest.approx(scipy.stats.ttest_rel(one, other).pvalue)

    @pytest.mark.parametrize(
        ("one", "other", "mean"),
        [
            (by_seed(3.0), by_seed(1.0, 2.0), 2.0),
            (by_seed(3.0, 4.0), by_seed(1.0, 2.0), 2.0),
            ({}, by_seed(1.0), None),
            ({1: 3.0}, {0: 3.0}, None),
        ],
    )
    def test_too_little_to_test(self, one, other, mean):
        assert paired.difference(one, other) == (mean, None)


class TestHolm:
    def test_by_its_definition(self):
        # 0.02 * 3, 0.03 * 2 is as large, 0.04 * 1 is below what was before.
        found = paired.holm([0.04, None, 0.02, 0.03])
        assert found == pytest.approx([0.06, None, 0.06, 0.06])
        assert paired.holm([0.4, 0.6]) == [0.8, 0.8]
        assert paired.holm([0.7, 0.8]) == [1.0, 1.0]
        assert paired.holm([None]) == [None]


def test_columns():
    tests = [(0.126, 0.0301), (-2, 0.0001), (1.0, None), (None, None)]
    assert paired.columns(tests) == [
        ("+0.13", "0.030 (0.030)"),
        ("-2.00", "< 0.001 (< 0.001)"),
        ("+1.00", ""),
        ("", ""),
    ]
    # One test alone needs no correction.
    assert paired.columns(tests[:1]) == [("+0.13", "0.030")]
