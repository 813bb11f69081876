"""Callbacks: a schedule of the objective's setting, and scores on groups."""

import copy
import warnings
from collections.abc import Callable
from collections.abc import Iterable

import keras

from keras_mmel.mmel_model import MMELModel
from keras_mmel.scores.held_out import batches_of
from keras_mmel.scores.of_views import ViewScorer


class OfMMELModel(keras.callbacks.Callback):
    """A callback that only the `fit` of an `MMELModel` can use."""

    def set_model(self, model):
        if not isinstance(model, MMELModel):
            raise TypeError(
                f"`{type(self).__name__}` must be given to the `fit` of an "
                f"`MMELModel`. Received: a {type(model).__name__}"
            )
        super().set_model(model)


class LambdaSchedule(OfMMELModel):
    """Sets `lambda_p`, or the `radius` of a `KLBall`, in every epoch.

    The change takes effect at once and retraces nothing. A `lambda_p` of
    `math.inf`, or a `radius` of 0, gives uniform weights, so that a warm-up is
    a schedule like any other. The log of each epoch gets the value, under
    `lambda_p` or `radius`.

    Args:
        schedule: Function of the epoch, counted from 0, that gives the value: a
            number from 0 to inf.

    Raises:
        TypeError: If `schedule` cannot be called, or the model that is trained
            is no `MMELModel`.
        ValueError: At the start of an epoch, if it gives a negative number or
            NaN, or the model's objective has neither.

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
        super().set_model(model)
        self._name = model.objective.scheduled

    def on_epoch_begin(self, epoch, logs=None):
        setattr(self.model, self._name, self.schedule(epoch))

    def on_epoch_end(self, epoch, logs=None):
        logs[self._name] = getattr(self.model, self._name)


class ViewScores(keras.callbacks.Callback):
    """Logs the scores of `evaluate_views` at the end of every epoch.

    Put it before the callbacks that watch its scores. Those of accuracies,
    losses, NLL and ECE need no `mode` in the `fit` of an `MMELModel`. There it
    also scores the weights that `val_*` are of, those that
    `keras.callbacks.SwapEMAWeights` swaps in. A deep copy, as KerasTuner makes
    of every callback, shares the groups.

    Args:
        groups: Batches of held-out groups, the same in every pass, such as
            `keras_mmel.data.grid_views` makes. A dataset, a list, or anything
            that can be gone through once an epoch; or a tuple `(x, y)` of
            arrays.
        prefix: What comes before the names of the scores.

    Raises:
        TypeError: If `groups` cannot be gone through more than once.
        ValueError: If the model is not compiled, or `groups` holds no groups.

    Example:

    ```python
    watch = [
        keras_mmel.callbacks.ViewScores(held_out),
        keras.callbacks.EarlyStopping("val_worst_accuracy", patience=5),
    ]
    mmel.fit(groups, epochs=50, callbacks=watch)
    ```
    """

    def __init__(self, groups: Iterable, prefix: str = "val_"):
        super().__init__()
        # An iterator is its own, and is empty after one pass.
        is_iterator = not hasattr(groups, "__iter__") or iter(groups) is groups
        if isinstance(groups, dict) or is_iterator:
            raise TypeError(
                "`groups` must be batches that can be gone through in every "
                "epoch, such as a dataset or a list. "
                f"Received: groups of type {type(groups).__name__}"
            )
        self.groups = groups
        self.prefix = prefix
        self.beside: list = []  # the callbacks of `fit`, which puts them here
        self._scorer: ViewScorer | None = None

    def __deepcopy__(self, memo):
        copied = copy.copy(self)  # a dataset cannot be copied
        copied.beside, copied._scorer = [], None
        return copied

    def on_train_begin(self, logs=None):
        # Traced anew: the model may have been compiled since the last `fit`.
        self._scorer = ViewScorer(self.model)
        # What does not fit should not wait for the end of an epoch.
        self._scorer(batches_of(self.groups, 32), steps=1)
        if getattr(self.model.optimizer, "use_ema", False) and not self.beside:
            warnings.warn(
                "Outside of the `fit` of an `MMELModel`, `ViewScores` scores "
                "the weights as an epoch leaves them, also where `val_*` are "
                "of moving averages. Put it behind "
                "`SwapEMAWeights(swap_on_epoch=True)`. "
                "Received: an optimizer with use_ema=True",
                stacklevel=2,
            )

    def on_epoch_end(self, epoch, logs=None):
        # As `fit` does around `evaluate`, unless they are in the model already.
        swaps = [
            callback
            for callback in self.beside
            if isinstance(callback, keras.callbacks.SwapEMAWeights)
            and not callback._ema_weights_in_model
        ]
        for callback in swaps:
            callback.on_test_begin()
        scores = self._scorer(batches_of(self.groups, 32))
        for callback in swaps:
            callback.on_test_end()
        for name, score in scores.items():
            logs[self.prefix + name] = score

    def on_train_end(self, logs=None):
        self.beside = []
