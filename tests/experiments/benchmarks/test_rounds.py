import pytest

from experiments.benchmarks import rounds


def test_in_turns():
    calls = []

    def call(name):
        calls.append(name)
        return len(calls) - 1

    found = rounds.in_turns({n: lambda n=n: call(n) for n in "abc"}, 3)
    # Each is first once.
    assert "".join(calls) == "abcbcacab"
    for name, values in found.items():
        assert [calls[value] for value in values] == [name] * 3
    expected = {"q25": 3, "median": 5, "q75": 7}
    assert rounds.quartiles(range(1, 10)) == pytest.approx(expected)
