"""Spellings of losses, each with its value for one example.

The value comes from a formula in NumPy, or, for a loss of the user's own, from
calling it on one example after another in a plain Python loop.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import losses
from keras import ops

from tests.losses.loss_formulas import ABSOLUTE
from tests.losses.loss_formulas import SQUARED
from tests.losses.loss_formulas import binary
from tests.losses.loss_formulas import binary_focal
from tests.losses.loss_formulas import categorical_focal
from tests.losses.loss_formulas import categorical_hinge
from tests.losses.loss_formulas import cosine
from tests.losses.loss_formulas import crossentropy
from tests.losses.loss_formulas import generalized_crossentropy
from tests.losses.loss_formulas import huber
from tests.losses.loss_formulas import ignoring
from tests.losses.loss_formulas import per_entry
from tests.losses.loss_formulas import sigmoid
from tests.losses.loss_formulas import softmax

ROWS = 4


# Labels and the models for them


@dataclasses.dataclass(frozen=True)
class Task:
    """Labels for a model with outputs of `shape` behind `activation`."""

    label: np.ndarray
    shape: tuple[int, ...]
    activation: str = "linear"

    def prediction(self):
        """Float32 predictions, what `activation` makes of random numbers."""
        raw = _normal((*self.shape, 1))[..., 0].astype("float64")
        activation = {
            "linear": lambda z: z,
            "softmax": softmax,
            "sigmoid": sigmoid,
            "tanh": np.tanh,
            "exponential": np.exp,
        }[self.activation]
        return activation(raw).astype("float32")


def _normal(shape):
    rng = np.random.default_rng(len(shape))
    return rng.normal(size=(ROWS, *shape)).astype("float32")


def _classes(shape, count):
    rng = np.random.default_rng(count)
    return rng.integers(0, count, (ROWS, *shape)).astype("int32")


_ONE_HOT = np.eye(3, dtype="float32")[_classes((), 3)]
_SOME_TOKENS = np.int32([[0, 3, -1], [-1, -1, 2], [1, 1, 1], [2, -1, 0]])
_SOME_ROWS = np.int32([0, -1, 2, 1])
_DISTRIBUTION = np.float32(
    [[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4], [0.2, 0.7, 0.1]]
)

TASKS = {
    "class": Task(_classes((), 3), (3,)),
    "class_prob": Task(_classes((), 3), (3,), "softmax"),
    "onehot": Task(_ONE_HOT, (3,)),
    "onehot_prob": Task(_ONE_HOT, (3,), "softmax"),
    "distribution": Task(_DISTRIBUTION, (3,), "softmax"),
    "binary": Task(_classes((1,), 2), (1,)),
    "binary_prob": Task(_classes((1,), 2), (1,), "sigmoid"),
    "binary_flat": Task(_classes((), 2), (1,), "sigmoid"),
    "labels": Task(_classes((4,), 2), (4,)),
    "labels_prob": Task(_classes((4,), 2), (4,), "sigmoid"),
    "value": Task(_normal((1,)), (1,)),
    "vector": Task(_normal((2,)), (2,)),
    "positive": Task(np.exp(_normal((2,))), (2,), "exponential"),
    "sign": Task(2 * _classes((2,), 2) - 1, (2,), "tanh"),
    "tokens": Task(_classes((3,), 4), (3, 4), "softmax"),
    "some_tokens": Task(_SOME_TOKENS, (3, 4)),
    "some_rows": Task(_SOME_ROWS, (3,), "softmax"),
    "pixels": Task(_classes((2, 3, 1), 2), (2, 3, 1), "sigmoid"),
    "channels_first": Task(
        np.moveaxis(np.eye(3)[_classes((2, 2), 3)], -1, 1), (3, 2, 2)
    ),
    "image": Task(_normal((2, 2, 3)), (2, 2, 3)),
}


# What users write


def fourth_power(y_true, y_pred):
    return ops.mean((y_true - y_pred) ** 4, axis=-1)


def not_averaged(y_true, y_pred):
    return ops.abs(y_true - y_pred) ** 1.5


class AbsoluteError:
    """Not a `keras.Loss`, but it can be called like a function."""

    def __call__(self, y_true, y_pred):
        return ops.mean(ops.abs(y_true - y_pred), axis=-1)


@keras.saving.register_keras_serializable(package="tests_of_losses")
class Quantile(losses.Loss):
    def __init__(self, quantile=0.9, **kwargs):
        super().__init__(**kwargs)
        self.quantile = quantile

    def call(self, y_true, y_pred):
        error = y_true - y_pred
        pinball = ops.maximum(
            self.quantile * error, (self.quantile - 1) * error
        )
        return ops.mean(pinball, axis=-1)

    def get_config(self):
        return {**super().get_config(), "quantile": self.quantile}


class Unregistered(losses.Loss):
    """Without `get_config`: nothing could make a copy of it."""

    def __init__(self, function, *, reduction):
        super().__init__(name="unregistered", reduction=reduction)
        self.function = function

    def call(self, y_true, y_pred):
        return self.function(y_true, y_pred)


# The table


@dataclasses.dataclass(frozen=True)
class Case:
    """One spelling of a loss.

    Attributes:
        name: For the test's id.
        loss: What is given to `compile`.
        task: Key of `TASKS`.
        reference: `(label, prediction)` to one loss per row; None calls the
            loss on one row after another.
        rtol: Relative tolerance of a value.
    """

    name: str
    loss: Any
    task: str
    reference: Callable[[Any, Any], Any] | None = None
    rtol: float = 1e-5


def _summed(count, reference):
    """A loss that is not averaged adds up what a row has left."""
    return lambda y, p: count * reference(y, p)


def _bfloat16(values):
    return np.asarray(ops.cast(ops.cast(values, "bfloat16"), "float64"))


def _logits(loss, **settings):
    return loss(from_logits=True, **settings)


_LOG_COSH = per_entry(lambda y, p: np.log(np.cosh(p - y)))
_POISSON = per_entry(lambda y, p: p - y * np.log(p))
_MAPE = per_entry(lambda y, p: 100 * np.abs((y - p) / y))
_MSLE = per_entry(lambda y, p: (np.log1p(y) - np.log1p(p)) ** 2)
_HINGE = per_entry(lambda y, p: np.maximum(1 - y * p, 0))
_SQUARED_HINGE = per_entry(lambda y, p: np.maximum(1 - y * p, 0) ** 2)

_SPARSE = losses.SparseCategoricalCrossentropy
_CATEGORICAL = losses.CategoricalCrossentropy
_BINARY = losses.BinaryCrossentropy
_MSE = losses.MeanSquaredError
_REDUCTIONS = (
    "sum_over_batch_size",
    "mean",
    "sum",
    "mean_with_sample_weight",
    "none",
    None,
)

_BY_NAME = [
    ("mse", "vector", SQUARED),
    ("MSE", "image", SQUARED),
    ("mean_squared_error", "value", SQUARED),
    ("mae", "vector", ABSOLUTE),
    ("huber", "vector", huber(1.0)),
    ("log_cosh", "vector", _LOG_COSH),
    ("poisson", "positive", _POISSON),
    ("mape", "positive", _MAPE),
    ("msle", "positive", _MSLE),
    ("hinge", "sign", _HINGE),
    ("squared_hinge", "sign", _SQUARED_HINGE),
    ("categorical_hinge", "onehot", categorical_hinge),
    ("cosine_similarity", "vector", cosine),
    ("kld", "distribution", lambda y, p: np.sum(y * np.log(y / p), -1)),
    ("crossentropy", "class_prob", crossentropy()),
    ("crossentropy", "onehot_prob", crossentropy()),
    ("crossentropy", "binary_prob", binary()),
    ("ce", "binary_flat", binary()),
    ("CE", "tokens", crossentropy()),
    ("sparse_categorical_crossentropy", "tokens", crossentropy()),
]

_L = losses
_FOCAL = _L.CategoricalFocalCrossentropy(alpha=0.4, gamma=1.5)
_BALANCED = _L.BinaryFocalCrossentropy(apply_class_balancing=True, alpha=0.3)
_SMOOTH = {"label_smoothing": 0.2}
_IN_THREE = _summed(3, crossentropy())

_OTHERS = [
    ("mse_class", _MSE, "value", SQUARED),
    ("mse_function", _L.mean_squared_error, "value", SQUARED),
    (
        "sparse_function",
        _L.sparse_categorical_crossentropy,
        "class_prob",
        crossentropy(),
    ),
    ("binary_function", _L.binary_crossentropy, "labels_prob", binary()),
    *[
        (f"reduction_{kind}", _MSE(reduction=kind), "vector", SQUARED)
        for kind in _REDUCTIONS
    ],
    *[
        (f"tokens_{kind}", _SPARSE(reduction=kind), "tokens", _IN_THREE)
        for kind in ("sum", None)
    ],
    ("sparse_logits", _logits(_SPARSE), "class", crossentropy(softmax)),
    (
        "categorical_logits_smooth",
        _logits(_CATEGORICAL, **_SMOOTH),
        "onehot",
        crossentropy(softmax, smoothing=0.2),
    ),
    (
        "categorical_smooth",
        _CATEGORICAL(**_SMOOTH),
        "onehot_prob",
        crossentropy(smoothing=0.2),
    ),
    (
        "categorical_channels_first",
        _logits(_CATEGORICAL, axis=1),
        "channels_first",
        crossentropy(softmax, axis=1),
    ),
    ("binary_logits", _logits(_BINARY), "binary", binary(sigmoid)),
    (
        "binary_logits_smooth",
        _logits(_BINARY, **_SMOOTH),
        "labels",
        binary(sigmoid, smoothing=0.2),
    ),
    ("binary_pixels", _BINARY(), "pixels", binary()),
    (
        "binary_focal",
        _L.BinaryFocalCrossentropy(),
        "labels_prob",
        binary_focal(),
    ),
    ("focal_balanced", _BALANCED, "binary_prob", binary_focal(alpha=0.3)),
    ("categorical_focal", _FOCAL, "onehot_prob", categorical_focal(0.4, 1.5)),
    (
        "generalized",
        _L.CategoricalGeneralizedCrossEntropy(q=0.5),
        "class_prob",
        generalized_crossentropy,
    ),
    (
        "ignore_class_tokens",
        _logits(_SPARSE, ignore_class=-1),
        "some_tokens",
        ignoring(-1, softmax),
    ),
    ("ignore_rows", _SPARSE(ignore_class=-1), "some_rows", ignoring(-1)),
    ("huber_delta", _L.Huber(delta=0.3), "vector", huber(0.3)),
    ("float64", _MSE(dtype="float64"), "vector", SQUARED),
    ("function", fourth_power, "vector", None),
    ("not_averaged", not_averaged, "image", None),
    (
        "lambda",
        lambda y, p: ops.mean(ops.sqrt(1 + (y - p) ** 2), axis=-1),
        "vector",
        None,
    ),
    ("partial", functools.partial(_L.huber, delta=0.3), "vector", huber(0.3)),
    ("callable_object", AbsoluteError(), "vector", ABSOLUTE),
    ("registered_subclass", Quantile(0.8), "vector", None),
    (
        "unregistered_subclass",
        Unregistered(lambda y, p: fourth_power(y, p), reduction="sum"),
        "vector",
        None,
    ),
]

CASES = [
    *[Case(f"{name}-{task}", name, task, ref) for name, task, ref in _BY_NAME],
    *[Case(*one) for one in _OTHERS],
    # Eight bits of mantissa are the loss's own choice, not ours.
    Case(
        "bfloat16",
        _MSE(dtype="bfloat16"),
        "vector",
        lambda y, p: SQUARED(_bfloat16(y), _bfloat16(p)),
        rtol=2e-2,
    ),
]
