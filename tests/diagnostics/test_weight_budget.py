"""The share of time: with a clock that the test turns."""

import pytest

from keras_mmel.diagnostics.budget import Budget


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.mark.parametrize("epoch, look", [(1.0, 0.25), (1.0, 0.001), (0.5, 3.0)])
def test_looks_stay_within_their_share(epoch, look):
    clock = Clock()
    budget = Budget(0.01, clock)
    budget.start()
    looks = []
    for number in range(2000):
        clock.now += epoch
        if budget.allows():
            looks.append(number)
            with budget.spend():
                # The first warms up.
                clock.now += look if number else 50.0
    assert looks[:2] == [0, 1]
    # As many as fit: one look per `look / 0.01` seconds, or every epoch.
    expected = min(2000, 1 + int(0.01 * 2000 * epoch / look))
    assert abs(len(looks) - expected) <= 2
    spent = (len(looks) - 1) * look
    assert budget.spent == pytest.approx(spent)
    assert spent <= max(0.01 * 2000 * epoch, look)


def test_a_look_that_fails_is_counted():
    clock = Clock()
    budget = Budget(0.5, clock)
    for _ in range(2):
        with pytest.raises(RuntimeError), budget.spend():
            clock.now += 2.0
            raise RuntimeError
    assert budget.spent == 2.0
    assert not budget.allows()
    clock.now += 8.0
    assert budget.allows()
    budget.start()
    assert budget.spent == 0.0
