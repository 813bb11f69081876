"""The statistics in the log, beside NumPy and by hand."""

import keras
import numpy as np

from keras_mmel.training.view_statistics import ViewStatistics


def test_statistics_are_means_over_examples_not_over_batches():
    statistics = ViewStatistics()
    statistics.update_state(1.0, np.array([1.0, 2.0, 3.0], "float32"), 3.0)
    statistics.update_state(5.0, np.array([4.0], "float32"), 1.0)
    found = {name: float(value) for name, value in statistics.result().items()}
    assert found == {"original_loss": 2.0, "effective_views": 2.5}
    statistics.reset_state()
    assert all(float(value) == 0 for value in statistics.result().values())


def test_statistics_can_be_made_from_their_config():
    statistics = ViewStatistics(name="mine")
    config = keras.saving.serialize_keras_object(statistics)
    assert keras.saving.deserialize_keras_object(config).name == "mine"
