import numpy as np
import pytest
import tensorflow as tf

from keras_mmel.text import load_masked_lm
from keras_mmel.text.augmentation.encoder import encode_at
from keras_mmel.text.augmentation.encoder import product
from keras_mmel.text.augmentation.encoder import take_encoder
from tests.text import tiny


@pytest.fixture
def rows():
    random = np.random.default_rng(0)
    return {
        "token_ids": random.integers(0, 200, (4, 9)).astype("int32"),
        "segment_ids": random.integers(0, 2, (4, 9)).astype("int32"),
        "lengths": np.array([9, 2, 5, 7], "int32"),
        "positions": np.array([8, 0, 3, 1], "int32"),
    }


def logits_of(encoder, rows):
    x = encode_at(encoder, **rows)
    return tf.matmul(x, encoder.decoder.kernel) + encoder.decoder.bias


def assert_same_logits(model, rows):
    longest = rows["token_ids"].shape[1]
    expected = model(
        {
            "token_ids": rows["token_ids"],
            "segment_ids": rows["segment_ids"],
            "padding_mask": np.arange(longest) < rows["lengths"][:, None],
            "mask_positions": rows["positions"][:, None],
        }
    )[:, 0]
    found = logits_of(take_encoder(model), rows)
    np.testing.assert_allclose(found, expected, atol=2e-5)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"hidden_act": "gelu_new", "layer_norm_eps": 1e-2},
        {"decoder": "untied"},
        {"num_hidden_layers": 1, "num_attention_heads": 4},
    ],
    ids=str,
)
def test_same_logits_as_a_loaded_model(tmp_path, rows, options):
    model = load_masked_lm(tiny.make_checkpoint(tmp_path, **options))
    assert_same_logits(model, rows)


def test_same_logits_as_a_model_of_keras_hub(rows):
    assert_same_logits(tiny.make_hub_masked_lm(200), rows)


def test_half_precision_is_that_of_the_products_alone(rows):
    model = tiny.make_hub_masked_lm(200)
    half, single = take_encoder(model, "bfloat16"), take_encoder(model)
    of_block = {leaf.dtype for leaf in half.blocks[0].qkv}
    assert of_block == {tf.bfloat16, tf.float32}
    assert half.tokens.dtype == half.norm.gamma.dtype == tf.float32
    x, expected = encode_at(half, **rows), encode_at(single, **rows)
    assert x.dtype == tf.float32
    # 8 bits of a number, in some products one behind the other.
    np.testing.assert_allclose(x, expected, atol=0.05)
    assert np.abs(x - expected).max() > 1e-4
    # The first product as in NumPy, of operands that are rounded.
    kernel = single.blocks[0].qkv.kernel
    x = tf.random.stateless_normal((3, kernel.shape[0]), (0, 0))
    rounded = [
        np.float64(tf.cast(tf.cast(t, "bfloat16"), "float32"))
        for t in (x, kernel)
    ]
    found = product(x, half.blocks[0].qkv.kernel)
    np.testing.assert_allclose(
        found, rounded[0] @ rounded[1], rtol=0.01, atol=1e-3
    )


def test_later_training_changes_nothing(rows):
    model = tiny.make_hub_masked_lm(200)
    encoder = take_encoder(model)
    before = logits_of(encoder, rows).numpy()
    for weight in model.trainable_weights:
        weight.assign(weight + 1.0)
    np.testing.assert_array_equal(logits_of(encoder, rows), before)
