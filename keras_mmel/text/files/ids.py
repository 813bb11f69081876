"""Ids of examples: each occurs once."""

import array
import hashlib
from collections.abc import Iterable
from collections.abc import Iterator

import numpy as np


class IdHashes:
    """Looks for ids that occur twice, at eight bytes an id.

    Example:

    ```python
    ids = ["a", "b", "a"]
    hashes = IdHashes()
    for one in ids:
        hashes.add(one)
    hashes.repeated(ids)  # ("a", 0, 2)
    ```
    """

    def __init__(self):
        self._hashes = array.array("Q")

    def __len__(self) -> int:
        return len(self._hashes)

    def add(self, example_id: str) -> None:
        """Note an id."""
        digest = hashlib.blake2b(example_id.encode(), digest_size=8).digest()
        self._hashes.append(int.from_bytes(digest, "little"))

    def repeated(self, ids: Iterable[str]) -> tuple[str, int, int] | None:
        """The first id that occurs again, and its first two numbers.

        Args:
            ids: all that were added, once more and in order; looked at only
                where two hashes are the same.
        """
        hashes = np.frombuffer(self._hashes, np.uint64)
        ordered = np.sort(hashes)
        twice = ordered[1:][ordered[1:] == ordered[:-1]]
        if not len(twice):
            return None
        suspects = np.isin(hashes, twice)
        seen: dict[str, int] = {}
        for number, example_id in self._suspected(ids, suspects):
            if example_id in seen:
                return example_id, seen[example_id], number
            seen[example_id] = number
        return None

    @staticmethod
    def _suspected(ids, suspects) -> Iterator[tuple[int, str]]:
        for number, example_id in enumerate(ids):
            if suspects[number]:
                yield number, example_id
