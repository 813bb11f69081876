"""Every variant of training: objective x kind of model x precision.

A variant is only a row here; `test_registry.py` drives all of them through
the same life: train, train again, evaluate, predict, save, resume, export.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import keras_mmel
from keras_mmel import objectives

CLASSES, FEATURES, IMAGE, TOKENS, VOCABULARY = 3, 7, (6, 6, 2), 5, 20
BATCH, VIEWS = 4, 3

PRECISIONS = ("float32", "mixed_float16", "mixed_bfloat16")


def _features(rng, leading):
    return rng.normal(0, 1.5, (*leading, FEATURES)).astype("float32")


def _images(rng, leading):
    return rng.normal(0, 1.5, (*leading, *IMAGE)).astype("float32")


def _tokens(rng, leading):
    return rng.integers(1, VOCABULARY, (*leading, TOKENS)).astype("int32")


def _mixed_inputs(rng, leading):
    return {
        "numbers": {"features": _features(rng, leading)},
        "tokens": _tokens(rng, leading),
    }


def _bert_inputs(rng, leading):
    lengths = rng.integers(2, TOKENS + 1, (*leading, 1))
    return {
        "token_ids": _tokens(rng, leading),
        "segment_ids": np.zeros((*leading, TOKENS), "int32"),
        "padding_mask": np.arange(TOKENS) < lengths,
    }


def sequential(units=CLASSES):
    return keras.Sequential(
        [
            keras.Input((FEATURES,)),
            keras.layers.Dense(8, activation="tanh"),
            keras.layers.Dense(units),
        ]
    )


def functional(units=CLASSES):
    """Nested dict inputs of different types."""
    inputs = {
        "numbers": {"features": keras.Input((FEATURES,), name="features")},
        "tokens": keras.Input((TOKENS,), dtype="int32", name="tokens"),
    }
    embedded = keras.layers.Embedding(VOCABULARY, 4)(inputs["tokens"])
    joined = keras.layers.Concatenate()(
        [
            keras.layers.Flatten()(embedded),
            keras.layers.Dense(4)(inputs["numbers"]["features"]),
        ]
    )
    hidden = keras.layers.Activation("tanh")(joined)
    return keras.Model(inputs, keras.layers.Dense(units)(hidden))


@keras.saving.register_keras_serializable(package="registry")
class Subclassed(keras.Model):
    """Its `call` takes no `training`: Keras then never drops anything out."""

    def __init__(self, units=CLASSES, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.hidden = keras.layers.Dense(8, activation="tanh")
        self.dropout = keras.layers.Dropout(0.3)
        self.head = keras.layers.Dense(units)

    def build(self, input_shape):
        self.hidden.build(input_shape)
        self.head.build((*input_shape[:-1], 8))
        self.built = True

    def call(self, inputs):
        return self.head(self.dropout(self.hidden(inputs)))

    def get_config(self):
        return {**super().get_config(), "units": self.units}


def convolutional(units=CLASSES):
    return keras.Sequential(
        [
            keras.Input(IMAGE),
            keras.layers.Conv2D(4, 3, use_bias=False),
            keras.layers.BatchNormalization(momentum=0.9),
            keras.layers.ReLU(),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(units),
        ]
    )


def bert(units=CLASSES):
    """A keras-hub task; its inputs are a dict, too."""
    import keras_hub

    backbone = keras_hub.models.BertBackbone(
        vocabulary_size=VOCABULARY,
        num_layers=1,
        num_heads=2,
        hidden_dim=8,
        intermediate_dim=12,
        dropout=0.1,
        max_sequence_length=TOKENS,
    )
    model = keras_hub.models.BertTextClassifier(
        backbone, num_classes=units, dropout=0.1, preprocessor=None
    )
    # As initialised, it gives all views nearly the same loss.
    for weight in model.weights:
        if weight.path.endswith(("kernel", "embeddings")):
            weight.assign(8 * weight)
    return model


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of model: `build(units)` and its inputs.

    `inputs(rng, leading)` gives a nest of arrays `(*leading, ...)`.
    """

    build: Callable[..., keras.Model]
    inputs: Callable[..., Any]


