import itertools

import numpy as np
import pytest

from experiments.benchmarks import rounds


def test_each_is_first_once():
    numbers = itertools.count()
    calls = []

    def call(name):
        calls.append(name)
        return next(numbers)

    names = "abc"
    found = rounds.in_turns(
        {name: lambda name=name: call(name) for name in names}, 3
    )
    assert "".join(calls) == "abcbcacab"
    for name, values in found.items():
        assert [calls[value] for value in values] == [name] * 3


def test_quartiles():
    values = np.arange(1, 10) / 7
    assert rounds.quartiles(values) == pytest.approx(
        {"q25": 3 / 7, "median": 5 / 7, "q75": 1}
    )
