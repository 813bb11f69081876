import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_mmel.models import with_weight_decay
from keras_mmel.models.weight_decay import rebuild

# Keras rounds momentum and decay to float32 even in float64 models. These
# numbers are the same after it.
RATE, MOMENTUM, DECAY = 0.05, 0.875, 2**-5
STEPS = 6


def small_net():
    return keras.Sequential(
        [
            keras.Input((4, 4, 2)),
            keras.layers.Conv2D(3, 3),
            keras.layers.BatchNormalization(),
            keras.layers.Flatten(),
            keras.layers.Dense(2),
        ]
    )


def batch():
    rng = np.random.default_rng(0)
    return rng.normal(size=(5, 4, 4, 2)), rng.normal(size=(5, 2))


def torch_sgd(model, decay):
    """The update of `torch.optim.SGD` written out, on bare gradients."""
    x, y = batch()
    values = [w.numpy().astype("float64") for w in model.trainable_weights]
    velocities = [np.zeros_like(value) for value in values]
    for _ in range(STEPS):
        for weight, value in zip(model.trainable_weights, values, strict=True):
            weight.assign(value)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        gradients = tape.gradient(
            loss, [weight.value for weight in model.trainable_weights]
        )
        for i, gradient in enumerate(gradients):
            step = gradient.numpy() + decay * values[i]
            velocities[i] = MOMENTUM * velocities[i] + step
            values[i] = values[i] - RATE * velocities[i]
    return values


def fit(model, **optimizer):
    sgd = keras.optimizers.SGD(RATE, momentum=MOMENTUM, **optimizer)
    model.compile(sgd, "mse")
    x, y = batch()
    model.fit(x, y, epochs=STEPS, batch_size=len(x), verbose=0)
    return [weight.numpy() for weight in model.trainable_weights]


@pytest.fixture
def float64():
    before = keras.config.floatx()
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")
    yield
    keras.config.set_floatx(before)


def test_equals_sgd_of_pytorch_and_not_the_argument_of_keras(float64):
    net = small_net()
    decayed, plain = (with_weight_decay(net, decay) for decay in (DECAY, 0.0))
    expected = torch_sgd(net, DECAY)
    found = fit(decayed)
    assert len(found) == len(expected) == 6
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)
    other = fit(plain, weight_decay=DECAY)
    gaps = [abs(a - b).max() for a, b in zip(other, expected, strict=True)]
    assert max(gaps) > 1e-3


@pytest.fixture(scope="module")
def nets():
    """A model, and the same with weight decay."""
    net = small_net()
    return net, with_weight_decay(net, DECAY)


def test_penalty_is_half_the_squared_norm(nets):
    net, decayed = nets
    squares = sum(
        np.sum(weight.numpy().astype("float64") ** 2)
        for weight in net.trainable_weights
    )
    np.testing.assert_allclose(
        float(sum(decayed.losses)), DECAY / 2 * squares, rtol=1e-6
    )
    assert float(sum(with_weight_decay(net, 0.0).losses)) == 0


def test_every_trainable_weight_and_no_other(nets):
    _, decayed = nets
    assert all(w.regularizer for w in decayed.trainable_weights)
    assert not any(w.regularizer for w in decayed.non_trainable_weights)
    assert len(decayed.losses) == 6


def test_the_original_is_left_alone(nets):
    net, decayed = nets
    assert net.losses == []
    for one, other in zip(net.weights, decayed.weights, strict=True):
        assert one is not other
        np.testing.assert_array_equal(one, other)
    assert [layer.name for layer in net.layers] == [
        layer.name for layer in decayed.layers
    ]


def test_nested_models():
    inputs = keras.Input((4, 4, 2))
    net = keras.Model(inputs, small_net()(inputs))
    decayed = with_weight_decay(net, DECAY)
    assert len(decayed.losses) == 6
    x = batch()[0]
    np.testing.assert_array_equal(net(x), decayed(x))


def test_survives_saving(nets, tmp_path):
    _, decayed = nets
    decayed.save(tmp_path / "net.keras")
    loaded = keras.models.load_model(tmp_path / "net.keras")
    assert len(loaded.losses) == 6
    np.testing.assert_array_equal(sum(loaded.losses), sum(decayed.losses))


@pytest.mark.parametrize("value", [-1e-4, float("nan"), float("inf")])
def test_a_wrong_coefficient(value):
    with pytest.raises(ValueError, match="`weight_decay` must be finite"):
        with_weight_decay(keras.Sequential(), value)


def test_a_layer_without_regularizers():
    @keras.saving.register_keras_serializable("test")
    class Scale(keras.layers.Layer):
        def build(self, shape):
            self.scale = self.add_weight(shape=(), name="scale")

        def call(self, x):
            return x * self.scale

    net = keras.Sequential([keras.Input((2,)), Scale(name="mine")])
    with pytest.raises(ValueError, match="a model with .*mine/scale"):
        with_weight_decay(net, DECAY)


def test_an_edited_initializer_gives_fresh_weights():
    def zeros(layer, config):
        if "kernel_initializer" in config:
            config["kernel_initializer"] = "zeros"

    copy = rebuild(small_net(), zeros)
    kernels = [w for w in copy.trainable_weights if w.name == "kernel"]
    assert len(kernels) == 2
    assert all(not np.any(kernel) for kernel in kernels)
