"""Ways to train, as values: models, data and settings that many tests share.

A `Case` says how to train and holds nothing: `Case("soft", mask=True)` is the
soft objective on groups with padding. The functions here make of it what a test
needs, the same at every call, in every process and on every backend:

- `build`, `compiled`: the network with fixed weights; an `MMELModel` around it;
- `data_for`, `batches_of`, `plain_examples`: groups, whole or in batches, and
  plain examples for `evaluate`;
- `fit`, `train`: a run, from `compiled` or from nothing;
- `result`, `state`: what a run gives, arrays by name, and what it would go on
  from;
- `assert_close`, `differences`: whether two runs gave the same, up to rounding
  or to the bit.

So a test lists cases and compares two ways through them. For instance

    case = Case("soft", model="dropout", epochs=2)
    mmel = cases.compiled(case)
    log = cases.fit(mmel, case)
    cases.assert_close(cases.result(mmel, case, log), expected)

compares a run with that of tests/mmel_model/reference.py, of several replicas
or workers, of another backend (tests/scripts/) or of a loaded file. Networks
are in tests/networks.py, cases that are saved in tests/saved_cases.py. What a
new test needs and `Case` cannot say becomes a field of it, with a default that
leaves the others as they are.
"""

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

import keras_mmel
from tests.networks import CLASSES
from tests.networks import MODELS
from tests.networks import TOKENS

VIEWS = 3


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
        moving: Whether each view has a label of its own.
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
    moving: bool = False
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
    if case.model == "masked":
        return np.repeat(values[:, :1, None], TOKENS, axis=1)
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
    if case.moving:
        y = {"views": labels_of_views(case, y, x.get("mask"))}
    weight = rng.uniform(0, 3, case.examples).astype("float32")
    return x, y, weight if case.sample_weight else None


def labels_of_views(case, y, mask=None):
    """Labels `(examples, num_views, ...)`, the originals' first."""
    flat = labels(case, case.examples * VIEWS, seed=6)

    def of_views(of_rows, of_originals):
        shape = (case.examples, VIEWS, *of_rows.shape[1:])
        found = of_rows.reshape(shape)
        found[:, 0] = of_originals
        if mask is not None:
            # Padding may hold anything, such as no class at all.
            found[~mask] = -9 if found.dtype == int else np.nan
        return found

    return keras.tree.map_structure(of_views, flat, y)


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
    squared = keras.losses.MeanSquaredError(reduction=case.reduction)
    crossentropy = keras.losses.SparseCategoricalCrossentropy(
        from_logits=True, reduction=case.reduction
    )
    if case.loss is not None:
        arguments = {"loss": case.loss}
    elif case.model == "two_outputs":
        arguments = {
            "loss": {"first": crossentropy, "second": squared},
            "loss_weights": {"first": 1.0, "second": 0.3},
        }
    elif case.regression:
        arguments = {
            "loss": squared,
            "metrics": ["mae"],
            "weighted_metrics": [keras.metrics.MeanSquaredError("weighted")],
        }
    else:
        arguments = {
            "loss": crossentropy,
            "metrics": ["accuracy"],
            "weighted_metrics": [
                keras.metrics.SparseCategoricalAccuracy("weighted")
            ],
        }
    return {**arguments, **case.compile}


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
    weights = enumerate(mmel.model.get_weights())
    arrays = {f"weight/{i}": weight for i, weight in weights}
    for name, values in (history or {}).items():
        arrays[f"log/{name}"] = np.array(values)
    if case.evaluate:
        x, y = plain_examples(case)
        options = {"batch_size": case.batch_size, "verbose": 0}
        logs = mmel.evaluate(x, y, return_dict=True, **options)
        arrays |= {f"evaluate/{name}": value for name, value in logs.items()}
        outputs = keras.tree.flatten(mmel.predict(x, **options))
        for i, output in enumerate(outputs):
            arrays[f"predict/{i}"] = np.asarray(output, "float32")
    return arrays


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
