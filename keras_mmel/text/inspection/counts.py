"""Sums over many numbers that need not be kept."""

import collections
import dataclasses


class Histogram:
    """How often each integer was seen."""

    def __init__(self):
        self._counts = collections.Counter()

    def add(self, value: int) -> None:
        """See one more integer."""
        self._counts[value] += 1

    def __len__(self) -> int:
        return self._counts.total()

    @property
    def mean(self) -> float | None:
        """Mean; `None` where nothing was seen."""
        total = sum(value * count for value, count in self._counts.items())
        return total / len(self) if self._counts else None

    def quantile(self, share: float) -> int | None:
        """The smallest integer with at least `share` of all up to it."""
        seen = 0
        for value in sorted(self._counts):
            seen += self._counts[value]
            if seen >= share * len(self):
                return value
        return None

    @property
    def most(self) -> int | None:
        """The largest integer."""
        return max(self._counts, default=None)

    @property
    def least(self) -> int | None:
        """The smallest integer."""
        return min(self._counts, default=None)


@dataclasses.dataclass
class Mean:
    """A running mean; shares are means of zeros and ones."""

    total: float = 0.0
    count: int = 0

    def add(self, value: float) -> None:
        """See one more number."""
        self.total += value
        self.count += 1

    @property
    def value(self) -> float | None:
        """Mean; `None` where nothing was seen."""
        return self.total / self.count if self.count else None
