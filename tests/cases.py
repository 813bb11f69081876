"""Ways to train: the models, data and settings that many tests share.

A test file lists its `Case`s; the same functions build, train and compare them
beside the reference, on replicas, on other backends and from a file.
"""

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

import keras_mmel
from tests.scripts import user_objects

FEATURES, CLASSES, VIEWS, IMAGE, TOKENS, WORDS = 5, 4, 3, (5, 5, 2), 4, 20

layers = keras.layers
_BACKEND = keras.backend.backend()


# Models: a function of the number of outputs, and what goes in.


def _features(rng, leading):
    return rng.normal(0, 1.5, (*leading, FEATURES)).astype("float32")


def _images(rng, leading):
    return rng.integers(0, 256, (*leading, *IMAGE)).astype("uint8")


def _mixed(rng, leading):
    tokens = rng.integers(1, WORDS, (*leading, TOKENS)).astype("int32")
    return {"numbers": {"features": _features(rng, leading)}, "tokens": tokens}


def _sentences(rng, leading):
    lengths = rng.integers(2, TOKENS + 1, (*leading, 1))
    return {
        "token_ids": rng.integers(1, WORDS, (*leading, TOKENS)).astype("int32"),
        "segment_ids": np.zeros((*leading, TOKENS), "int32"),
        "padding_mask": np.arange(TOKENS) < lengths,
    }


def mlp(*between, built=True, **options):
    """A function that builds an MLP with layers and options of its own."""

    def build(units=CLASSES):
        made = [layer() for layer in between]
        return keras.Sequential(
            [
                *[keras.Input((FEATURES,))] * built,
                layers.Dense(6, activation="tanh", **options),
                *made,
                layers.Dense(units),
            ]
        )

    return build


def functional(units=CLASSES):
    """Nested dict inputs of different types."""
    inputs = {
        "numbers": {"features": keras.Input((FEATURES,), name="features")},
        "tokens": keras.Input((TOKENS,), dtype="int32", name="tokens"),
    }
    embedded = layers.Flatten()(layers.Embedding(WORDS, 4)(inputs["tokens"]))
    dense = layers.Dense(4)(inputs["numbers"]["features"])
    hidden = layers.Activation("tanh")(layers.Concatenate()([embedded, dense]))
    return keras.Model(inputs, layers.Dense(units)(hidden))


def convolutional(units=CLASSES):
    return keras.Sequential(
        [
            keras.Input(IMAGE, dtype="uint8"),
            layers.Rescaling(1 / 128, -1),
            layers.Conv2D(4, 3, use_bias=False),
            layers.BatchNormalization(momentum=0.9),
            layers.ReLU(),
            layers.GlobalAveragePooling2D(),
            layers.Dense(units),
        ]
    )


def two_outputs(units=CLASSES):
    inputs = keras.Input((FEATURES,))
    hidden = layers.Dense(6, activation="tanh")(inputs)
    outputs = {
        "first": layers.Dense(units, name="first")(hidden),
        "second": layers.Dense(2, name="second")(hidden),
    }
    return keras.Model(inputs, outputs)


def compiled_before(units=CLASSES):
    model = mlp(lambda: layers.Dropout(0.4))(units)
    model.compile("rmsprop", "mse")
    model.fit(np.ones((4, FEATURES)), np.ones((4, units)), verbose=0)
    return model


def bert(units=CLASSES):
    """A task of keras-hub; its inputs are a dict, too."""
    import keras_hub

    backbone = keras_hub.models.BertBackbone(
        vocabulary_size=WORDS,
        num_layers=1,
        num_heads=2,
        hidden_dim=8,
        intermediate_dim=12,
        dropout=0.1,
        max_sequence_length=TOKENS,
    )
    return keras_hub.models.BertTextClassifier(
        backbone, num_classes=units, dropout=0.1, preprocessor=None
    )


