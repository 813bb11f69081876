"""Held-out data in the forms that Keras takes: arrays, `PyDataset`, batches."""

import contextlib
from collections.abc import Iterator
from typing import Any

import keras

from keras_mmel import contract
from keras_mmel.tasks import nests


def batches_of(data: Any, batch_size: int | None = None) -> Any:
    """Batches of groups, whatever form they come in.

    Args:
        data: A tuple or list `(x, y)` or `(x, y, sample_weight)` of arrays,
            where x is groups; a `keras.utils.PyDataset`; or batches, such as
            a dataset.
        batch_size: Groups in a batch of arrays; where it is None, they are one
            batch.

    Returns:
        Batches of arrays or of a `PyDataset`, made as they are asked for;
        anything else is returned as it is, with its attributes.

    Example:

    ```python
    first = next(iter(batches_of(({"views": views}, labels), 32)))
    ```
    """
    if isinstance(data, (tuple, list)) and data and contract.is_group(data[0]):
        return [data] if batch_size is None else nests.slices(data, batch_size)
    if isinstance(data, keras.utils.PyDataset):
        return (data[index] for index in range(len(data)))
    return data


def example_batch(data: Any) -> Any:
    """What a batch of the data looks like, without reading a dataset.

    Args:
        data: As for `batches_of`; x may be plain examples as well.

    Returns:
        A tuple of specs, of arrays, or of the first batch of a `PyDataset`.
        None where the data can be gone through once, or say nothing before.
    """
    if isinstance(data, keras.utils.PyDataset):
        data = data[0]
    batch = getattr(data, "element_spec", data)
    return batch if isinstance(batch, tuple) else None


def epoch_counters_of(data: Any) -> set:
    """The `EpochCounter`s of groups, also where something was done to them.

    Args:
        data: A dataset, such as `group_views` makes, or one made of such by
            `map`, `take`, `prefetch`, `zip` and their like. Not by `repeat`,
            whose passes are none of one epoch.

    Returns:
        The counters, none where there are none.
    """
    return set(values_of(data, "epoch_counter", "_RepeatDataset"))


def values_of(data: Any, name: str, end: str = "") -> list:
    """The values of an attribute in a dataset, or in those it was made of.

    Args:
        data: A dataset, or anything else.
        name: The attribute, looked for no further where it is found.
        end: Name of a class of datasets behind which nothing counts.

    Returns:
        The values, in the order of the datasets; empty where there are none.
    """
    own = getattr(data, name, None)
    if own is not None or type(data).__name__ == end:
        return [] if own is None else [own]
    inputs = getattr(data, "_inputs", tuple)()
    return [
        value for made_of in inputs for value in values_of(made_of, name, end)
    ]


@contextlib.contextmanager
def first_epoch(batches: Any) -> Iterator[None]:
    """Makes groups that have new views in every pass be those of the first.

    Args:
        batches: A dataset, maybe with an epoch counter, or anything else.
    """
    before = [(c, c.epoch) for c in epoch_counters_of(batches)]
    for counter, _ in before:
        counter.set_epoch(counter.initial_epoch)
    try:
        yield
    finally:
        for counter, epoch in before:
            counter.set_epoch(epoch)
