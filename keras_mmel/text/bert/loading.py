"""Loads the models of presets, in Hugging Face and in keras-hub layout."""

import logging
import os

import keras
import numpy as np

from keras_mmel import extras
from keras_mmel.counts import check_count
from keras_mmel.text.bert import huggingface
from keras_mmel.text.bert import presets
from keras_mmel.text.bert.networks import BertBackbone
from keras_mmel.text.bert.networks import BertMaskedLM
from keras_mmel.text.bert.networks import BertTextClassifier
from keras_mmel.text.bert.tokenizer import Tokenizer

keras_hub = extras.need("keras_hub", "text")

_LOGGER = logging.getLogger(__name__)

_HEAD = "cls.predictions"
# What `keras_hub.models.BertBackbone` and the head of its masked LM always
# compute.
_KERAS_HUB_BACKBONE = {"hidden_act": "gelu_new", "layer_norm_eps": 1e-12}
_KERAS_HUB_HEAD = {"tied": True, "head_act": "gelu", "head_eps": 1e-5}
# Tensors that are no head of a task: the encoder, and what it was pretrained
# with.
_NO_TASK = {"embeddings", "encoder", "pooler", "cls"}
# Rows of embeddings that may be without a piece: sizes are rounded up to
# multiples of 128 at the most.
_MOST_PADDING = 255


def load_masked_lm(preset: str | os.PathLike) -> BertMaskedLM:
    """Loads a BERT masked LM, its head and its tokenizer.

    From Hugging Face layout the head is read from `cls.predictions.*`
    (transform, layer norm, bias, and the decoder's matrix where it is not the
    words' embeddings); activation, layer-norm epsilon, type vocabulary and
    dropouts come from the config. Logits agree with those of
    `transformers.BertForMaskedLM` to rounding. From keras-hub layout the model
    computes what `keras_hub.models.BertMaskedLM` does.

    Args:
        preset: `"hf://owner/name"`, `"kaggle://..."`, or a local directory in
            Hugging Face or keras-hub layout.

    Returns:
        The model, not compiled.

    Raises:
        FileNotFoundError: If the preset, its weights or its tokenizer are not
            there.
        ValueError: If the checkpoint has no masked-LM head, is damaged, or its
            parts do not belong together.
        OSError: If a file of weights in keras-hub layout is damaged.
        ImportError: If an optional library is missing.

    Example:

    ```python
    from keras_mmel.text import load_masked_lm

    masked_lm = load_masked_lm("hf://google-bert/bert-base-uncased")
    masked_lm.tokenizer.encode(["A [MASK] in a text is text."])
    ```

    Reference: Devlin et al. 2019, https://arxiv.org/abs/1810.04805.
    """
    directory = presets.find(preset)
    config = presets.read_config(directory)
    if "registered_name" in config:
        source = _masked_lm_of_keras_hub(directory)
        backbone, tokenizer = _encoder(directory, config)
        # Models of our own, saved in this layout, know their settings.
        settings = {
            name: getattr(source, name, default)
            for name, default in _KERAS_HUB_HEAD.items()
        }
        model = BertMaskedLM(backbone, tokenizer, **settings)
        model.set_weights(source.get_weights())
        return model
    tensors = huggingface.read_tensors(directory)
    tied = _is_tied(tensors, config, directory)
    backbone, tokenizer = _encoder(directory, config)
    head_act, head_eps = backbone.hidden_act, backbone.layer_norm_eps
    model = BertMaskedLM(backbone, tokenizer, tied, head_act, head_eps)
    # Two names of one parameter; where both are stored, transformers computes
    # with the decoder's.
    bias = tensors.get(f"{_HEAD}.bias")
    if bias is not None:
        tensors.setdefault(f"{_HEAD}.decoder.bias", bias)
    # A pooler is not needed: the head looks at single tokens.
    huggingface.load_weights(model, tensors)
    return model


def load_text_classifier(
    preset: str | os.PathLike, num_classes: int, dropout: float | None = None
) -> BertTextClassifier:
    """Loads a BERT encoder and its tokenizer under a classification head.

    The head is a dropout and a dense layer on the pooled first token. A head
    that was trained is kept where it is such a layer of `num_classes` outputs
    (of a `BertForSequenceClassification` in Hugging Face layout, of a
    `BertTextClassifier` in keras-hub layout); the classes are in its order.
    Else it is new, and a log message says so where the checkpoint has a head
    that does not fit: weights from N(0, `initializer_range`^2), 0.02 in most
    configs, and biases 0; `keras.utils.set_random_seed` makes them
    reproducible. A pooler is read where the checkpoint has one; where it has
    none (a masked LM), its weights are new as well, from N(0, 0.02^2) cut off
    at two standard deviations, and a log message says so.

    Args:
        preset: `"hf://owner/name"`, `"kaggle://..."`, or a local directory in
            Hugging Face or keras-hub layout.
        num_classes: Number of logits; 1 for regression.
        dropout: Rate in the encoder and in the head; by default what the
            config says (`hidden_dropout_prob`, `attention_probs_dropout_prob`
            and `classifier_dropout`).

    Returns:
        The model, not compiled.

    Raises:
        FileNotFoundError: If the preset, its weights or its tokenizer are not
            there.
        ValueError: If `num_classes` or `dropout` is out of range, or the
            checkpoint is damaged or its parts do not belong together.
        OSError: If a file of weights in keras-hub layout is damaged.
        ImportError: If an optional library is missing.

    Example:

    ```python
    import keras
    from keras_mmel.text import load_text_classifier

    model = load_text_classifier("hf://google-bert/bert-base-uncased", 2)
    model.compile(
        keras.optimizers.AdamW(3e-5),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    ```

    Reference: Devlin et al. 2019, https://arxiv.org/abs/1810.04805.
    """
    num_classes = check_count("num_classes", num_classes, 1)
    directory = presets.find(preset)
    config = presets.read_config(directory)
    if "registered_name" in config:
        source, head = _keras_hub_classifier(directory)
        backbone, tokenizer = _encoder(directory, config, dropout)
        backbone.set_weights(source.get_weights())
    else:
        backbone, tokenizer = _encoder(directory, config, dropout)
        tensors = huggingface.read_tensors(directory)
        has_pooler = huggingface.load_weights(backbone, tensors)
        if not has_pooler:
            _LOGGER.warning(
                "%s has no pooler: its weights are new, as those of the head",
                directory,
            )
        head = _hugging_face_head(tensors, config, has_pooler)
    # Many configs have the key with `null` for the encoder's own rate.
    rate = config.get("classifier_dropout")
    if rate is None or dropout is not None:
        rate = backbone.dropout
    stddev = config.get("initializer_range", 0.02)
    model = BertTextClassifier(backbone, num_classes, tokenizer, rate, stddev)
    shapes = [w.shape for w in model.output_dense.get_weights()]
    if [np.shape(part) for part in head] == shapes:
        model.output_dense.set_weights(head)
    elif head:
        _LOGGER.warning(
            "%s has a trained head that is none of %d classes on the pooled "
            "token (%s): the head is new",
            directory,
            num_classes,
            ", ".join(str(np.shape(part) or part) for part in head),
        )
    return model


