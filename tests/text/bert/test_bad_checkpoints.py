"""Checkpoints that are damaged or do not fit: what the error says."""

import json
import shutil

import pytest
from safetensors import numpy as safetensors_numpy

from keras_mmel.text import load_masked_lm
from keras_mmel.text import load_text_classifier
from keras_mmel.text.bert import presets
from tests.text import tiny

FILE = "model.safetensors"


def edit_config(directory, **changed):
    path = directory / "config.json"
    config = json.loads(path.read_text()) | changed
    config = {name: v for name, v in config.items() if v is not None}
    path.write_text(json.dumps(config))


def edit_weights(directory, change):
    weights = safetensors_numpy.load_file(directory / FILE)
    change(weights)
    safetensors_numpy.save_file(weights, directory / FILE)


@pytest.fixture
def directory(tmp_path):
    return tiny.make_checkpoint(tmp_path / "bert")


def test_no_head(tmp_path):
    directory = tiny.make_checkpoint(tmp_path / "bert", head=False)
    with pytest.raises(
        ValueError,
        match=r"must have a masked-LM head \(cls.predictions.*hf://.*Received",
    ):
        load_masked_lm(directory)


def test_half_a_head(directory):
    edit_weights(
        directory, lambda w: w.pop("cls.predictions.transform.LayerNorm.beta")
    )
    with pytest.raises(ValueError, match=r"'cls.*transform.LayerNorm.bias'"):
        load_masked_lm(directory)


def test_untied_head_without_its_decoder(directory):
    edit_config(directory, tie_word_embeddings=False)
    with pytest.raises(ValueError, match=r"must store its decoder.*Received"):
        load_masked_lm(directory)


@pytest.mark.parametrize("load", [load_masked_lm, load_text_classifier])
@pytest.mark.parametrize(
    ("vocab_size", "message"),
    [
        (241, r"word_embeddings.*\(233, 16\).*\(241, 16\).*vocab_size"),
        (200, r"vocab_size=200, 233 pieces"),
    ],
)
def test_wrong_vocabulary_size(directory, load, vocab_size, message):
    edit_config(directory, vocab_size=vocab_size)
    more = (2,) if load is load_text_classifier else ()
    with pytest.raises(ValueError, match=message):
        load(directory, *more)


@pytest.mark.parametrize(("rows", "fits"), [(255, True), (256, False)])
def test_embeddings_without_a_piece(tmp_path, rows, fits):
    size = len(tiny.VOCABULARY) + rows
    directory = tiny.make_checkpoint(tmp_path / "bert", vocab_size=size)
    if fits:
        model = load_masked_lm(directory)
        assert model.backbone.vocabulary_size == size
        return
    message = f"must be that of the model.*vocab_size={size}, 233 pieces"
    with pytest.raises(ValueError, match=message):
        load_masked_lm(directory)


@pytest.mark.parametrize("preset", [None, 3])
def test_no_preset(preset):
    with pytest.raises(TypeError, match=rf"`preset` must.*preset={preset}"):
        load_masked_lm(preset)


def test_a_repository_that_cannot_be_downloaded(monkeypatch):
    hub = pytest.importorskip("huggingface_hub")

    def fail(*_, **__):
        raise hub.errors.LocalEntryNotFoundError("no network")

    monkeypatch.setattr(hub, "snapshot_download", fail)
    message = "`preset` must be a repository.*'hf://nobody/none'"
    with pytest.raises(FileNotFoundError, match=message):
        load_masked_lm("hf://nobody/none")


@pytest.mark.parametrize("kept", [0, 4, 100, 0.5, -1])
@pytest.mark.parametrize("shards", [1, 2])
def test_truncated_weights(tmp_path, kept, shards):
    directory = tiny.make_checkpoint(tmp_path / "bert", shards=shards)
    file = sorted(directory.glob("*.safetensors"))[-1]
    whole = file.read_bytes()
    kept = int(kept * len(whole)) if isinstance(kept, float) else kept
    file.write_bytes(whole[:kept])
    with pytest.raises(ValueError, match=rf"must be whole.*{file.name}.*bytes"):
        load_masked_lm(directory)


