"""What a user would write and register: models, losses, an objective."""

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
        self.hidden = keras.layers.Dense(6, activation="tanh")
        self.dropout = keras.layers.Dropout(0.3)
        self.head = keras.layers.Dense(units)

    def call(self, inputs, training=None):
        hidden = self.dropout(self.hidden(inputs), training=training)
        return self.head(hidden)

    def get_config(self):
        return {**super().get_config(), "units": self.units}


@register
class WithoutTraining(TwoDense):
    """Its `call` takes no `training`: Keras then never drops anything out."""

    def build(self, input_shape):
        self.hidden.build(input_shape)
        self.head.build((*input_shape[:-1], 6))
        self.built = True

    def call(self, inputs):
        return self.head(self.dropout(self.hidden(inputs)))


@register
class OwnTraining(TwoDense):
    """Takes `training` and does something of its own with it."""

    def call(self, inputs, training=False):
        return self.head(self.hidden(inputs if training else 0 * inputs))


@register
class AddsLoss(keras.layers.Layer):
    def call(self, inputs):
        self.add_loss(0.1 * ops.mean(ops.square(inputs)))
        return inputs


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

    def value_and_weights(self, losses, mask=None, lambda_p=None):
        value, weights = super().value_and_weights(losses, mask, lambda_p)
        mean = objectives.maximal_expected_loss(losses, float("inf"), mask)
        return self.share * value + (1 - self.share) * mean, weights
