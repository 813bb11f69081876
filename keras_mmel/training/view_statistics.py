"""What the weights of the views do, as running means for the log."""

from typing import Any

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_mmel")
class ViewStatistics(keras.metrics.Metric):
    """Means over the examples of an epoch: `original_loss`, `effective_views`.

    One variable holds both sums and the count, so that a step of a small model
    does not spend its time on updating metrics.

    Args:
        name: Name of the metric; its results have names of their own.
    """

    def __init__(self, name: str = "view_statistics", **kwargs: Any):
        super().__init__(name=name, **kwargs)
        self.sums = self.add_variable(
            shape=(3,), initializer="zeros", name="sums", aggregation="sum"
        )

    def update_state(
        self, original_loss: Any, effective_views: Any, size: Any
    ) -> None:
        """Adds a batch.

        Args:
            original_loss: Scalar, mean over the batch.
            effective_views: `(batch,)`, one number per group.
            size: Examples in the batch.
        """
        sums = [original_loss * size, ops.sum(effective_views), size]
        self.sums.assign_add(ops.cast(ops.stack(sums), self.sums.dtype))

    def result(self) -> dict:
        # A dict: Keras logs each entry under its own name.
        loss, effective, size = ops.unstack(ops.convert_to_tensor(self.sums))
        return {
            "original_loss": ops.divide_no_nan(loss, size),
            "effective_views": ops.divide_no_nan(effective, size),
        }
