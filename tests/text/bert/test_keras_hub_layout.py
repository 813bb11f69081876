"""Presets in keras-hub layout, written by keras-hub and by our models."""

import json
import shutil

import keras
import keras_hub
import numpy as np
import pytest
from numpy.testing import assert_allclose

from keras_mmel.text import load_masked_lm
from keras_mmel.text import load_text_classifier
from tests.text import tiny

X = {
    "token_ids": np.array([[2, 120, 130, 4, 3, 0]]),
    "segment_ids": np.array([[0, 0, 0, 1, 1, 0]]),
    "padding_mask": np.array([[1, 1, 1, 1, 1, 0]]),
}
MASKS = {"mask_positions": np.array([[1, 3]])}


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    """A directory and the model that was saved in it."""
    model = tiny.make_hub_masked_lm(
        len(tiny.VOCABULARY),
        keras_hub.models.BertMaskedLMPreprocessor(
            keras_hub.models.BertTokenizer(tiny.VOCABULARY, lowercase=True),
            sequence_length=16,
        ),
    )
    directory = tmp_path_factory.mktemp("presets") / "bert"
    model.save_to_preset(str(directory))
    model.preprocessor = None
    return directory, model


def test_masked_lm_computes_what_keras_hub_does(preset):
    directory, source = preset
    model = load_masked_lm(directory)
    found = model(X | MASKS).numpy()
    assert_allclose(found, source(X | MASKS).numpy(), atol=1e-6)
    # keras-hub's head has another epsilon and another GELU than its encoder.
    assert (model.head_act, model.head_eps) == ("gelu", 1e-5)
    assert model.backbone.hidden_act == "gelu_new"
    assert model.backbone.vocabulary_size == 233


def test_classifier_has_the_encoder(preset):
    directory, source = preset
    model = load_text_classifier(directory, 3, dropout=0.25)
    found, wanted = (m.backbone(X)["pooled_output"] for m in (model, source))
    assert_allclose(found.numpy(), wanted.numpy(), atol=1e-6)
    assert model(X).shape == (1, 3)
    backbone = model.backbone
    assert (model.dropout, backbone.attention_dropout) == (0.25, 0.25)


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_models_have_the_policy_of_today(preset, policy):
    keras.config.set_dtype_policy(policy)
    encoder = keras_hub.models.BertBackbone.from_preset(str(preset[0]))
    masked_lm = load_masked_lm(preset[0])
    classifier = load_text_classifier(preset[0], 2)
    for layer in (
        masked_lm.backbone,
        masked_lm.masked_lm_head,
        classifier.backbone.transformer_layers[0],
        classifier.output_dense,
    ):
        assert layer.dtype_policy.name == encoder.dtype_policy.name == policy


def test_tokenizer_cuts_as_bert_does(preset, tmp_path):
    uncased = load_masked_lm(preset[0]).tokenizer
    whole = tiny.make_checkpoint(tmp_path / "hf")
    assert uncased.fingerprint == load_masked_lm(whole).tokenizer.fingerprint
    ids = uncased.encode(["Caf\u00e9\u00a0film"])[0].token_ids
    assert [uncased.vocabulary[i] for i in ids[1:-1]] == ["cafe", "film"]
    shutil.copytree(preset[0], tmp_path / "cased")
    config = tmp_path / "cased" / "tokenizer.json"
    state = json.loads(config.read_text())
    state["config"]["lowercase"] = False
    config.write_text(json.dumps(state))
    cased = load_masked_lm(tmp_path / "cased").tokenizer
    found = cased.encode(["Film film"])[0].token_ids
    assert found[1] != ids[2] == found[-2]


def test_presets_that_are_refused(preset, tmp_path):
    directory = tmp_path / "encoder"
    preset[1].backbone.save_to_preset(str(directory))
    with pytest.raises(ValueError, match="masked-LM head.*the task None"):
        load_masked_lm(directory)
    with pytest.raises(FileNotFoundError, match="must have a tokenizer"):
        load_text_classifier(directory, 2)
    directory = shutil.copytree(preset[0], tmp_path / "damaged")
    weights = directory / "model.weights.h5"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(OSError, match="truncated"):
        load_masked_lm(directory)
    (directory / "task.weights.h5").unlink()
    with pytest.raises(ValueError, match="task.weights.h5.*the task None"):
        load_masked_lm(directory)
    config = {"class_name": "RobertaBackbone", "registered_name": "x>R"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="BertBackbone.*'RobertaBackbone'"):
        load_masked_lm(tmp_path)


@pytest.mark.parametrize("decoder", [None, "untied"])
def test_our_models_save_in_this_layout(tmp_path, decoder):
    settings = {"hidden_act": "relu", "layer_norm_eps": 1e-4}
    source = load_masked_lm(
        tiny.make_checkpoint(tmp_path / "hf", decoder=decoder, **settings)
    )
    source.save_to_preset(str(tmp_path / "preset"))
    model = load_masked_lm(tmp_path / "preset")
    found = model(X | MASKS).numpy()
    assert_allclose(found, source(X | MASKS).numpy(), atol=1e-6)
    assert model.tokenizer.fingerprint == source.tokenizer.fingerprint
    assert model.tied == (decoder is None)
