"""Whole numbers: at least so many, and one share of several."""

import operator
from typing import Any


def check_count(name: str, value: Any, minimum: int | None = None) -> int:
    """Returns a whole number as an int, or raises.

    Args:
        name: The argument that the message names.
        value: What was given for it. `True` and `False` are no numbers here.
        minimum: The smallest number allowed, or None for any.

    Returns:
        `value` as an int.

    Raises:
        TypeError: If `value` is no integer.
        ValueError: If it is below `minimum`.
    """
    try:
        # NumPy's and TensorFlow's scalars are integers, too; a bool is none.
        integer: Any = "" if isinstance(value, bool) else value
        count = operator.index(integer)
    except TypeError:
        raise TypeError(
            f"`{name}` must be an integer. Received: {name}={value!r}"
        ) from None
    if minimum is not None and count < minimum:
        raise ValueError(
            f"`{name}` must be at least {minimum}. Received: {name}={value}"
        )
    return count


def check_share(name: str, share: Any, most: int, what: str) -> tuple[int, int]:
    """Returns (index, count) as ints, or raises.

    Args:
        name: The argument that the message names.
        share: What was given for it: which of how many shares, from 0.
        most: The number of things that are shared out.
        what: What they are, for the message.

    Returns:
        Index and count.

    Raises:
        ValueError: Unless 0 <= index < count <= `most`.
    """
    try:
        index, count = map(operator.index, share)
    except (TypeError, ValueError):
        index, count = -1, 0
    if not 0 <= index < count <= most:
        raise ValueError(
            f"`{name}` must be (index, count), integers with 0 <= index < "
            f"count, and at most as many as {what}, {most}. "
            f"Received: {name}={share!r}"
        )
    return index, count


def share_of(size: Any, index: int, count: int) -> slice:
    """Which of `size` things in a row belong to one of `count` shares.

    Shares follow each other without a gap, and their sizes differ by one at
    most.

    Args:
        size: How many things there are; an int or a scalar tensor.
        index: Which share, from 0.
        count: How many shares there are.

    Returns:
        The slice of the share.

    Example:

    ```python
    [share_of(10, i, 3) for i in range(3)]
    # [slice(0, 3), slice(3, 6), slice(6, 10)]
    ```
    """
    return slice(size * index // count, size * (index + 1) // count)
