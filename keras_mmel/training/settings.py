"""The setting of an objective that may change during training.

It is a variable of the model, so that a step that was traced sees the change.
"""

import dataclasses

import keras
from keras import ops

from keras_mmel.arrays import to_numpy
from keras_mmel.objectives import Objective


def variable_of(objective: Objective) -> keras.Variable | None:
    """A variable with the setting, or None where the objective has none."""
    name = objective.scheduled
    if not hasattr(objective, name):
        return None
    return keras.Variable(
        float(getattr(objective, name)),
        dtype="float32",
        trainable=False,
        autocast=False,
        name=name,
    )


def scheduled(name: str) -> property:
    """A property of an `MMELModel`: the setting, if it has that name."""

    def variable(model):
        objective = model._objective
        if name != objective.scheduled or model._setting is None:
            raise ValueError(
                f"The objective has no `{name}`. "
                f"Received: objective={objective!r}"
            )
        return model._setting

    def read(model) -> float:
        return float(to_numpy(ops.convert_to_tensor(variable(model))))

    def assign(model, value: float):
        setting = variable(model)
        # Which checks the value.
        dataclasses.replace(model._objective, **{name: value})
        setting.assign(float(value))

    return property(read, assign)
