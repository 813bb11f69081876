"""A share of the time of training, for what only looks at it."""

import contextlib
import time
from collections.abc import Callable
from collections.abc import Iterator


class Budget:
    """Says when something may run without taking more than a share of time.

    Args:
        share: Time it may take, in units of all other time since `start`.
        clock: Gives seconds; for tests.

    Example:

    ```python
    budget = Budget(share=0.02)
    budget.start()
    if budget.allows():
        with budget.spend():
            look()
    ```
    """

    def __init__(
        self, share: float, clock: Callable[[], float] = time.perf_counter
    ):
        self.share = share
        self.spent = 0.0
        self._clock = clock
        self._last = 0.0
        self._is_warm = False
        self._began = clock()

    def start(self) -> None:
        """Starts to count, from nothing spent."""
        self.spent = 0.0
        self._began = self._clock()

    def allows(self) -> bool:
        """Whether one more run, as long as the last, stays within the share.

        The first two are always allowed: the first one, which loads and
        allocates what later ones find in place, tells nothing about the time
        of the others and does not count.
        """
        others = self._clock() - self._began - self.spent
        return self.spent + self._last <= self.share * others

    @contextlib.contextmanager
    def spend(self) -> Iterator[None]:
        """Counts what runs inside."""
        began = self._clock()
        try:
            yield
        finally:
            took = self._clock() - began
            if self._is_warm:
                self._last = took
                self.spent += took
            else:
                # As if it had not been, for the time of the others as well.
                self._began += took
                self._is_warm = True
