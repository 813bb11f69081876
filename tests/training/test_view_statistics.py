"""The statistics in the log, beside NumPy and by hand."""

import keras
import numpy as np
import pytest

from keras_mmel import objectives
from keras_mmel.training.view_statistics import ViewStatistics


def test_effective_views_is_the_exponential_of_the_entropy():
    weights = np.random.default_rng(0).dirichlet(np.ones(5), 100)
    entropy = -(weights * np.log(weights)).sum(axis=1)
    found = objectives.effective_views(weights)
    np.testing.assert_allclose(found, np.exp(entropy), rtol=1e-6)


def test_effective_views_of_all_on_one_and_of_all_alike():
    weights = [[0.0, 1.0, 0.0, 0.0], [0.25] * 4, [0.5, 0.5, 0.0, 0.0]]
    found = objectives.effective_views(weights)
    np.testing.assert_allclose(found, [1.0, 4.0, 2.0], rtol=1e-6)


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


@pytest.mark.parametrize("lambda_p", [[1.0, 2.0], [[1.0]]])
def test_lambda_p_is_one_number(lambda_p):
    with pytest.raises(ValueError, match="one number.*Received"):
        objectives.view_weights([[1.0, 2.0]], np.array(lambda_p))


def test_a_zero_dimensional_array_is_checked_like_a_number():
    with pytest.raises(ValueError, match="`lambda_p` must be.*Received"):
        objectives.view_weights([[1.0, 2.0]], np.array(-1.0))
