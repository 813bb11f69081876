"""Which tokens of a sentence are masked, and in which order."""

import hashlib
from collections.abc import Sequence

import numpy as np


def count_masked(length: int, candidates: int, mask_ratio: float) -> int:
    """Number of tokens to mask: `max(1, round(mask_ratio * length))`.

    The number k of algorithm 2 in the paper, at least one and at most the
    number of tokens that may be masked. Ties are rounded to even, as Python's
    `round` does. So a ratio of 0 masks one token and a ratio of 1 all of them.

    Args:
        length: tokens of the sentence without special tokens (words, where
            words are masked).
        candidates: how many of them may be masked.
        mask_ratio: share of the sentence to mask, from 0 to 1.

    Returns:
        The number of tokens to mask; 0 where nothing may be masked.

    Example:

    ```python
    from keras_mmel.text.positions import count_masked

    count_masked(10, 10, 0.4)  # 4
    count_masked(1, 1, 0.4)  # 1
    ```
    """
    return min(candidates, max(1, round(mask_ratio * length)))


def choose_positions(
    candidates: Sequence[int],
    count: int,
    seed: int,
    example_id: str,
    segment: int = 0,
) -> tuple[int, ...]:
    """Choose the positions to mask, in the order in which they are filled.

    Every position is ranked by a random 64-bit number, and those with the
    smallest numbers are chosen: a uniform draw without replacement, in a
    uniformly random order. The numbers are those of a Philox generator whose
    key is a hash of the seed, the example's id and the segment. So the choice
    is the same on every machine, whatever else is augmented with it.

    Args:
        candidates: indices of the tokens that may be masked, ascending.
        count: how many of them to choose.
        seed: the seed of the augmentation.
        example_id: the id of the example.
        segment: 0 for the first sentence of a pair, 1 for the second, where
            each is augmented by itself.

    Returns:
        `count` of the candidates, the first to be filled first.

    Example:

    ```python
    from keras_mmel.text.positions import choose_positions

    choose_positions(range(1, 9), 3, seed=0, example_id="7")
    ```
    """
    # Lengths keep ("1", "23") and ("12", "3") apart.
    parts = [str(seed), example_id, str(segment)]
    message = "".join(f"{len(part)}:{part}" for part in parts)
    # A text may hold lone surrogates, which UTF-8 has no place for.
    message = message.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(message, digest_size=16).digest()
    key = int.from_bytes(digest, "little")
    # The raw numbers of a bit generator never change between NumPy versions;
    # those of `Generator.choice` may.
    ranks = np.random.Philox(key=key).random_raw(len(candidates))
    chosen = np.argsort(ranks, kind="stable")[:count]
    return tuple(int(candidates[index]) for index in chosen)
