"""Spellings of losses, and the labels and predictions that they are for."""

import dataclasses
import functools

import keras
import numpy as np
from keras import losses
from keras import ops

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
        raw = _normal((*self.shape, 1))[..., 0]
        return np.array(keras.activations.get(self.activation)(raw))


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


def _logits(loss, **settings):
    return loss(from_logits=True, **settings)


_SPARSE = losses.SparseCategoricalCrossentropy
_CATEGORICAL = losses.CategoricalCrossentropy
_BINARY = losses.BinaryCrossentropy
_MSE = losses.MeanSquaredError
_L = losses
_FOCAL = _L.CategoricalFocalCrossentropy(alpha=0.4, gamma=1.5)
_BALANCED = _L.BinaryFocalCrossentropy(apply_class_balancing=True, alpha=0.3)
_SMOOTH = {"label_smoothing": 0.2}
_REDUCTIONS = (
    "sum_over_batch_size",
    "mean",
    "sum",
    "mean_with_sample_weight",
    "none",
    None,
)

_BY_NAME = [
    ("mse", "vector"),
    ("MSE", "image"),
    ("mean_squared_error", "value"),
    ("mae", "vector"),
    ("huber", "vector"),
    ("log_cosh", "vector"),
    ("poisson", "positive"),
    ("mape", "positive"),
    ("msle", "positive"),
    ("hinge", "sign"),
    ("squared_hinge", "sign"),
    ("categorical_hinge", "onehot"),
    ("cosine_similarity", "vector"),
    ("kld", "distribution"),
    ("crossentropy", "class_prob"),
    ("crossentropy", "onehot_prob"),
    ("crossentropy", "binary_prob"),
    ("ce", "binary_flat"),
    ("CE", "tokens"),
    ("sparse_categorical_crossentropy", "tokens"),
]

# Name: what is given to `compile`, and the key of its task.
CASES = {
    **{f"{name}-{task}": (name, task) for name, task in _BY_NAME},
    "mse_class": (_MSE, "value"),
    "mse_function": (_L.mean_squared_error, "value"),
    "sparse_function": (_L.sparse_categorical_crossentropy, "class_prob"),
    "binary_function": (_L.binary_crossentropy, "labels_prob"),
    **{f"reduction_{k}": (_MSE(reduction=k), "vector") for k in _REDUCTIONS},
    "tokens_sum": (_SPARSE(reduction="sum"), "tokens"),
    "tokens_None": (_SPARSE(reduction=None), "tokens"),
    "sparse_logits": (_logits(_SPARSE), "class"),
    "categorical_logits_smooth": (_logits(_CATEGORICAL, **_SMOOTH), "onehot"),
    "categorical_smooth": (_CATEGORICAL(**_SMOOTH), "onehot_prob"),
    "categorical_channels_first": (
        _logits(_CATEGORICAL, axis=1),
        "channels_first",
    ),
    "binary_logits": (_logits(_BINARY), "binary"),
    "binary_logits_smooth": (_logits(_BINARY, **_SMOOTH), "labels"),
    "binary_pixels": (_BINARY(), "pixels"),
    "binary_focal": (_L.BinaryFocalCrossentropy(), "labels_prob"),
    "focal_balanced": (_BALANCED, "binary_prob"),
    "categorical_focal": (_FOCAL, "onehot_prob"),
    "generalized": (_L.CategoricalGeneralizedCrossEntropy(q=0.5), "class_prob"),
    "ignore_class_tokens": (_logits(_SPARSE, ignore_class=-1), "some_tokens"),
    "ignore_rows": (_SPARSE(ignore_class=-1), "some_rows"),
    "huber_delta": (_L.Huber(delta=0.3), "vector"),
    "float64": (_MSE(dtype="float64"), "vector"),
    "bfloat16": (_MSE(dtype="bfloat16"), "vector"),
    "function": (fourth_power, "vector"),
    "not_averaged": (not_averaged, "image"),
    "lambda": (
        lambda y, p: ops.mean(ops.sqrt(1 + (y - p) ** 2), axis=-1),
        "vector",
    ),
    "partial": (functools.partial(_L.huber, delta=0.3), "vector"),
    "callable_object": (AbsoluteError(), "vector"),
    "registered_subclass": (Quantile(0.8), "vector"),
    "unregistered_subclass": (
        Unregistered(lambda y, p: fourth_power(y, p), reduction="sum"),
        "vector",
    ),
}