L2 = keras.regularizers.L2(0.1)
MODELS = {
    "mlp": (mlp(), _features),
    "regularized": (
        mlp(kernel_regularizer=L2, activity_regularizer=L2),
        _features,
    ),
    "l2": (mlp(kernel_regularizer=L2), _features),
    "add_loss": (mlp(user_objects.AddsLoss), _features),
    "batch_norm": (
        mlp(
            lambda: layers.BatchNormalization(momentum=0.5),
            lambda: layers.Dropout(0.4),
        ),
        _features,
    ),
    "synchronized": (
        mlp(
            lambda: layers.BatchNormalization(
                momentum=0.5, synchronized=_BACKEND == "tensorflow"
            )
        ),
        _features,
    ),
    "dropout": (
        mlp(lambda: layers.Dropout(0.4), lambda: layers.GaussianNoise(0.3)),
        _features,
    ),
    "seeded_dropout": (mlp(lambda: layers.Dropout(0.4, seed=5)), _features),
    "unbuilt": (mlp(built=False), _features),
    "functional": (functional, _mixed),
    "subclassed": (user_objects.TwoDense, _features),
    "without_training": (user_objects.WithoutTraining, _features),
    "own_training": (user_objects.OwnTraining, _features),
    "convolutional": (convolutional, _images),
    "two_outputs": (two_outputs, _features),
    "compiled_before": (compiled_before, _features),
    "bert": (bert, _sentences),
}


# Cases


def sgd(rate=0.2, **options):
    return lambda: keras.optimizers.SGD(rate, momentum=0.9, **options)


def adamw(**options):
    return lambda: keras.optimizers.AdamW(0.01, weight_decay=0.1, **options)


@dataclasses.dataclass(frozen=True)
class Case:
    """One way to train.

    Attributes:
        objective: For `MMELModel`.
        model: Key of `MODELS`.
        precision: Policy under which the model is built.
        regression: Values and squared error in place of classes.
        sample_weight, mask, teacher: Whether the data has them.
        loss, soft_loss: In place of the task's own.
        reduction: Of the task's own loss.
        optimizer: Makes the optimizer.
        lambdas: `lambda_p` of every epoch.
        compile, fit: Further arguments.
        examples, batch_size, epochs: For `fit`.
        dataset: Whether `fit` gets a `tf.data.Dataset`.
        evaluate: Whether to validate, evaluate and predict as well.
    """

    objective: Any = "hard"
    model: str = "mlp"
    precision: str = "float32"
    regression: bool = False
    sample_weight: bool = False
    mask: bool = False
    teacher: bool = False
    loss: Any = None
    soft_loss: Any = None
    reduction: str = "sum_over_batch_size"
    optimizer: Callable = sgd()
    lambdas: tuple = ()
    compile: dict = dataclasses.field(default_factory=dict)
    fit: dict = dataclasses.field(default_factory=dict)
    examples: int = 7
    batch_size: int = 4
    epochs: int = 1
    dataset: bool = False
    evaluate: bool = False


# All that a batch can hold, and what layers add to the loss.
EVERYTHING = {
    "model": "regularized",
    "sample_weight": True,
    "mask": True,
    "teacher": True,
}


def inputs(case, leading, seed=0):
    return MODELS[case.model][1](np.random.default_rng(seed), leading)


def labels(case, count, seed=1):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(count, 2)).astype("float32")
    classes = rng.integers(0, CLASSES, count)
    if case.model == "two_outputs":
        return {"first": classes, "second": values}
    return values[:, :1] if case.regression else classes


def data_for(case):
    """Groups in the contract: `(x, y, sample_weight)`."""
    rng = np.random.default_rng(2)
    shape = (case.examples, VIEWS)
    x, y = {"views": inputs(case, shape)}, labels(case, case.examples)
    if case.mask:
        x["mask"] = rng.uniform(size=shape) < 0.6
        x["mask"][:, 0], x["mask"][0, 1:] = True, False
        # Padding may hold anything.
        x["views"][~x["mask"]] = np.nan
    if case.teacher and case.regression:
        teacher = y[:, None] + rng.normal(0, 0.6, (*shape, 1))
    elif case.teacher:
        teacher = rng.dirichlet([0.4] * CLASSES, shape)
    if case.teacher:
        if case.mask:
            teacher[~x["mask"]] = np.nan
        y = {"label": y, "teacher": teacher.astype("float32")}
    weight = rng.uniform(0, 3, case.examples).astype("float32")
    return x, y, weight if case.sample_weight else None


