"""What is trained on every backend: models, data and settings in NumPy."""

import dataclasses

import keras
import numpy as np

import keras_mmel

FEATURES, CLASSES, VIEWS, EXAMPLES = 5, 4, 3, 10

layers = keras.layers


@dataclasses.dataclass(frozen=True)
class Case:
    """One call of `fit`, with `evaluate`, `predict`, saving and loading.

    Attributes:
        objective: For `MMELModel`.
        model: Builds the model.
        regression: Values and squared error in place of classes.
        sample_weight, mask, teacher: Whether the data has them.
        optimizer: Makes the optimizer.
        lambdas: `lambda_p` of every epoch.
        compile: Further arguments of `compile`.
        resumed: Whether to save and load it and train on.
        backends: Where Keras can do it.
    """

    objective: object = "hard"
    model: object = None
    regression: bool = False
    sample_weight: bool = False
    mask: bool = False
    teacher: bool = False
    optimizer: object = None
    lambdas: tuple = ()
    compile: dict = dataclasses.field(default_factory=dict)
    resumed: bool = False
    backends: tuple = ("tensorflow", "jax", "torch")


def mlp(*between, units=CLASSES, **options):
    return keras.Sequential(
        [
            keras.Input((FEATURES,)),
            layers.Dense(6, activation="tanh", **options),
            *between,
            layers.Dense(units),
        ]
    )


def regularized():
    return mlp(
        kernel_regularizer=keras.regularizers.L2(0.1),
        activity_regularizer=keras.regularizers.L2(0.1),
    )


def batch_norm():
    return mlp(layers.BatchNormalization(momentum=0.5))


class WithoutTraining(keras.Model):
    """A model whose `call` does not take `training`."""

    def __init__(self):
        super().__init__()
        self.hidden = layers.Dense(6, activation="tanh")
        self.norm = layers.BatchNormalization(momentum=0.5)
        self.head = layers.Dense(CLASSES)

    def call(self, inputs):
        return self.head(self.norm(self.hidden(inputs)))


def without_training():
    model = WithoutTraining()
    model(np.zeros((1, FEATURES), "float32"))
    return model


def values():
    return mlp(units=1)


def sgd():
    return keras.optimizers.SGD(0.2, momentum=0.9)


def adamw():
    return keras.optimizers.AdamW(0.01, global_clipnorm=1.0)


EVERYTHING = {
    "model": regularized,
    "sample_weight": True,
    "mask": True,
    "teacher": True,
}
SOFT = keras_mmel.objectives.Soft(0.3, 0.7, stop_gradient=False)
CASES = {
    "hard": Case(keras_mmel.objectives.Hard(0.5)),
    "soft": Case("soft"),
    "soft_through": Case(SOFT),
    "uniform": Case("uniform"),
    "hard_everything": Case("hard", **EVERYTHING),
    "soft_everything": Case("soft", resumed=True, **EVERYTHING),
    "regression": Case(
        "soft", model=values, regression=True, teacher=True, mask=True
    ),
    "batch_norm": Case(model=batch_norm, optimizer=adamw, resumed=True),
    "without_training": Case("soft", model=without_training),
    "lambda_p": Case(lambdas=(2.0, 0.1, float("inf")), resumed=True),
    "run_eagerly": Case(mask=True, compile={"run_eagerly": True}),
    "steps_per_execution": Case(
        compile={"steps_per_execution": 2}, backends=("tensorflow", "jax")
    ),
}


# Trained by the tests that are marked slow.
SLOW = {"uniform", "soft_through", "hard_everything", "run_eagerly"}


def data_for(case):
    """Groups in the contract: `(x, y, sample_weight)`."""
    rng = np.random.default_rng(0)
    shape = (EXAMPLES, VIEWS)
    x = {"views": rng.normal(0, 1.5, (*shape, FEATURES)).astype("float32")}
    if case.mask:
        x["mask"] = rng.uniform(size=shape) < 0.6
        x["mask"][:, 0] = True
        # Padding may hold anything.
        x["views"][~x["mask"]] = np.nan
    if case.regression:
        y = rng.normal(size=(EXAMPLES, 1)).astype("float32")
        teacher = y[:, None] + rng.normal(0, 0.5, (*shape, 1))
    else:
        y = rng.integers(0, CLASSES, EXAMPLES)
        teacher = rng.dirichlet([0.4] * CLASSES, shape)
    if case.teacher:
        y = {"label": y, "teacher": teacher.astype("float32")}
    weight = rng.uniform(0, 3, EXAMPLES).astype("float32")
    return x, y, weight if case.sample_weight else None


def compiled(case):
    """An `MMELModel` with the same weights on every backend."""
    model = (case.model or mlp)()
    rng = np.random.default_rng(1)
    for variable in model.trainable_variables:
        variable.assign(rng.normal(0, 0.5, variable.shape).astype("float32"))
    mmel = keras_mmel.MMELModel(model, case.objective)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    metrics = ["accuracy"]
    if case.regression:
        loss, metrics = "mse", ["mae"]
    mmel.compile(
        (case.optimizer or sgd)(),
        loss,
        metrics=metrics,
        weighted_metrics=[keras.metrics.MeanSquaredError("weighted")]
        if case.regression
        else [keras.metrics.SparseCategoricalAccuracy("weighted")],
        **case.compile,
    )
    return mmel
