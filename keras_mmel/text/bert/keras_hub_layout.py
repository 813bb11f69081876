"""Checkpoints in keras-hub layout, as `save_to_preset` writes them."""

import json
import pathlib

from keras_mmel import extras
from keras_mmel.text.bert.backbone import BertBackbone
from keras_mmel.text.bert.classifier import BertTextClassifier
from keras_mmel.text.bert.masked_lm import BertMaskedLM
from keras_mmel.text.bert.tokenizer import Tokenizer
from keras_mmel.text.bert.with_tokenizer import check_vocabulary

keras_hub = extras.need("keras_hub", "text")

# What `keras_hub.models.BertBackbone` and its head always compute.
_BACKBONE = {"hidden_act": "gelu_new", "layer_norm_eps": 1e-12}
_HEAD = {"head_act": "gelu", "head_eps": 1e-5}


def masked_lm(directory: pathlib.Path) -> BertMaskedLM:
    """Load a masked LM that was saved by `keras_hub`'s `save_to_preset`.

    Args:
        directory: with `config.json`, `task.json`, `model.weights.h5`,
            `task.weights.h5` and the tokenizer.

    Returns:
        The model, which computes what `keras_hub.models.BertMaskedLM` does.

    Raises:
        ValueError: if the preset has no masked-LM head. keras-hub's own
            `from_preset` gives a random one then, without a word.
    """
    task = directory / "task.json"
    kind = None
    if task.exists():
        kind = json.loads(task.read_text(encoding="utf-8"))["class_name"]
    weights = directory / "task.weights.h5"
    if kind != "BertMaskedLM" or not weights.exists():
        raise ValueError(
            "`preset` must have a masked-LM head: in keras-hub layout the "
            "task.json of a BertMaskedLM and task.weights.h5; where there is "
            "only an encoder, take a masked LM in Hugging Face layout, such "
            "as 'hf://google-bert/bert-base-uncased'. Received: "
            f"{str(directory)!r} with a task.json of {kind!r} and files "
            f"{sorted(p.name for p in directory.iterdir())}"
        )
    source = _read(keras_hub.models.BertMaskedLM, directory)
    backbone = _backbone(source.backbone)
    settings = {
        name: getattr(source, name, default) for name, default in _HEAD.items()
    }
    model = BertMaskedLM(
        backbone,
        tokenizer=_tokenizer(directory, backbone),
        config=_config(backbone),
        tied=getattr(source, "tied", True),
        **settings,
    )
    _copy(source.masked_lm_head, model.masked_lm_head)
    return model


def text_classifier(
    directory: pathlib.Path, num_classes: int, dropout: float | None
) -> BertTextClassifier:
    """Put a new head on the encoder of a preset in keras-hub layout.

    Args:
        directory: with `config.json`, `model.weights.h5` and the tokenizer.
        num_classes: number of logits.
        dropout: rate everywhere, by default the encoder's.

    Returns:
        The classifier.
    """
    source = _read(keras_hub.models.BertBackbone, directory)
    changed = {}
    if dropout is not None:
        changed = {"dropout": dropout, "attention_dropout": dropout}
    backbone = _backbone(source, **changed)
    return BertTextClassifier(
        backbone,
        num_classes,
        tokenizer=_tokenizer(directory, backbone),
        config=_config(backbone),
        dropout=backbone.dropout,
        initializer_range=backbone.initializer_range,
    )


def _read(cls, directory):
    without = (
        {} if cls is keras_hub.models.BertBackbone else {"preprocessor": None}
    )
    try:
        return cls.from_preset(str(directory), **without)
    except (OSError, KeyError) as error:
        raise ValueError(
            "the weights of `preset` must be whole and belong to its config. "
            f"Received: {str(directory)!r}: {error}"
        ) from error


def _backbone(source, **changed):
    config = source.get_config()
    ours = BertBackbone.from_config(_BACKBONE | config | changed)
    _copy(source, ours)
    return ours


def _copy(source, target):
    """Copy the weights between two layers of the same structure."""
    values = {variable.path: variable for variable in source.weights}
    for variable in target.weights:
        variable.assign(values[variable.path])


def _tokenizer(directory, backbone):
    tokenizer = Tokenizer.from_directory(directory)
    check_vocabulary(tokenizer, backbone.vocabulary_size, directory)
    return tokenizer


def _config(backbone):
    """What a config in Hugging Face layout would say."""
    return {
        "model_type": "bert",
        "vocab_size": backbone.vocabulary_size,
        "num_hidden_layers": backbone.num_layers,
        "num_attention_heads": backbone.num_heads,
        "hidden_size": backbone.hidden_dim,
        "intermediate_size": backbone.intermediate_dim,
        "max_position_embeddings": backbone.max_sequence_length,
        "type_vocab_size": backbone.num_segments,
        "hidden_act": backbone.hidden_act,
        "layer_norm_eps": backbone.layer_norm_eps,
        "hidden_dropout_prob": backbone.dropout,
        "attention_probs_dropout_prob": backbone.attention_dropout,
        "initializer_range": backbone.initializer_range,
    }
