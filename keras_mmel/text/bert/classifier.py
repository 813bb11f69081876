"""A BERT classifier on a checkpoint's encoder."""

import functools
import logging
import os

import keras

from keras_mmel import extras
from keras_mmel.text.bert import huggingface
from keras_mmel.text.bert import presets
from keras_mmel.text.bert.backbone import BertBackbone
from keras_mmel.text.bert.huggingface import Checkpoint
from keras_mmel.text.bert.tokenizer import Tokenizer
from keras_mmel.text.bert.with_tokenizer import WithTokenizer
from keras_mmel.text.bert.with_tokenizer import check_vocabulary

keras_hub = extras.need("keras_hub", "text")

_LOGGER = logging.getLogger(__name__)


@keras.saving.register_keras_serializable("keras_mmel")
class BertTextClassifier(WithTokenizer, keras_hub.models.BertTextClassifier):
    """A `keras_hub.models.BertTextClassifier` with its tokenizer.

    Called with `{"token_ids", "segment_ids", "padding_mask"}`, each `(batch,
    length)` integers, it returns logits `(batch, num_classes)`, or the value
    where `num_classes` is 1. It saves to a `.keras` file that holds the
    tokenizer.

    Args:
        backbone: the encoder.
        num_classes: number of logits; 1 for regression.
        tokenizer: a `Tokenizer` or its JSON.
        config: what the checkpoint said, with the names of a Hugging Face
            config.
        dropout: rate before the last layer.
        initializer_range: standard deviation of the last layer's initial
            weights, N(0, initializer_range^2).
        **kwargs: those of `keras_hub.models.Task`.
    """

    backbone_cls = BertBackbone

    def __init__(
        self,
        backbone,
        num_classes,
        tokenizer=None,
        config=None,
        dropout=0.1,
        initializer_range=0.02,
        preprocessor=None,
        compile=False,
        **kwargs,
    ):
        self.backbone = backbone
        self.preprocessor = preprocessor
        self.output_dropout = keras.layers.Dropout(
            dropout, dtype=backbone.dtype_policy, name="classifier_dropout"
        )
        self.output_dense = keras.layers.Dense(
            num_classes,
            kernel_initializer=keras.initializers.RandomNormal(
                stddev=initializer_range
            ),
            dtype=backbone.dtype_policy,
            name="logits",
        )
        pooled = backbone(backbone.input)["pooled_output"]
        # Past the class that would build its own head.
        super(keras_hub.models.BertTextClassifier, self).__init__(
            inputs=backbone.input,
            outputs=self.output_dense(self.output_dropout(pooled)),
            compile=compile,
            **kwargs,
        )
        self._set_tokenizer(tokenizer, config)
        self.num_classes = num_classes
        self.activation = keras.activations.get(None)
        self.dropout = dropout
        self.initializer_range = initializer_range

    def get_config(self):
        # Not the base class's: it has an activation, and this one has none.
        return WithTokenizer.get_config(self) | {
            "num_classes": self.num_classes,
            "dropout": self.dropout,
            "initializer_range": self.initializer_range,
        }


def load_text_classifier(
    preset: str | os.PathLike,
    num_classes: int,
    dropout: float | None = None,
) -> BertTextClassifier:
    """Load a BERT encoder and its tokenizer under a new classification head.

    The head is a dropout and a dense layer on the pooled first token, with
    weights from N(0, `initializer_range`^2), 0.02 in most configs, and biases
    0; `keras.utils.set_random_seed` makes them reproducible. A pooler is read
    where the checkpoint has one; where it has none (a masked LM), its weights
    are new as well, from the same normal distribution cut off at two standard
    deviations, and a log message says so.

    Args:
        preset: `"hf://owner/name"`, `"kaggle://..."`, a keras-hub name, or a
            local directory in Hugging Face or keras-hub layout.
        num_classes: number of logits; 1 for regression.
        dropout: rate in the encoder and in the head; by default what the
            config says (`hidden_dropout_prob`, `attention_probs_dropout_prob`
            and `classifier_dropout`).

    Returns:
        The model, not compiled.

    Raises:
        FileNotFoundError: if the preset, its weights or its tokenizer are not
            there.
        TypeError: if `num_classes` is no integer.
        ValueError: if `num_classes` or `dropout` is out of range, or the
            checkpoint is damaged or its parts do not belong together.
        ImportError: if an optional library is missing.

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

    Source: Devlin et al. 2019, https://arxiv.org/abs/1810.04805.
    """
    if isinstance(num_classes, bool) or not isinstance(num_classes, int):
        raise TypeError(
            f"`num_classes` must be an integer. Received: {num_classes!r}"
        )
    if num_classes < 1:
        raise ValueError(
            "`num_classes` must be at least 1. Received: "
            f"num_classes={num_classes}"
        )
    if dropout is not None and not 0 <= dropout < 1:
        raise ValueError(
            f"`dropout` must be in [0, 1). Received: dropout={dropout}"
        )
    directory = presets.find(preset)
    if presets.layout(directory) == "keras_hub":
        from keras_mmel.text.bert import keras_hub_layout

        return keras_hub_layout.text_classifier(directory, num_classes, dropout)
    config = presets.read_config(directory)
    checkpoint = Checkpoint(directory)
    tokenizer = Tokenizer.from_directory(directory)
    rates = _dropouts(config, dropout)
    backbone = huggingface.backbone(config | rates)
    check_vocabulary(tokenizer, backbone.vocabulary_size, directory)
    if not huggingface.load_encoder(backbone, checkpoint):
        _tell_of_new_pooler(str(directory))
    return BertTextClassifier(
        backbone,
        num_classes,
        tokenizer=tokenizer,
        config=config,
        dropout=rates["classifier_dropout"],
        initializer_range=backbone.initializer_range,
    )


@functools.cache
def _tell_of_new_pooler(directory):
    # Once in a process: a student of another seed is loaded anew.
    _LOGGER.warning(
        "%s has no pooler: its weights are new, as those of the head",
        directory,
    )


def _dropouts(config, dropout):
    hidden = config.get("hidden_dropout_prob", 0.1)
    attention = config.get("attention_probs_dropout_prob", 0.1)
    last = config.get("classifier_dropout")
    if dropout is not None:
        hidden = attention = last = dropout
    return {
        "hidden_dropout_prob": hidden,
        "attention_probs_dropout_prob": attention,
        "classifier_dropout": hidden if last is None else last,
    }
