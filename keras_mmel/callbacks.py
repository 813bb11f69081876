"""Callbacks that steer the training of an `MMELModel`."""

from collections.abc import Callable

import keras

from keras_mmel import objectives
from keras_mmel.mmel_model import MMELModel


class LambdaSchedule(keras.callbacks.Callback):
    """Sets `lambda_p` at the start of every epoch.

    The change takes effect at once and retraces nothing. `math.inf` gives
    uniform weights, so that a warm-up is a schedule like any other. The log of
    each epoch gets the value under `lambda_p`.

    Args:
        schedule: Function of the epoch, counted from 0, that gives `lambda_p`:
            a number from 0 to inf.

    Raises:
        TypeError: If `schedule` cannot be called, or the model that is trained
            is no `MMELModel`.
        ValueError: At the start of an epoch, if it gives a negative number or
            NaN, or the model's objective has no `lambda_p`.

    Example:

    ```python
    # Five epochs of uniform weights, then the paper's setting.
    warm_up = keras_mmel.callbacks.LambdaSchedule(
        lambda epoch: math.inf if epoch < 5 else 1.0
    )
    mmel.fit(groups, epochs=20, callbacks=[warm_up])
    ```
    """

    def __init__(self, schedule: Callable[[int], float]):
        super().__init__()
        if not callable(schedule):
            raise TypeError(
                "`schedule` must be a function of the epoch. "
                f"Received: {schedule!r}"
            )
        self.schedule = schedule

    def set_model(self, model):
        if not isinstance(model, MMELModel):
            raise TypeError(
                "`LambdaSchedule` steers the `lambda_p` of an `MMELModel`: "
                "give it to the `fit` of the wrapper. "
                f"Received: a {type(model).__name__}"
            )
        super().set_model(model)

    def on_epoch_begin(self, epoch, logs=None):
        value = self.schedule(epoch)
        objectives.check_lambda_p(value)
        self.model.lambda_p = value

    def on_epoch_end(self, epoch, logs=None):
        if logs is not None:
            logs["lambda_p"] = self.model.lambda_p
