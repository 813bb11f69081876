"""Checkpoints that are damaged or do not fit: what the error says."""

import functools
import json
import shutil

import pytest
from safetensors import numpy as safetensors_numpy

from keras_mmel.text import load_masked_lm
from keras_mmel.text import load_text_classifier
from keras_mmel.text.bert import presets
from tests.text import tiny

FILE = "model.safetensors"
LOADERS = [
    load_masked_lm,
    functools.partial(load_text_classifier, num_classes=2),
]
HEAD = "cls.predictions"


@pytest.fixture
def directory(tmp_path):
    return tiny.make_checkpoint(tmp_path / "bert")


@pytest.mark.parametrize(
    ("count", "error"), [(0, ValueError), (True, TypeError), (2.0, TypeError)]
)
def test_numbers_of_classes_that_are_none(directory, count, error):
    with pytest.raises(error, match=f"`num_classes` must.*={count}"):
        load_text_classifier(directory, count)


def edit_config(directory, **changed):
    path = directory / "config.json"
    config = json.loads(path.read_text()) | changed
    config = {name: v for name, v in config.items() if v is not None}
    path.write_text(json.dumps(config))


def edit_weights(directory, change):
    weights = safetensors_numpy.load_file(directory / FILE)
    change(weights)
    safetensors_numpy.save_file(weights, directory / FILE)


def refused(directory, message, error=ValueError, load=load_masked_lm):
    with pytest.raises(error, match=message):
        load(directory)


def test_heads(tmp_path, directory):
    without = tiny.make_checkpoint(tmp_path / "without", head=False)
    refused(without, r"have a masked-LM head \(cls.*hf://.*Received.*without'")
    edit_config(directory, tie_word_embeddings=False)
    refused(directory, "tensor 'cls.predictions.decoder.weight'")
    edit_config(directory, tie_word_embeddings=True)
    edit_weights(directory, lambda w: w.pop(f"{HEAD}.transform.LayerNorm.beta"))
    refused(directory, r"'cls.*transform.LayerNorm.bias'")
    edit_weights(directory, lambda w: w.pop(f"{HEAD}.bias"))
    refused(directory, r"'cls.predictions.decoder.bias'")


@pytest.mark.parametrize("load", LOADERS)
def test_wrong_vocabulary_size(directory, load):
    edit_config(directory, vocab_size=241)
    message = r"word_embeddings.*\(233, 16\).*\(241, 16\).*vocab_size"
    refused(directory, message, load=load)
    edit_config(directory, vocab_size=200)
    refused(directory, "vocab_size=200, 233 pieces", load=load)


def test_embeddings_without_a_piece(tmp_path):
    size = len(tiny.VOCABULARY) + 255
    directory = tiny.make_checkpoint(tmp_path / "a", vocab_size=size)
    model = load_masked_lm(directory)
    assert model.backbone.vocabulary_size == size
    assert model.masked_lm_head.vocabulary_size == size
    directory = tiny.make_checkpoint(tmp_path / "b", vocab_size=size + 1)
    message = f"must be that of the model.*vocab_size={size + 1}, 233 pieces"
    refused(directory, message)


def test_truncated_weights(tmp_path):
    directory = tiny.make_checkpoint(tmp_path / "bert")
    file = directory / FILE
    whole = file.read_bytes()
    for kept in (0, 100, -1):
        file.write_bytes(whole[:kept])
        refused(directory, rf"must be whole.*{file.name}.*bytes")


def test_files_that_are_missing(tmp_path, directory):
    (directory / FILE).rename(directory / "pytorch_model.bin")
    for load in LOADERS:
        message = "no other.*save_pretrained.*pytorch_model.bin"
        refused(directory, message, FileNotFoundError, load)
    directory = tiny.make_checkpoint(tmp_path / "words", tokenizer=None)
    for load in LOADERS:
        message = "must have a tokenizer"
        refused(directory, message, FileNotFoundError, load)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"model_type": "roberta"}, "model_type='bert'.*'roberta'"),
        ({"hidden_act": "mish"}, "hidden_act='mish'"),
        ({"is_decoder": True}, "is_decoder=False.*is_decoder=True"),
        ({"position_embedding_type": "relative_key"}, "'absolute'"),
        ({"num_hidden_layers": 1}, "layer.1.*num_hidden_layers=1"),
        ({"max_position_embeddings": 8}, r"position.*\(64, 16\).*\(8, 16\)"),
    ],
)
def test_configs_that_do_not_fit(directory, changed, message):
    edit_config(directory, **changed)
    refused(directory, f"(?s){message}")


def test_presets_that_are_not_there(tmp_path, monkeypatch):
    refused(
        "nowhere", "hf://owner/name.*keras/NAME.*'nowhere'", FileNotFoundError
    )
    refused(tmp_path, r"a config.json.*\[\]", FileNotFoundError)
    for damaged in ("{", "[1]"):
        (tmp_path / "config.json").write_text(damaged)
        refused(tmp_path, "must be readable.*config.json")
    hub = pytest.importorskip("huggingface_hub")

    def fail(*_, **__):
        raise hub.errors.LocalEntryNotFoundError("no network")

    monkeypatch.setattr(hub, "snapshot_download", fail)
    message = "`preset` must be a repository.*'hf://nobody/none'"
    refused("hf://nobody/none", message, FileNotFoundError)


def test_downloads(tmp_path, monkeypatch, directory):
    asked = []

    def snapshot_download(repository, *, revision, allow_patterns):
        asked.append((repository, revision))
        copy = tmp_path / "snapshot"
        shutil.copytree(directory, copy)
        for file in copy.iterdir():
            if not any(file.match(pattern) for pattern in allow_patterns):
                file.unlink()
        return str(copy)

    def model_download(handle):
        asked.append(handle)
        return str(directory)

    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(hub, "snapshot_download", snapshot_download)
    model = load_masked_lm("hf://owner/name@v2")
    assert asked == [("owner/name", "v2")]
    assert model.tokenizer.vocabulary == tiny.VOCABULARY
    kagglehub = pytest.importorskip("kagglehub")
    monkeypatch.setattr(kagglehub, "model_download", model_download)
    assert presets.find("kaggle://keras/bert/keras/x/1") == directory
    assert asked[1] == "keras/bert/keras/x/1"
