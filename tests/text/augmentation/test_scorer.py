import numpy as np
import pytest
import tensorflow as tf

from keras_mmel.text.augmentation.scorer import top


@pytest.mark.parametrize("count", [1, 2, 6, 39, 41, 5120])
def test_largest_are_found_by_chunks(count):
    random = np.random.default_rng(0)
    logits = random.permutation(3 * 128 * 40).reshape(3, -1).astype("float32")
    best, indices = top(tf.constant(logits), tf.constant(count))
    order = np.argsort(-logits, axis=1)[:, :count]
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(
        best, np.take_along_axis(logits, order, axis=1)
    )
