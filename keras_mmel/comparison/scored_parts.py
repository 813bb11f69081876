"""The test data of a comparison, in one part or several, and their scores."""

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np

from keras_mmel import contract
from keras_mmel.scores import evaluate_views
from keras_mmel.scores import held_out


def check_parts(test: Any) -> dict[str, Any]:
    """Checks the test data, before any training.

    Args:
        test: A dataset, a `PyDataset` or a tuple of arrays; or a dict of
            several, whose keys come before the names of their scores.

    Returns:
        The data of each part, by what comes before the names of its scores.

    Raises:
        TypeError: If it is no test data.
    """
    parts = {"": test}
    if isinstance(test, Mapping) and not contract.is_group(test):
        parts = {f"{name}_": data for name, data in test.items()}
    for data in parts.values():
        if held_out.example_batch(data) is None:
            raise TypeError(
                "`test` must be a dataset or a tuple of arrays, with labels, "
                f"or a dict of several. Received: {type(data).__name__}"
            )
    return parts


def scores_of(model: keras.Model, parts: Mapping[str, Any]) -> dict[str, float]:
    """Scores a model on groups by `evaluate_views`, on examples by `evaluate`.

    Args:
        model: A compiled model.
        parts: From `check_parts`.

    Returns:
        Names and values of the scores of all parts.
    """
    scores = {}
    for prefix, data in parts.items():
        x, y, weight = keras.utils.unpack_x_y_sample_weight(data)
        if contract.is_group(held_out.example_batch(data)[0]):
            of_part = evaluate_views(model, x, y, sample_weight=weight)
        else:
            of_part = model.evaluate(
                x, y, sample_weight=weight, verbose=0, return_dict=True
            )
        for name, value in single_numbers(of_part).items():
            scores[prefix + name] = value
    return scores


def single_numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """The entries that are one number: a metric may give one a class."""
    return {
        n: float(value) for n, value in values.items() if not np.ndim(value)
    }
