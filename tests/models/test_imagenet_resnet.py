import keras
import numpy as np
import pytest

from keras_mmel import models
from tests.models.recipe import assert_recipe
from tests.models.recipe import count

# ResNet-34 differs from ResNet-18 in the numbers of blocks only.
BUILDERS = [
    models.resnet18,
    pytest.param(models.resnet50, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(
    "build, expected, millions",
    [
        # Those of torchvision, which has no biases beside normalization.
        (models.resnet18, 11_689_512, 11.7),
        (models.resnet34, 21_797_672, 21.8),
        # 25,557,032 in torchvision, and 26,560 biases in keras.applications.
        pytest.param(
            models.resnet50,
            25_557_032 + 26_560,
            25.6,
            marks=pytest.mark.slow,
        ),
    ],
)
def test_number_of_parameters(build, expected, millions):
    model = build(1000)
    found = count(model.trainable_weights)
    assert found == expected
    assert round(found / 1e6, 1) == millions
    assert model.input_shape == (None, 224, 224, 3)
    assert model.output_shape == (None, 1000)


@pytest.mark.parametrize("build", BUILDERS)
class TestEveryDepth:
    def test_recipe_and_round_trip(self, build, tmp_path):
        options = {"weight_decay": 1e-4, "synchronized": True}
        model = build(7, input_shape=(64, 64, 3), **options)
        for layer in model.layers:
            if isinstance(layer, keras.layers.BatchNormalization):
                assert layer.momentum == 0.9
        logits = assert_recipe(model, 1e-4, tmp_path / "net.keras", 64)
        assert logits.shape == (2, 7)
        # Probabilities would sum to one.
        assert abs(logits.sum(-1) - 1).min() > 1e-3

    def test_mixed_precision(self, build):
        keras.config.set_dtype_policy("mixed_float16")
        model = build(3, input_shape=(32, 32, 3))
        convs = [
            layer
            for layer in model.layers
            if isinstance(layer, keras.layers.Conv2D)
        ]
        assert {conv.compute_dtype for conv in convs} == {"float16"}
        assert model(np.zeros((1, 32, 32, 3))).dtype == "float32"


def test_first_block_of_a_stage_halves_the_image():
    model = models.resnet18(10)
    sizes = [
        model.get_layer(f"stage{stage}_block1_relu").output.shape[1:]
        for stage in (1, 2, 3, 4)
    ]
    assert sizes == [(56, 56, 64), (28, 28, 128), (14, 14, 256), (7, 7, 512)]