def test_pointer_in_place_of_weights(directory):
    (directory / FILE).write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n"
    )
    with pytest.raises(ValueError, match="must be whole"):
        load_masked_lm(directory)


def test_missing_and_unreadable_files_of_a_sharded_checkpoint(tmp_path):
    directory = tiny.make_checkpoint(tmp_path / "bert", shards=3)
    name = "model-00002-of-00003.safetensors"
    (directory / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"every shard.*{name}"):
        load_masked_lm(directory)
    (directory / "model.safetensors.index.json").write_text("{}")
    with pytest.raises(ValueError, match="'weight_map'.*index.json"):
        load_masked_lm(directory)


def test_no_weights(directory):
    (directory / FILE).rename(directory / "pytorch_model.bin")
    with pytest.raises(FileNotFoundError, match=r"no other.*pytorch_model.bin"):
        load_text_classifier(directory, 2)


@pytest.mark.parametrize("load", [load_masked_lm, load_text_classifier])
def test_no_tokenizer(tmp_path, load):
    directory = tiny.make_checkpoint(tmp_path / "bert", tokenizer=None)
    more = (2,) if load is load_text_classifier else ()
    with pytest.raises(FileNotFoundError, match="must have a tokenizer"):
        load(directory, *more)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"model_type": "roberta"}, "model_type='bert'.*'roberta'"),
        ({"model_type": None}, "model_type='bert'.*None"),
        ({"hidden_size": None}, "must have 'hidden_size'"),
        ({"hidden_act": "mish"}, "hidden_act='mish'"),
        ({"is_decoder": True}, "is_decoder=False.*is_decoder=True"),
        ({"position_embedding_type": "relative_key"}, "'absolute'"),
        ({"num_hidden_layers": 1}, "num_hidden_layers=1.*layer.1"),
        ({"num_hidden_layers": 3}, "encoder.layer.2"),
        ({"intermediate_size": 31}, r"intermediate.*\(32, 16\).*\(16, 31\)"),
        ({"max_position_embeddings": 8}, r"position.*\(64, 16\).*\(8, 16\)"),
        ({"type_vocab_size": 1}, r"token_type.*\(2, 16\).*\(1, 16\)"),
    ],
)
def test_configs_that_do_not_fit(directory, changed, message):
    edit_config(directory, **changed)
    with pytest.raises(ValueError, match=f"(?s){message}"):
        load_masked_lm(directory)


def test_two_encoders_in_one_file(directory):
    edit_weights(
        directory,
        lambda w: w.update(
            {"x.embeddings.word_embeddings.weight": w["cls.predictions.bias"]}
        ),
    )
    with pytest.raises(ValueError, match="one tensor.*x.embeddings"):
        load_masked_lm(directory)


def test_presets_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="hf://owner/name.*'nowhere'"):
        load_masked_lm("nowhere")
    with pytest.raises(FileNotFoundError, match=r"a config.json.*\[\]"):
        load_masked_lm(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ValueError, match="must be readable.*config.json"):
        load_masked_lm(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0,), ValueError, "at least 1.*num_classes=0"),
        ((2.0,), TypeError, "integer.*2.0"),
        ((True,), TypeError, "integer.*True"),
        ((2, 1.0), ValueError, r"\[0, 1\).*dropout=1.0"),
        ((2, -0.1), ValueError, r"\[0, 1\).*dropout=-0.1"),
    ],
)
def test_arguments_of_a_classifier(arguments, error, message):
    with pytest.raises(error, match=message):
        load_text_classifier("never read", *arguments)


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

    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(hub, "snapshot_download", snapshot_download)
    model = load_masked_lm("hf://owner/name@v2")
    assert asked == [("owner/name", "v2")]
    assert model.tokenizer.vocabulary == tiny.VOCABULARY

    kagglehub = pytest.importorskip("kagglehub")
    monkeypatch.setattr(
        kagglehub,
        "model_download",
        lambda handle: asked.append(handle) or str(directory),
    )
    assert presets.find("kaggle://keras/bert/keras/x/1") == directory
    assert presets.find("bert_tiny_en_uncased") == directory
    assert asked[1] == "keras/bert/keras/x/1"
    assert asked[2].startswith("keras/bert/keras/bert_tiny_en_uncased")
