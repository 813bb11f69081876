import numpy as np
import pytest
import tensorflow as tf

from keras_mmel.text import load_masked_lm
from keras_mmel.text.augmentation.encoder import encode_at
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


def test_later_training_changes_nothing(rows):
    model = tiny.make_hub_masked_lm(200)
    encoder = take_encoder(model)
    before = logits_of(encoder, rows).numpy()
    for weight in model.trainable_weights:
        weight.assign(weight + 1.0)
    np.testing.assert_array_equal(logits_of(encoder, rows), before)
