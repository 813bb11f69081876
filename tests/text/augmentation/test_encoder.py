import dataclasses

import keras
import keras_hub
import numpy as np
import pytest
import tensorflow as tf

from keras_mmel.text import load_masked_lm
from keras_mmel.text.augmentation.encoder import arrays
from keras_mmel.text.augmentation.encoder import encode_at
from keras_mmel.text.augmentation.encoder import take_encoder
from keras_mmel.text.augmentation.packing import PackedTokens
from tests.text import tiny


@pytest.fixture
def rows():
    random = np.random.default_rng(0)
    lengths = np.array([9, 2, 5, 7], "int32")
    return {
        "token_ids": random.integers(0, 200, (4, 9)).astype("int32"),
        "segment_ids": random.integers(0, 2, (4, 9)).astype("int32"),
        "lengths": lengths,
        "positions": np.array([8, 0, 3, 1], "int32"),
    }


def logits_of(encoder, rows, packed=False):
    x = encode_at(encoder, **rows, packed=packed)
    return tf.matmul(x, encoder.decoder.kernel) + encoder.decoder.bias


def model_logits(model, rows):
    longest = rows["token_ids"].shape[1]
    return model(
        {
            "token_ids": rows["token_ids"],
            "segment_ids": rows["segment_ids"],
            "padding_mask": np.arange(longest) < rows["lengths"][:, None],
            "mask_positions": rows["positions"][:, None],
        }
    )[:, 0]


both = pytest.mark.parametrize("packed", [False, True])


@both
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"hidden_act": "gelu_new"},
        {"hidden_act": "relu", "layer_norm_eps": 1e-2},
        {"decoder": "untied"},
        {"num_hidden_layers": 1, "num_attention_heads": 4},
        {"num_hidden_layers": 3, "num_attention_heads": 1},
    ],
    ids=str,
)
def test_same_logits_as_a_loaded_model(tmp_path, rows, options, packed):
    model = load_masked_lm(tiny.make_checkpoint(tmp_path, **options))
    np.testing.assert_allclose(
        logits_of(take_encoder(model), rows, packed),
        model_logits(model, rows),
        atol=2e-5,
    )


def hub_model(**options):
    backbone = keras_hub.models.BertBackbone(
        vocabulary_size=200,
        num_layers=2,
        num_heads=2,
        hidden_dim=16,
        intermediate_dim=32,
        max_sequence_length=20,
        **options,
    )
    model = keras_hub.models.BertMaskedLM(backbone)
    random = np.random.default_rng(0)
    for weight in model.trainable_weights:
        weight.assign(weight + 0.2 * random.normal(size=weight.shape))
    return model


@both
def test_same_logits_as_a_model_of_keras_hub(rows, packed):
    model = hub_model()
    np.testing.assert_allclose(
        logits_of(take_encoder(model), rows, packed),
        model_logits(model, rows),
        atol=2e-5,
    )


@both
def test_padding_is_not_seen(rows, packed):
    encoder = take_encoder(hub_model())
    together = logits_of(encoder, rows, packed)
    for i, length in enumerate(rows["lengths"]):
        alone = {
            "token_ids": rows["token_ids"][i : i + 1, :length],
            "segment_ids": rows["segment_ids"][i : i + 1, :length],
            "lengths": rows["lengths"][i : i + 1],
            "positions": rows["positions"][i : i + 1],
        }
        np.testing.assert_allclose(
            together[i], logits_of(encoder, alone)[0], atol=2e-5
        )


@both
def test_double_precision(rows, packed):
    encoder = take_encoder(hub_model())
    exact = logits_of(encoder.cast("float64"), rows, packed)
    assert exact.dtype == tf.float64
    np.testing.assert_allclose(
        logits_of(encoder, rows, packed), exact, atol=2e-5
    )


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_tokens_that_repeat_go_through_the_first_layer_once(layers):
    encoder = take_encoder(hub_model()).cast("float64")
    encoder = dataclasses.replace(
        encoder, blocks=(encoder.blocks[0], *encoder.blocks)[-layers:]
    )
    random = np.random.default_rng(0)
    # Of few kinds, so that token, segment and position often agree.
    rows = {
        "token_ids": random.integers(0, 2, (20, 9)).astype("int32"),
        "segment_ids": random.integers(0, 2, (20, 9)).astype("int32"),
        "lengths": random.integers(1, 10, 20).astype("int32"),
    }
    rows["positions"] = (rows["lengths"] - 1).astype("int32")
    np.testing.assert_allclose(
        logits_of(encoder, rows, packed=True),
        logits_of(encoder, rows),
        rtol=0,
        atol=1e-12,
    )
    seen = np.arange(9) < rows["lengths"][:, None]
    _, index = PackedTokens(tf.constant(seen)).distinct(
        (rows["token_ids"], rows["segment_ids"], np.arange(9)[None])
    )
    found = {
        (int(row), int(segment), place)
        for tokens, segments, length in zip(
            rows["token_ids"],
            rows["segment_ids"],
            rows["lengths"],
            strict=True,
        )
        for place, (row, segment) in enumerate(
            zip(tokens[:length], segments[:length], strict=True)
        )
    }
    assert len(set(index.numpy().tolist())) == len(found) < seen.sum()


def test_later_training_changes_nothing(rows):
    model = hub_model()
    encoder = take_encoder(model)
    before = logits_of(encoder, rows).numpy()
    for weight in model.trainable_weights:
        weight.assign_add(tf.ones_like(weight))
    np.testing.assert_array_equal(logits_of(encoder, rows), before)


def test_arrays_hold_every_number_that_counts():
    model = hub_model()
    encoder = take_encoder(model)
    # The decoder is the token embedding once more; the pooler has no part.
    pooler = model.backbone.pooled_dense.count_params()
    tokens = model.backbone.token_embedding.count_params()
    assert sum(array.size for array in arrays(encoder)) == (
        sum(int(np.prod(w.shape)) for w in model.trainable_weights)
        - pooler
        + tokens
    )
    other = dataclasses.replace(encoder, tokens=encoder.tokens + 1)
    assert not np.array_equal(arrays(other)[0], arrays(encoder)[0])


def test_other_models_are_refused():
    model = keras.Sequential([keras.layers.Dense(1)])
    with pytest.raises(TypeError, match="BertMaskedLM.*Received: Sequential"):
        take_encoder(model)
