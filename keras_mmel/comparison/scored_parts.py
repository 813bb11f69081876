"""The test data of a comparison, in one part or several, and their scores."""

from collections.abc import Mapping
from typing import Any
from typing import NamedTuple

import keras
import numpy as np

from keras_mmel import contract
from keras_mmel.scores import evaluate_views
from keras_mmel.scores import held_out


class ScoredPart(NamedTuple):
    """A part of the test data.

    Attributes:
        prefix: What comes before the names of its scores.
        is_groups: Whether it holds groups, or else plain examples.
        arguments: `x`, and with arrays `y` and `sample_weight`, as both
            `evaluate_views` and `evaluate` take them.
    """

    prefix: str
    is_groups: bool
    arguments: dict[str, Any]


def scored_parts(test: Any) -> list[ScoredPart]:
    """Checks the test data before any training.

    Args:
        test: A dataset, a `PyDataset` or a tuple of arrays; or a dict of
            several, whose keys come before the names of their scores.

    Returns:
        Its parts.

    Raises:
        TypeError: If it is no test data.
    """
    by_prefix = {"": test}
    if isinstance(test, Mapping) and not contract.is_group(test):
        by_prefix = {f"{name}_": data for name, data in test.items()}
    return [_part(prefix, data) for prefix, data in by_prefix.items()]


def scores_of(model: keras.Model, parts: list[ScoredPart]) -> dict[str, float]:
    """Scores a model on all test data.

    Args:
        model: A compiled model.
        parts: From `scored_parts`.

    Returns:
        Names and values of the scores of all parts.
    """
    scores = {}
    for part in parts:
        if part.is_groups:
            of_part = evaluate_views(model, **part.arguments)
        else:
            of_part = model.evaluate(
                **part.arguments, verbose=0, return_dict=True
            )
        for name, value in single_numbers(of_part).items():
            scores[part.prefix + name] = value
    return scores


def single_numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """The entries that are one number: a metric may give one a class."""
    return {
        n: float(value) for n, value in values.items() if not np.ndim(value)
    }


def _part(prefix, data):
    batch = held_out.example_batch(data)
    if batch is None:
        raise TypeError(
            "`test` must be a dataset or a tuple of arrays, with labels, "
            f"or a dict of several. Received: {type(data).__name__}"
        )
    arguments = {"x": data}
    if isinstance(data, tuple):
        names = ("x", "y", "sample_weight")
        arguments = dict(zip(names, data, strict=False))
    return ScoredPart(prefix, contract.is_group(batch[0]), arguments)
