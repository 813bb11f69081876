import keras
import numpy as np
import pytest

from keras_mmel.models import cifar_resnet
from tests.models.recipe import assert_recipe
from tests.models.recipe import count


def expected_count(depth, num_classes):
    """Weights of the network of section 4.2, stage by stage."""
    blocks = (depth - 2) // 6
    total = 3 * 3 * 3 * 16 + 2 * 16
    channels = 16
    for filters in (16, 32, 64):
        for _ in range(blocks):
            total += 9 * channels * filters + 9 * filters**2 + 4 * filters
            channels = filters
    return total + 64 * num_classes + num_classes


def forward(model, x):
    """ResNet-8 in plain NumPy, at inference."""
    weights = {w.path: w.numpy().astype("float64") for w in model.weights}

    def conv_norm(x, name, strides=1):
        kernel = weights[f"{name}_conv/kernel"]
        x = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        height, width = x.shape[1] - 2, x.shape[2] - 2
        out = np.zeros((len(x), height, width, kernel.shape[-1]))
        for row in range(3):
            for column in range(3):
                part = x[:, row : row + height, column : column + width]
                out += part @ kernel[row, column]
        out = out[:, ::strides, ::strides]
        get = f"{name}_norm/".__add__
        scale = weights[get("gamma")] / np.sqrt(
            weights[get("moving_variance")] + 1e-5
        )
        return (out - weights[get("moving_mean")]) * scale + weights[
            get("beta")
        ]

    def relu(x):
        return np.maximum(x, 0)

    x = relu(conv_norm(x, "stem"))
    for stage in (1, 2, 3):
        name = f"stage{stage}_block0"
        strides = 1 if stage == 1 else 2
        inner = relu(conv_norm(x, f"{name}_1", strides))
        inner = conv_norm(inner, f"{name}_2")
        shortcut = x[:, ::strides, ::strides]
        new = (inner.shape[-1] - x.shape[-1]) // 2
        shortcut = np.pad(shortcut, ((0, 0), (0, 0), (0, 0), (new, new)))
        x = relu(shortcut + inner)
    return x.mean((1, 2)) @ weights["logits/kernel"] + weights["logits/bias"]


@pytest.mark.parametrize(
    "depth, millions", [(20, 0.27), (32, 0.46), (44, 0.66), (56, 0.85)]
)
def test_number_of_parameters_as_stated(depth, millions):
    assert round(expected_count(depth, 10) / 1e6, 2) == millions


@pytest.mark.parametrize("depth", [8, 20])
def test_number_of_parameters(depth):
    model = cifar_resnet(depth, 10)
    assert count(model.trainable_weights) == expected_count(depth, 10)
    kernels = [w for w in model.trainable_weights if w.name == "kernel"]
    assert len(kernels) == depth


def test_output_is_logits_as_computed_by_numpy():
    model = cifar_resnet(8, 7, input_shape=(12, 12, 3))
    rng = np.random.default_rng(1)
    for weight in model.weights:
        # Positive, since some of these are variances.
        weight.assign(weight + rng.uniform(0, 0.2, weight.shape))
    x = rng.normal(size=(3, 12, 12, 3))
    expected = forward(model, x)
    assert expected.shape == (3, 7)
    assert expected.min() < 0 or expected.max() > 1
    np.testing.assert_allclose(model(x), expected, rtol=1e-4, atol=1e-4)


def test_any_image_size():
    model = cifar_resnet(8, 100, input_shape=(None, None, 1))
    assert model.output_shape == (None, 100)
    assert model(np.zeros((2, 28, 20, 1))).shape == (2, 100)


def test_channels_first_as_global_setting_changes_nothing():
    keras.config.set_image_data_format("channels_first")
    try:
        model = cifar_resnet(8, 10)
    finally:
        keras.config.set_image_data_format("channels_last")
    assert model(np.zeros((1, 32, 32, 3))).shape == (1, 10)


def test_recipe_and_round_trip(tmp_path):
    assert cifar_resnet(8, 10).losses == []
    model = cifar_resnet(8, 10, weight_decay=5e-4, synchronized=True)
    assert model.name == "cifar_resnet8"
    assert_recipe(model, 5e-4, tmp_path / "net.keras", 32)


@pytest.mark.parametrize(
    "policy, inside, logits",
    [
        ("float32", "float32", "float32"),
        ("mixed_float16", "float16", "float32"),
        ("mixed_bfloat16", "bfloat16", "float32"),
        ("float64", "float64", "float64"),
    ],
)
def test_dtype_policies(policy, inside, logits):
    keras.config.set_dtype_policy(policy)
    model = cifar_resnet(8, 10)
    assert model.get_layer("stem_conv").compute_dtype == inside
    assert model(np.zeros((1, 32, 32, 3))).dtype == logits
    assert model.dtype_policy.name == policy


def test_bad_arguments():
    def fails(error, message, *arguments, **keywords):
        with pytest.raises(error, match=message):
            cifar_resnet(*arguments, **keywords)

    for depth in (2, 7, 18, 21, -4):
        fails(ValueError, f"6n \\+ 2 .*Received: {depth}", depth, 10)
    fails(ValueError, "`num_classes` must be at least 1", 8, 0)
    for weight_decay in (-1e-4, float("nan"), float("inf")):
        message = "expected a non-negative float"
        fails(ValueError, message, 8, 10, weight_decay=weight_decay)
