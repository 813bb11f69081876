"""The model of one run on CIFAR, compiled: raw images in, logits out."""

import keras
import numpy as np

import keras_mmel
from examples import cifar_data
from experiments import rivals
from keras_mmel import objectives

# Of the epochs: at 60, 120 and 160 of 200.
DROPS = (0.3, 0.6, 0.8)
DROP_FACTOR = 0.2
MOMENTUM = 0.9


def build_model(
    settings: dict,
    steps_per_epoch: int,
    learning_rate: "float | None" = None,
) -> keras.Model:
    """The model to train by `settings`, wrapped as its method asks.

    `learning_rate` takes the place of the schedule, for a training loop that
    sets the rate of every step itself.
    """
    dataset = settings["dataset"]
    inputs = keras.Input((32, 32, 3), dtype="uint8", name="images")
    # Inside the model, so that views stay uint8 and the saved model takes
    # images as they are.
    x = keras.layers.Normalization(
        mean=cifar_data.MEAN[dataset],
        variance=np.square(cifar_data.STD[dataset]),
        dtype="float32",
        name="normalization",
    )(inputs)
    outputs = keras_mmel.models.cifar_resnet(
        settings["depth"],
        cifar_data.CLASSES[dataset],
        weight_decay=settings["weight_decay"],
    )(x)
    model = wrap(keras.Model(inputs, outputs), settings)
    if learning_rate is None:
        learning_rate = schedule(settings, steps_per_epoch)
    compile_model(model, settings, learning_rate)
    return model


def compile_model(model: keras.Model, settings: dict, learning_rate) -> None:
    """Compile as section 4.1 of the paper: SGD with momentum."""
    model.compile(
        keras.optimizers.SGD(learning_rate, momentum=settings["momentum"]),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=[
            keras.metrics.SparseCategoricalAccuracy(name="accuracy"),
            # `loss` has the weight decay in it, this has not.
            keras.metrics.SparseCategoricalCrossentropy(
                name="nll", from_logits=True
            ),
        ],
    )
    model.optimizer.build(model.trainable_variables)


def wrap(model: keras.Model, settings: dict) -> keras.Model:
    """`model` as the method of `settings` trains it; plain for one view."""
    method = settings["method"]
    if method in ("da", "da-long"):
        return model
    if method == "consistency":
        return rivals.Consistency(model)
    # Read only where the method has one.
    lambda_p = float(settings["lambda_p"] or 0)
    if method == "mmel-s":
        objective = objectives.Soft(
            lambda_p,
            settings["lambda_t"],
            stop_gradient=not settings.get("soft_gradient", False),
        )
    else:
        objective = {
            "uniform": lambda: objectives.Uniform(),
            "mmel-h": lambda: objectives.Hard(lambda_p),
            "maxup": lambda: objectives.Hard(0.0),
            "tilted": lambda: rivals.Tilted(lambda_p),
        }[method]()
    return keras_mmel.MMELModel(model, objective)


def schedule(
    settings: dict, steps_per_epoch: int
) -> keras.optimizers.schedules.LearningRateSchedule:
    """The rate of each step: down at parts of the run (section 4.1)."""
    steps = settings["epochs"] * steps_per_epoch
    return keras.optimizers.schedules.PiecewiseConstantDecay(
        # Keras drops the rate after the step of this number.
        [round(drop * steps) - 1 for drop in settings["drops"]],
        [
            settings["learning_rate"] * DROP_FACTOR**i
            for i in range(len(DROPS) + 1)
        ],
    )
