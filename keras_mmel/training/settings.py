"""The setting of an objective that may change during training.

It is a variable of the model, so that a step that was traced sees the change.
Where it had no effect, or too much, a line at the end of `fit` says so.
"""

import dataclasses
import math
from collections.abc import Sequence

import keras
from keras import ops

from keras_mmel.arrays import to_numpy
from keras_mmel.objectives import Objective

# Shares of the views that count: above the one in all epochs the weights did
# nothing; below so many views one had nearly all the weight.
_ALL, _ONE = 0.98, 1.2


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
                f"The objective has no `{name}`. Received: {objective!r}"
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


def remark(
    objective: Objective, views: int, effective_views: Sequence[float]
) -> str:
    """What to say of the weights after `fit`.

    Args:
        objective: With its current setting.
        views: Size of the groups.
        effective_views: Of each epoch.

    Returns:
        A sentence that names the way. Empty where the weights did something,
        or the setting wants it so.
    """
    name, views = objective.scheduled, views - objective.soft_targets
    value = getattr(objective, name, 0.0)
    # More of the one is less of the other.
    more, less = ("smaller", "larger")[:: -1 if name == "radius" else 1]
    if not 0 < value < math.inf or views < 2 or not effective_views:
        return ""
    count = f"{effective_views[-1]:.2f} of {views} views counted to the end"
    if min(effective_views) > _ALL * views:
        return (
            f"The weights did nothing: {count}. A {more} `{name}` than "
            f"{value:.3g}, or views that differ more, would make a difference."
        )
    if max(effective_views) < _ONE:
        return (
            f"One view had nearly all the weight: {count}. A {less} `{name}` "
            f"than {value:.3g} would share it."
        )
    return ""
