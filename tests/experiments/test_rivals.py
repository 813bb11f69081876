import keras
import numpy as np
import pytest
import scipy.spatial
import scipy.special
import tensorflow as tf

from experiments import rivals


def losses(seed=0):
    return np.random.default_rng(seed).gamma(2.0, size=(5, 3))


class TestTilted:
    @pytest.mark.parametrize("lambda_p", [0.1, 1.0, 10.0])
    def test_value_and_gradient_are_those_of_the_batch(self, lambda_p):
        given = losses()
        expected = lambda_p * (
            scipy.special.logsumexp(given / lambda_p) - np.log(given.size)
        )
        x = tf.constant(given, "float32")
        with tf.GradientTape() as tape:
            tape.watch(x)
            values, weights = rivals.Tilted(lambda_p).value_and_weights(x)
            mean = tf.reduce_mean(values)
        np.testing.assert_allclose(values, np.full(5, expected), rtol=1e-5)
        softmax = scipy.special.softmax(given / lambda_p)
        np.testing.assert_allclose(tape.gradient(mean, x), softmax, rtol=1e-4)
        np.testing.assert_allclose(weights, 5 * softmax, rtol=1e-4)

    def test_padding_does_not_count(self):
        given = losses()
        mask = np.ones((5, 3), bool)
        mask[1, 2] = mask[4, 1] = False
        given[~mask] = np.nan
        values, weights = rivals.Tilted().value_and_weights(given, mask)
        real = given[mask]
        expected = scipy.special.logsumexp(real) - np.log(len(real))
        np.testing.assert_allclose(values, np.full(5, expected), rtol=1e-5)
        np.testing.assert_array_equal(weights[~mask], 0)

        with pytest.raises(ValueError, match="lambda_p"):
            rivals.Tilted(-1.0)


class TestHardest:
    @pytest.mark.parametrize("count", [1, 2, 9])
    def test_value_and_gradient_are_those_of_the_hardest_views(self, count):
        given = losses()
        mask = np.ones((5, 3), bool)
        mask[1, 2] = mask[4] = False
        given[~mask] = np.nan
        x = tf.constant(given, "float32")
        with tf.GradientTape() as tape:
            tape.watch(x)
            values, weights = rivals.Hardest(count).value_and_weights(x, mask)
        np.testing.assert_allclose(tape.gradient(values, x), weights)
        for group, real, value, of_group in zip(
            given, mask, values, weights, strict=True
        ):
            hardest = np.sort(group[real])[-count:]
            mean = hardest.mean() if real.any() else 0.0
            np.testing.assert_allclose(value, mean, rtol=1e-5)
            np.testing.assert_allclose(
                np.sum(of_group), float(real.any()), rtol=1e-6
            )


class TestConsistency:
    def test_loss_and_training(self):
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(8, 3, 4)).astype("float32"), np.arange(8) % 3
        decay = keras.regularizers.L2(0.1)
        dense = keras.layers.Dense(3, kernel_regularizer=decay)
        model = keras.Sequential([keras.Input((4,)), dense])
        kernel = model.weights[0].numpy()
        wrapped = rivals.Consistency(model, coefficient=2.0)
        wrapped.compile(
            keras.optimizers.SGD(0.0),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        )
        logits = x @ kernel
        log_p = scipy.special.log_softmax(logits, axis=-1)
        p, mean = np.exp(log_p), np.exp(log_p).mean(axis=1, keepdims=True)
        divergence = (p * (log_p - np.log(mean))).sum(-1).mean(1)
        right = -log_p[np.arange(8), 0, y]
        expected = (right + 2 * divergence).mean() + 0.1 * (kernel**2).sum()
        history = wrapped.fit({"views": x}, y, batch_size=8, verbose=0)
        assert history.history["loss"] == [pytest.approx(expected, rel=1e-5)]
        original = history.history["original_loss"]
        assert original == [pytest.approx(right.mean(), rel=1e-5)]
        assert history.history["effective_views"] == [pytest.approx(3)]
        with pytest.raises(ValueError, match="without teacher, mask"):
            wrapped.fit({"views": x}, y, sample_weight=np.ones(8), verbose=0)

        wrapped.optimizer.learning_rate = 0.5
        after = wrapped.fit({"views": x}, y, batch_size=8, epochs=5, verbose=0)
        assert after.history["loss"][-1] < expected
        assert not np.allclose(model.weights[0].numpy(), kernel)