def _hugging_face_head(tensors, config, has_pooler):
    """Kernel and bias of a classifier's head; of others, what it is called."""
    heads = sorted({name.partition(".")[0] for name in tensors} - _NO_TASK)
    is_other = config.get("architectures") == ["BertForMultipleChoice"]
    is_other |= config.get("problem_type") == "multi_label_classification"
    if is_other or not has_pooler or heads != ["classifier"]:
        return heads
    names = ("classifier.weight", "classifier.bias")
    return [tensors[n].astype("float32").T for n in names if n in tensors]


def _keras_hub_classifier(directory):
    """The encoder, and what `_hugging_face_head` gives."""
    models, path = keras_hub.models, str(directory)
    task = _task_class(directory)
    if task != "BertTextClassifier":
        # The head of a masked LM is none of a task.
        other = {task} - {None, "BertMaskedLM"}
        return models.BertBackbone.from_preset(path), sorted(other)
    source = models.BertTextClassifier.from_preset(path, preprocessor=None)
    activation = keras.activations.serialize(source.activation)
    if activation not in ("linear", "softmax"):
        return source.backbone, [activation]
    return source.backbone, source.output_dense.get_weights()


def _task_class(directory):
    """The class of a task in keras-hub layout, where its weights are there."""
    task = directory / "task.json"
    if task.exists() and (directory / "task.weights.h5").exists():
        return presets.read_json(task)["class_name"]
    return None


def _is_tied(tensors, config, directory):
    """Whether the words' embeddings are the decoder; there must be a head."""
    dense = f"{_HEAD}.transform.dense.weight"
    if dense not in tensors:
        raise _without_head(directory, f"no tensor {dense!r}")
    name = f"{_HEAD}.decoder.weight"
    if name in tensors:
        words = tensors["embeddings.word_embeddings.weight"]
        return np.array_equal(tensors[name], words)
    return config.get("tie_word_embeddings", True)


def _encoder(directory, config, dropout=None):
    """The encoder of a config, its weights random, and the tokenizer."""
    if "registered_name" in config:
        settings = _KERAS_HUB_BACKBONE | config["config"]
        # The policy of today, as in keras-hub, and not of the day of saving.
        settings.pop("dtype", None)
    else:
        settings = huggingface.backbone_settings(config)
    if dropout is not None:
        settings |= {"dropout": dropout, "attention_dropout": dropout}
    backbone = BertBackbone.from_config(settings)
    tokenizer = Tokenizer.from_directory(directory)
    pieces, rows = len(tokenizer.vocabulary), backbone.vocabulary_size
    if not pieces <= rows <= pieces + _MOST_PADDING:
        raise ValueError(
            "The tokenizer must be that of the model: of `vocab_size` pieces, "
            f"or at most {_MOST_PADDING} fewer. Received: vocab_size={rows}, "
            f"{pieces} pieces in {str(directory)!r}"
        )
    if tokenizer.added_special:
        _LOGGER.warning(
            "%s has the special tokens %s: in a text they are text, and cut "
            "into pieces",
            directory,
            ", ".join(tokenizer.added_special),
        )
    return backbone, tokenizer


def _masked_lm_of_keras_hub(directory):
    # keras-hub's own `from_preset` gives a random head where there is none,
    # without a word.
    task_class = _task_class(directory)
    if task_class != "BertMaskedLM":
        raise _without_head(directory, f"the task {task_class!r}")
    from_preset = keras_hub.models.BertMaskedLM.from_preset
    return from_preset(str(directory), preprocessor=None)


def _without_head(directory, received):
    return ValueError(
        "`preset` must have a masked-LM head (cls.predictions.* in Hugging "
        "Face layout, such as 'hf://google-bert/bert-base-uncased' has; in "
        "that of keras-hub task.json of a BertMaskedLM and task.weights.h5); "
        "for an encoder without one use `load_text_classifier`. Received: "
        f"{received} in {presets.contents(directory)}"
    )
