import numpy as np
import pytest
import scipy.stats

from experiments import paired


def by_seed(*values):
    return dict(enumerate(values))


def test_the_seeds_that_both_have_are_compared():
    one, other = [0.5, 0.6, 0.9, 0.7], [0.4, 0.55, 0.7, 0.72]
    scores = {9: 5.0} | dict(reversed(by_seed(*one).items()))
    found = paired.difference(scores, by_seed(*other))
    assert found.mean == pytest.approx(np.mean(one) - np.mean(other))
    assert found.p == pytest.approx(scipy.stats.ttest_rel(one, other).pvalue)
    assert paired.difference({1: 3.0}, {0: 3.0}) is None


def test_columns():
    tests = [
        paired.difference(by_seed(*values), by_seed(0, 0, 0))
        for values in ([0.1, 0.2, 0.1], [-2, -2.001, -1.999], [1, 1, 1])
    ]
    (_, p), *_ = paired.columns(tests[:1])
    expected = scipy.stats.ttest_1samp([0.1, 0.2, 0.1], 0).pvalue
    # One test alone needs no correction.
    assert p == f"{expected:.3f}"
    assert paired.columns([*tests, None]) == [
        ("+0.13", f"{expected:.3f} ({expected:.3f})"),
        ("-2.00", "< 0.001 (< 0.001)"),
        ("+1.00", ""),
        ("", ""),
    ]
