"""`fit` on groups: what is checked before the first step."""

import contextlib
import functools
import inspect
from typing import Any

import keras
from keras import ops

from keras_mmel import groups
from keras_mmel.losses import checks
from keras_mmel.training import replicas

_FIT = inspect.signature(keras.Model.fit)


class GroupFit(keras.Model):
    """The `fit` of `MMELModel`."""

    @functools.wraps(keras.Model.fit)
    def fit(self, *args, **kwargs):
        given = _FIT.bind(self, *args, **kwargs).arguments
        x = given.get("x")
        checks.check_sample_weight(given.get("sample_weight"))
        checks.check_numbers(given.get("y"))
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


def _on_plain_examples(method):
    """Marks what takes plain examples, and reports no statistics of views."""

    @functools.wraps(method)
    def wrapper(self, *args, **kwargs):
        with self._plain_examples():
            return method(self, *args, **kwargs)

    return wrapper


class PlainExamples(keras.Model):
    """The methods of `MMELModel` that take plain examples.

    Attributes:
        takes_plain: Whether such a method is running.
        view_statistics: Metric that only training on groups updates. It is
            hidden meanwhile, or `evaluate` would log its zeros.
    """

    takes_plain = False
    view_statistics = None

    evaluate = _on_plain_examples(keras.Model.evaluate)
    predict = _on_plain_examples(keras.Model.predict)
    test_on_batch = _on_plain_examples(keras.Model.test_on_batch)
    predict_on_batch = _on_plain_examples(keras.Model.predict_on_batch)

    @property
    def metrics(self) -> list:
        found = super().metrics
        if not self.takes_plain:
            return found
        return [m for m in found if m is not self.view_statistics]

    @contextlib.contextmanager
    def _plain_examples(self):
        before, self.takes_plain = self.takes_plain, True
        try:
            yield
        finally:
            self.takes_plain = before


class SavedRandomStates(keras.Model):
    """Stores the random states of `self.model` beside the own variables.

    Attributes:
        model: The wrapped model.
    """

    def save_own_variables(self, store):
        own = {}
        super().save_own_variables(own)
        for name, value in own.items():
            if name != self._lambda_name():
                store[name] = value
        for index, state in enumerate(self._random_states()):
            store[f"random_state_{index}"] = state

    def load_own_variables(self, store):
        names = [name for name in store.keys() if name.startswith("random")]
        own = {name: store[name] for name in store.keys() if name not in names}
        if self._lambda_name() is not None:
            own[self._lambda_name()] = ops.convert_to_tensor(self._lambda_p)
        super().load_own_variables(own)
        for index, state in enumerate(self._random_states()):
            if f"random_state_{index}" in names:
                state.assign(store[f"random_state_{index}"])

    def _lambda_name(self):
        """Under which name Keras stores `lambda_p`: the first own variable.

        It is a setting, kept with the objective in the config of a model file.
        Weights that are loaded must not change it.
        """
        return None if self._lambda_p is None else "0"

    def _random_states(self):
        """Variables of the wrapped model that are not weights."""
        saved = {id(weight) for weight in self.model.weights}
        return [
            variable
            for variable in self.model.non_trainable_variables
            if id(variable) not in saved
        ]
