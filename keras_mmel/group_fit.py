"""`fit` on groups: what is checked before the first step."""

import functools
import inspect
from typing import Any

import keras

from keras_mmel import batch_checks
from keras_mmel import groups
from keras_mmel import replicas

_FIT = inspect.signature(keras.Model.fit)


class GroupFit(keras.Model):
    """The `fit` of `MMELModel`."""

    @functools.wraps(keras.Model.fit)
    def fit(self, *args, **kwargs):
        given = _FIT.bind(self, *args, **kwargs).arguments
        x = given.get("x")
        batch_checks.check_sample_weight(given.get("sample_weight"))
        batch_checks.check_numbers(given.get("y"))
        if (
            given.get("class_weight")
            and groups.split_labels(given.get("y")).teacher is not None
        ):
            raise ValueError(
                "`class_weight` cannot be used with teacher predictions. Give "
                "each example its weight with `sample_weight`. "
                f"Received: class_weight={given['class_weight']!r}"
            )
        _check_not_empty(x)
        _check_validation(given)
        strategy = getattr(self, "_distribute_strategy", None)
        if strategy is not None:
            with strategy.scope():
                replicas.check_data(x, given.get("batch_size"))
        if hasattr(x, "element_spec") and "shuffle" not in given:
            # A dataset is shuffled, or not, by who made it; Keras would warn.
            kwargs["shuffle"] = False
        history = super().fit(*args, **kwargs)
        if history is not None and history.epoch and not history.history:
            raise ValueError(
                "There was no batch to train on: `x` is empty. "
                f"Received: x of type {type(x).__name__}"
            )
        return history

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        # Under a strategy Keras averages the first batch over the replicas to
        # learn its shapes, which fails for a mask and for an uneven split.
        strategy = self._distribute_strategy
        if strategy is not None and iterator is not None:
            for _, _, batches in iterator:
                data_batch = keras.tree.map_structure(
                    lambda v: strategy.experimental_local_results(v)[0],
                    next(batches),
                )
                break
            iterator = None
        return super()._maybe_symbolic_build(iterator, data_batch)


def _check_not_empty(x: Any) -> None:
    """Raises ValueError where the data are known to be empty."""
    if hasattr(x, "element_spec"):
        empty = int(x.cardinality()) == 0 if hasattr(x, "cardinality") else 0
    else:
        leaves = keras.tree.flatten(x)
        shapes = [getattr(leaf, "shape", None) for leaf in leaves]
        empty = any(shape and shape[0] == 0 for shape in shapes)
    if empty:
        raise ValueError(
            "`x` must hold at least one batch to train on; it is empty. "
            f"Received: x of type {type(x).__name__}"
        )


def _check_validation(given: dict) -> None:
    """Raises ValueError at the start where validation would get groups."""
    data = given.get("validation_data")
    spec = getattr(data, "element_spec", data)
    part = spec[0] if isinstance(spec, (list, tuple)) and spec else spec
    split = given.get("validation_split") and data is None
    if groups.is_group(part) or (split and groups.is_group(given.get("x"))):
        raise ValueError(
            "`evaluate`, `predict` and `validation_data` take plain examples, "
            "not groups. Give `validation_data` with the originals. Received: "
            + ("`validation_split` of groups" if split else "groups")
        )
