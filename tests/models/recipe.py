"""What the networks of the paper have in common."""

import keras
import numpy as np
from numpy.testing import assert_allclose


def count(weights):
    return sum(int(np.prod(weight.shape)) for weight in weights)


def assert_recipe(model, decay, path, size):
    """He's start, decay of all weights, and a file that needs Keras alone.

    Also that batch normalization is synchronized, as asked for.

    Returns:
        Logits of two random images of that size.
    """
    weights = model.trainable_weights
    # Its gradient is `decay` times the weight, as SGD of PyTorch adds it.
    squares = sum(np.sum(weight.numpy() ** 2.0) for weight in weights)
    assert_allclose(float(sum(model.losses)), decay / 2 * squares, rtol=1e-5)
    for layer in model.layers:
        if isinstance(layer, keras.layers.Conv2D):
            kernel = layer.kernel.numpy()
            found = np.var(kernel) * np.prod(kernel.shape[:3]) / 2
            # Five standard errors of a variance from so many numbers.
            assert abs(found - 1) < 5 * np.sqrt(2 / kernel.size)
    assert "keras_mmel" not in model.to_json()
    x = np.random.default_rng(0).normal(size=(2, size, size, 3))
    logits = np.array(model(x))
    model.save(path)
    loaded = keras.models.load_model(path)
    np.testing.assert_array_equal(loaded(x), logits)
    assert all(weight.regularizer for weight in loaded.trainable_weights)
    norms = [layer for layer in loaded.layers if hasattr(layer, "synchronized")]
    assert norms and all(layer.synchronized for layer in norms)
    return logits