def batches_of(case):
    """The data as batches, `(x, y)` or `(x, y, sample_weight)`."""
    data = [part for part in data_for(case) if part is not None]
    starts = range(0, case.examples, case.batch_size)
    return [
        keras.tree.map_structure(
            lambda leaf, at=at: leaf[at : at + case.batch_size], tuple(data)
        )
        for at in starts
    ]


class Batches(keras.utils.PyDataset):
    """Batches as what Keras calls a sequence."""

    def __init__(self, batches):
        super().__init__()
        self.batches = batches

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, index):
        return self.batches[index]


def of_unknown_sizes(batches):
    """A dataset that knows only the ranks, as one of ragged sizes would."""
    import tensorflow as tf

    def specification(leaf):
        known = leaf.shape[2:]
        return tf.TensorSpec([None] * min(leaf.ndim, 2) + [*known], leaf.dtype)

    dataset = tf.data.Dataset.from_generator(
        lambda: iter(batches),
        output_signature=tf.nest.map_structure(specification, batches[0]),
    )
    # Keras warns where it cannot know how many batches there are.
    return dataset.apply(tf.data.experimental.assert_cardinality(len(batches)))


def made_groups(case, **options):
    """Batches whose views `group_views` makes anew in every epoch."""
    import tensorflow as tf

    def shift(x, seeds):
        return x[:, None] + tf.cast(seeds[..., :1] % 100, x.dtype) / 100

    return keras_mmel.data.group_views(
        tf.data.Dataset.from_tensor_slices(plain_examples(case, case.examples)),
        shift,
        VIEWS,
        case.batch_size,
        seed=0,
        **options,
    )


def build(case):
    """A new model, with the same weights at every call and on every backend."""
    keras.utils.set_random_seed(7)
    keras.config.set_dtype_policy(case.precision)
    try:
        model = MODELS[case.model][0](1 if case.regression else CLASSES)
        if not model.built and case.model != "unbuilt":
            model(inputs(case, (1,)))
    finally:
        keras.config.set_dtype_policy("float32")
    rng = np.random.default_rng(3)
    for variable in model.trainable_variables:
        variable.assign(rng.normal(0, 0.5, variable.shape).astype("float32"))
    return model


def settings(case):
    """Arguments of `compile` but for the optimizer, made anew."""
    loss = keras.losses.MeanSquaredError(reduction=case.reduction)
    found = {"loss": loss, "metrics": ["mae"]}
    found["weighted_metrics"] = [keras.metrics.MeanSquaredError("weighted")]
    if not case.regression:
        found = {
            "loss": keras.losses.SparseCategoricalCrossentropy(
                from_logits=True, reduction=case.reduction
            ),
            "metrics": ["accuracy"],
            "weighted_metrics": [
                keras.metrics.SparseCategoricalAccuracy("weighted")
            ],
        }
    if case.model == "two_outputs":
        found = {
            "loss": {"first": found["loss"], "second": loss},
            "loss_weights": {"first": 1.0, "second": 0.3},
        }
    if case.loss is not None:
        found = {"loss": case.loss}
    return {**found, **case.compile}


def compiled(case, scope=contextlib.nullcontext):
    with scope():
        mmel = keras_mmel.MMELModel(
            build(case), case.objective, soft_loss=case.soft_loss
        )
        mmel.compile(case.optimizer(), **settings(case))
    return mmel


def fit(mmel, case, **others):
    """The log of `fit`, a dict."""
    x, y, weight = data_for(case)
    data = {"x": x, "y": y, "batch_size": case.batch_size}
    if weight is not None:
        data["sample_weight"] = weight
    if case.dataset:
        import tensorflow as tf

        parts = (x, y) if weight is None else (x, y, weight)
        dataset = tf.data.Dataset.from_tensor_slices(parts)
        data = {"x": dataset.batch(case.batch_size)}
    if case.lambdas:
        schedule = keras_mmel.callbacks.LambdaSchedule(case.lambdas.__getitem__)
        data["callbacks"] = [schedule]
    if case.evaluate:
        data["validation_data"] = plain_examples(case)
        data["validation_batch_size"] = case.batch_size
    options = {"epochs": case.epochs, "shuffle": False, "verbose": 0}
    return mmel.fit(**{**data, **options, **case.fit, **others}).history


def plain_examples(case, count=9):
    """`(x, y)` for `evaluate` and `predict`."""
    return inputs(case, (count,), seed=4), labels(case, count, seed=5)