@dataclasses.dataclass(frozen=True)
class Goal:
    """What is trained for."""

    objective: objectives.Objective
    teacher: bool = False
    regression: bool = False


KINDS = {
    "sequential": Kind(sequential, _features),
    "functional": Kind(functional, _mixed_inputs),
    "subclassed": Kind(Subclassed, _features),
    "convolutional": Kind(convolutional, _images),
    "bert": Kind(bert, _bert_inputs),
}
GOALS = {
    "hard": Goal(objectives.Hard(0.5)),
    "hard-maximum": Goal(objectives.Hard(0.0)),
    "soft": Goal(objectives.Soft(0.5, 0.7)),
    "uniform": Goal(objectives.Uniform()),
    "hard-teacher": Goal(objectives.Hard(0.5), teacher=True),
    "soft-teacher": Goal(objectives.Soft(0.5, 0.7), teacher=True),
    "soft-regression": Goal(objectives.Soft(0.5), regression=True),
}


@dataclasses.dataclass(frozen=True)
class Variant:
    """One row: names in `GOALS`, `KINDS` and `PRECISIONS`."""

    goal_name: str
    kind_name: str
    precision: str

    def __str__(self):
        return f"{self.goal_name}-{self.kind_name}-{self.precision}"

    @property
    def goal(self):
        return GOALS[self.goal_name]

    @property
    def kind(self):
        return KINDS[self.kind_name]

    @property
    def compile_arguments(self):
        if self.goal.regression:
            return {"loss": "mse", "metrics": ["mae"]}
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        return {"loss": loss, "metrics": ["accuracy"]}

    def compiled(self):
        """A new `MMELModel`, the same at every call."""
        keras.config.set_dtype_policy(self.precision)
        keras.utils.set_random_seed(1)
        units = 1 if self.goal.regression else CLASSES
        mmel = keras_mmel.MMELModel(self.kind.build(units), self.goal.objective)
        mmel.compile(keras.optimizers.Adam(0.01), **self.compile_arguments)
        return mmel

    def groups(self, batches=3, seed=0):
        """A dataset of groups."""
        rng = np.random.default_rng(seed)
        examples = batches * BATCH
        x = {"views": self.kind.inputs(rng, (examples, VIEWS))}
        label = y = self._labels(rng, examples)
        if self.goal.teacher:
            shape = (examples, VIEWS)
            teacher = rng.dirichlet([0.5] * CLASSES, shape).astype("float32")
            y = {"label": label, "teacher": teacher}
        dataset = tf.data.Dataset.from_tensor_slices((x, y))
        return dataset.batch(BATCH, drop_remainder=True)

    def examples(self, count=5, seed=1):
        """Plain examples and labels."""
        rng = np.random.default_rng(seed)
        return self.kind.inputs(rng, (count,)), self._labels(rng, count)

    def _labels(self, rng, count):
        if self.goal.regression:
            return rng.normal(size=(count, 1)).astype("float32")
        return rng.integers(0, CLASSES, count)


# Every objective, kind and precision, and most of their pairs.
VARIANTS = [
    Variant("hard", "sequential", "float32"),
    Variant("soft", "functional", "float32"),
    Variant("hard-teacher", "convolutional", "float32"),
    Variant("soft-teacher", "bert", "float32"),
    Variant("soft-regression", "subclassed", "float32"),
    Variant("hard", "bert", "mixed_float16"),
    Variant("soft", "convolutional", "mixed_float16"),
    Variant("soft-teacher", "functional", "mixed_float16"),
    Variant("hard-maximum", "subclassed", "mixed_float16"),
    Variant("uniform", "convolutional", "mixed_bfloat16"),
    Variant("soft", "subclassed", "mixed_bfloat16"),
    Variant("soft-regression", "sequential", "mixed_bfloat16"),
]


@functools.cache
def every_variant():
    """The full product, without what `VARIANTS` has."""
    product = [
        Variant(goal, kind, precision)
        for goal in GOALS
        for kind in KINDS
        for precision in PRECISIONS
    ]
    return [variant for variant in product if variant not in VARIANTS]
