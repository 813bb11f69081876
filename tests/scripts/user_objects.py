"""What a user would write and register: a model, losses, an objective."""

import dataclasses

import keras
from keras import ops

from keras_mmel import objectives

register = keras.saving.register_keras_serializable(package="tests")


@register
class TwoDense(keras.Model):
    """A subclassed model that is built by its first call."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.hidden = keras.layers.Dense(units, activation="tanh")
        self.dropout = keras.layers.Dropout(0.3)
        self.head = keras.layers.Dense(3)

    def call(self, inputs, training=None):
        hidden = self.dropout(self.hidden(inputs), training=training)
        return self.head(hidden)

    def get_config(self):
        return {**super().get_config(), "units": self.units}


@register
class PowerError(keras.losses.Loss):
    """`|y - y_pred| ** power`, a value per example."""

    def __init__(self, power=3.0, **kwargs):
        super().__init__(**kwargs)
        self.power = power

    def call(self, y_true, y_pred):
        y_true = ops.reshape(ops.cast(y_true, y_pred.dtype), (-1, 1))
        return ops.mean(ops.abs(y_true - y_pred) ** self.power, axis=-1)

    def get_config(self):
        return {**super().get_config(), "power": self.power}


@register
def squared_distance(target, prediction):
    """A loss for soft targets."""
    return ops.mean(ops.square(target - prediction), axis=-1)


@register
@dataclasses.dataclass(frozen=True)
class Hardest(objectives.Hard):
    """The maximum, mixed with the mean."""

    share: float = 0.5

    def __call__(self, losses, mask=None, lambda_p=None):
        value = super().__call__(losses, mask, lambda_p)
        mean = objectives.maximal_expected_loss(losses, float("inf"), mask)
        return self.share * value + (1 - self.share) * mean