def result(mmel, case, history=None):
    """What a run gives, as NumPy arrays by name."""
    found = {f"weight/{i}": w for i, w in enumerate(mmel.model.get_weights())}
    for name, values in (history or {}).items():
        found[f"log/{name}"] = np.array(values)
    if case.evaluate:
        x, y = plain_examples(case)
        options = {"batch_size": case.batch_size, "verbose": 0}
        logs = mmel.evaluate(x, y, return_dict=True, **options)
        found |= {f"evaluate/{name}": value for name, value in logs.items()}
        predicted = keras.tree.flatten(mmel.predict(x, **options))
        found |= {
            f"predict/{i}": np.asarray(part, "float32")
            for i, part in enumerate(predicted)
        }
    return found


def state(mmel, case, history=None):
    """`result`, and all that the run would go on from."""
    variables = [*mmel.variables, *mmel.optimizer.variables]
    return result(mmel, case, history) | {
        f"state/{i}": np.array(v.numpy()) for i, v in enumerate(variables)
    }


def train(case, scope=contextlib.nullcontext):
    """`result` of a run from its beginning."""
    keras.utils.clear_session()
    mmel = compiled(case, scope)
    return result(mmel, case, fit(mmel, case))


def of_case(results, name):
    """What a process found for one case, from all it found by "case:name"."""
    parts = ((key.partition(":"), value) for key, value in results.items())
    return {key: value for (case, _, key), value in parts if case == name}


def assert_close(found, expected, rtol=1e-6, atol=1e-6, but=()):
    """Asserts that two runs gave the same, up to rounding."""
    assert "error" not in found, str(found["error"])
    assert found.keys() == expected.keys()
    assert any(name.startswith("weight/") for name in found)
    for name in expected.keys() - but:
        np.testing.assert_allclose(
            found[name], expected[name], rtol, atol, err_msg=name
        )


def differences(found, expected):
    """Names of what is not bit-equal, with the largest difference."""
    if found.keys() != expected.keys():
        return {"names": sorted(set(found) ^ set(expected))}
    return {
        name: float(np.max(np.abs(found[name] - expected[name])))
        for name in expected
        if not np.array_equal(found[name], expected[name])
    }


# What is saved and resumed. Those of the second table need what a user has
# registered, too.


def go_on(mmel, case):
    """The state after more training, with `lambda_p` as it is."""
    case = dataclasses.replace(case, lambdas=(), epochs=1, evaluate=True)
    return state(mmel, case, fit(mmel, case))


_HARD, _SOFT = keras_mmel.objectives.Hard, keras_mmel.objectives.Soft
SAVED = {
    "hard": Case(_HARD(0.5), model="functional", optimizer=adamw()),
    "float16": Case(
        teacher=True,
        model="convolutional",
        precision="mixed_float16",
        optimizer=sgd(0.1, nesterov=True),
    ),
    # Two steps an epoch, and three of them belong together.
    "accumulation": Case(
        _SOFT(0.3, 0.7, stop_gradient=False),
        model="dropout",
        teacher=True,
        optimizer=adamw(use_ema=True, gradient_accumulation_steps=3),
        epochs=2,
    ),
    "bfloat16": Case("soft", regression=True, precision="mixed_bfloat16"),
    "lambda_p": Case(_HARD(3.0), lambdas=(1.0, 0.2), epochs=2),
    "ball": Case(keras_mmel.objectives.KLBall(0.3)),
    "compiled_before": Case("uniform", model="compiled_before"),
    "seeded_dropout": Case("soft", model="seeded_dropout"),
    "two_outputs": Case(model="two_outputs"),
    "bert": Case("soft", model="bert", teacher=True),
}
SAVED_WITH_USER_OBJECTS = {
    "subclassed": Case("soft", model="subclassed"),
    "losses": Case(
        "soft",
        loss=user_objects.PowerError(2.5),
        soft_loss=user_objects.squared_distance,
    ),
    "without_training": Case(_HARD(0.0), model="without_training"),
    "objective": Case(user_objects.Hardest(lambda_p=0.4, share=0.7)),
}
SAVED_SLOW = {"seeded_dropout", "two_outputs", "without_training"}
SAVED_SLOW |= {"objective", "bfloat16", "bert", "compiled_before", "losses"}
