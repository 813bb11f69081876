"""What is trained on 1, 2 and 4 replicas, and with which data."""

import dataclasses

import numpy as np

OBJECTIVES = ("hard", "soft", "uniform")
FEATURES, CLASSES, VIEWS = 5, 4, 3


@dataclasses.dataclass(frozen=True)
class Case:
    """One call of `fit`.

    Attributes:
        objective: For `MMELModel`.
        model: Name of a function in `replica_models`.
        examples, batch_size, epochs: For `fit`.
        sample_weight, mask, teacher: Whether the data has them.
        reduction: Of the compiled loss.
        optimizer: Name of a function in `replica_models`.
        dataset: Whether `fit` gets a `tf.data.Dataset`.
        lambdas: `lambda_p` of every epoch.
        evaluate: Examples for `evaluate`, `predict` and validation, or 0.
        compile: Further arguments of `compile`.
        replicas: Where it is run.
    """

    objective: str = "hard"
    model: str = "mlp"
    examples: int = 8
    batch_size: int = 8
    epochs: int = 1
    sample_weight: bool = False
    mask: bool = False
    teacher: bool = False
    reduction: str = "sum_over_batch_size"
    optimizer: str = "sgd"
    dataset: bool = False
    lambdas: tuple = ()
    evaluate: int = 0
    compile: dict = dataclasses.field(default_factory=dict)
    replicas: tuple = (2,)


EVERYTHING = {
    "model": "regularized",
    "sample_weight": True,
    "mask": True,
    "teacher": True,
    "replicas": (1, 2, 4),
}
# Sizes: 7 examples split as 4, 3 and 2, 2, 2, 1; 15 are batches of 8 and 7.
UNEVEN = {
    "sum": Case(
        reduction="sum",
        sample_weight=True,
        examples=15,
        optimizer="small_sgd",
        replicas=(2, 4),
    ),
    "mean_with_sample_weight": Case(
        reduction="mean_with_sample_weight",
        sample_weight=True,
        examples=15,
        replicas=(2, 4),
    ),
    "epochs_evaluate": Case(
        examples=15, epochs=3, sample_weight=True, evaluate=9
    ),
    "last_of_3": Case(examples=11),
    "last_of_4": Case(examples=12, replicas=(4,)),
    "run_eagerly": Case(examples=15, compile={"run_eagerly": True}),
    "unbuilt_sequential": Case(model="unbuilt", examples=15, dataset=True),
    "two_outputs_uneven": Case(
        model="two_outputs", examples=7, sample_weight=True, dataset=True
    ),
}
EVEN = {
    "regularizers": Case(model="regularized"),
    "add_loss": Case(model="with_add_loss"),
    "adamw": Case(examples=16, epochs=2, optimizer="adamw"),
    "synchronized_batch_norm": Case(
        model="batch_norm", examples=16, evaluate=8
    ),
    "lambda_p": Case(examples=16, epochs=3, lambdas=(1.0, 0.1, float("inf"))),
    "subclassed": Case(model="subclassed", teacher=True, evaluate=8),
    "two_outputs": Case(model="two_outputs", examples=16, sample_weight=True),
    "mixed_float16": Case(model="half", examples=16),
}
for _name in OBJECTIVES:
    EVEN[f"{_name}_everything"] = Case(_name, **EVERYTHING)
    UNEVEN[f"{_name}_uneven_first"] = Case(
        _name, examples=7, sample_weight=True, mask=True, replicas=(2, 4)
    )
    UNEVEN[f"{_name}_uneven_last"] = Case(
        _name, examples=15, epochs=2, dataset=True, replicas=(1, 2, 4)
    )
# A replica would get no example: it fails, and breaks what the process shares.
REFUSED = {"last_of_1": Case(examples=9, dataset=True, replicas=(2, 4))}
# Plain Keras fails here on TensorFlow 2.21 and more than one replica.
STEPS = Case(
    examples=24,
    epochs=2,
    compile={"steps_per_execution": 2},
    replicas=(1, 2),
)
CASES = {**EVEN, **UNEVEN, "steps_per_execution": STEPS, **REFUSED}


# Trained by the tests that are marked slow.
SLOW = {
    "adamw",
    "add_loss",
    "epochs_evaluate",
    "hard_uneven_first",
    "last_of_3",
    "last_of_4",
    "mixed_float16",
    "soft_uneven_first",
    "subclassed",
    "two_outputs",
    "unbuilt_sequential",
    "uniform_uneven_first",
}


def data_for(case):
    """Groups in the contract: `(x, y, sample_weight)`."""
    rng = np.random.default_rng(0)
    count = case.examples
    views = rng.normal(0, 1.5, (count, VIEWS, FEATURES)).astype("float32")
    x = {"views": views}
    if case.mask:
        x["mask"] = rng.uniform(size=(count, VIEWS)) < 0.6
        x["mask"][:, 0] = True
    y = rng.integers(0, CLASSES, count)
    if case.model == "two_outputs":
        values = rng.normal(size=(count, 2)).astype("float32")
        y = {"first": y, "second": values}
    if case.teacher:
        teacher = rng.dirichlet([0.4] * CLASSES, (count, VIEWS))
        y = {"label": y, "teacher": teacher.astype("float32")}
    weight = rng.uniform(0, 3, count).astype("float32")
    return x, y, weight if case.sample_weight else None


def plain_data(count):
    """Plain examples, `(x, y)`, for `evaluate` and `predict`."""
    rng = np.random.default_rng(1)
    x = rng.normal(0, 1.5, (count, FEATURES)).astype("float32")
    return x, rng.integers(0, CLASSES, count)
