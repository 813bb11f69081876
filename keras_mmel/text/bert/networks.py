"""BERT as Keras models: the encoder, and two heads with their tokenizer."""

import pathlib
from collections.abc import Callable
from typing import Any

import keras

from keras_mmel import extras
from keras_mmel.text.bert.tokenizer import Tokenizer

keras_hub: Any = extras.need("keras_hub", "text")


@keras.saving.register_keras_serializable("keras_mmel")
def gelu_tanh(x):
    """GELU by its tanh approximation, `gelu_new` in Hugging Face's words."""
    return keras.activations.gelu(x, approximate=True)


_ACTIVATIONS = {
    "gelu": keras.activations.gelu,
    "gelu_python": keras.activations.gelu,
    "gelu_new": gelu_tanh,
    "gelu_fast": gelu_tanh,
    "gelu_pytorch_tanh": gelu_tanh,
    "relu": keras.activations.relu,
    "silu": keras.activations.silu,
    "swish": keras.activations.silu,
    "tanh": keras.activations.tanh,
}


def need_tensorflow(what: str) -> None:
    """Raises RuntimeError unless Keras runs on TensorFlow.

    Args:
        what: What is done with a network and needs it.
    """
    backend = keras.backend.backend()
    if backend != "tensorflow":
        raise RuntimeError(
            f"{what} needs Keras on TensorFlow (environment variable "
            f"KERAS_BACKEND=tensorflow). Received: Keras on {backend}"
        )


def activation(hidden_act: str) -> Callable:
    """Finds the Keras activation for a Hugging Face name.

    Args:
        hidden_act: Name as in a config: `"gelu"` is the exact one (by erf),
            `"gelu_new"` and `"gelu_pytorch_tanh"` the approximation by tanh.

    Returns:
        A function of a tensor.

    Raises:
        ValueError: If the name is not known.
    """
    if hidden_act not in _ACTIVATIONS:
        raise ValueError(
            f"`hidden_act` must be one of {sorted(_ACTIVATIONS)}. Received: "
            f"hidden_act={hidden_act!r}"
        )
    return _ACTIVATIONS[hidden_act]


@keras.saving.register_keras_serializable("keras_mmel")
class BertBackbone(keras_hub.models.BertBackbone):
    """A BERT encoder whose activation, epsilon and dropouts can be set.

    `keras_hub.models.BertBackbone` always computes GELU by its tanh
    approximation and has one dropout. Checkpoints in Hugging Face layout name
    their own activation (mostly the exact GELU: with the approximation logits
    of a masked LM are off by 1e-2), layer-norm epsilon and two dropouts.
    Everything else, names of layers and variables included, is the same.

    Args:
        vocabulary_size: Rows of the token embedding.
        num_layers: Number of encoder blocks.
        num_heads: Attention heads of a block.
        hidden_dim: Width.
        intermediate_dim: Width of the feed-forward part.
        dropout: Rate after the embeddings and after the parts of a block.
        attention_dropout: Rate on the attention probabilities, `dropout` by
            default.
        max_sequence_length: Rows of the position embedding.
        num_segments: Rows of the segment embedding.
        hidden_act: Activation of the feed-forward part, named as in a Hugging
            Face config.
        layer_norm_eps: Epsilon of every layer norm.
        **kwargs: `dtype`, and those of `keras.Model`.

    Raises:
        ValueError: If `hidden_act` is not known.
    """

    def __init__(
        self,
        *,
        dropout=0.1,
        attention_dropout=None,
        hidden_act="gelu",
        layer_norm_eps=1e-12,
        **kwargs,
    ):
        if attention_dropout is None:
            attention_dropout = dropout
        function = activation(hidden_act)
        # A dropout that was made with rate 0 has no random state.
        super().__init__(dropout=max(dropout, attention_dropout), **kwargs)
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.hidden_act = hidden_act
        self.layer_norm_eps = layer_norm_eps
        # The layers read their settings when they are called.
        for layer in self._flatten_layers():
            if isinstance(layer, keras.layers.LayerNormalization):
                layer.epsilon = layer_norm_eps
            elif isinstance(layer, keras.layers.Dropout):
                layer.rate = dropout
        for block in self.transformer_layers:
            for layer in block._self_attention_layer._flatten_layers():
                if isinstance(layer, keras.layers.Dropout):
                    layer.rate = attention_dropout
            block._feedforward_intermediate_dense.activation = function

    def get_config(self):
        return super().get_config() | {
            "attention_dropout": self.attention_dropout,
            "hidden_act": self.hidden_act,
            "layer_norm_eps": self.layer_norm_eps,
        }


class WithTokenizer:
    """Gives a `keras_hub.models.Task` a tokenizer.

    It is part of the model's own config, so that it is in its `.keras` file.
    Nothing is preprocessed: the model takes token ids.
    """

    # The arguments of the model that its config has, by name.
    _settings: tuple[str, ...] = ()

    def _set_up(self, inputs, outputs, tokenizer, **kwargs):
        """Past the class of keras-hub, which would build its own head."""
        keras_hub.models.Task.__init__(
            self, inputs=inputs, outputs=outputs, compile=False, **kwargs
        )
        # From a `.keras` file it comes as the JSON that `get_config` wrote.
        if isinstance(tokenizer, str):
            tokenizer = Tokenizer.from_json(tokenizer)
        self._tokenizer = tokenizer

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The checkpoint's tokenizer."""
        return self._tokenizer

    def fit(self, *args, **kwargs):
        """Trains as `keras.Model.fit` does, arrays in shuffled order.

        `keras_hub.models.Task.fit` makes a data set of arrays first, to
        preprocess strings, and so loses `shuffle`.

        Args:
            *args: Those of `keras.Model.fit`.
            **kwargs: Those of `keras.Model.fit`.

        Returns:
            The `keras.callbacks.History`.
        """
        return keras.Model.fit(self, *args, **kwargs)

    def get_config(self):
        tokenizer = self._tokenizer
        own = {name: getattr(self, name) for name in self._settings}
        return {
            "backbone": keras.layers.serialize(self.backbone),
            "name": self.name,
            "tokenizer": None if tokenizer is None else tokenizer.to_json(),
        } | own

    def save_to_preset(self, preset_dir, max_shard_size=10):
        """Saves in keras-hub layout, with the tokenizer beside it.

        Args:
            preset_dir: Directory to write into.
            max_shard_size: Largest file of weights, in gigabytes.
        """
        super().save_to_preset(preset_dir, max_shard_size=max_shard_size)
        if self._tokenizer is not None:
            path = pathlib.Path(preset_dir) / "tokenizer.json"
            path.write_text(self._tokenizer.to_json(), encoding="utf-8")


@keras.saving.register_keras_serializable("keras_mmel")
class BertMaskedLM(WithTokenizer, keras_hub.models.BertMaskedLM):
    """A `keras_hub.models.BertMaskedLM` with its tokenizer.

    Called with `{"token_ids", "segment_ids", "padding_mask",
    "mask_positions"}`, each `(batch, length)` integers and the last one
    `(batch, masks)`, it returns logits `(batch, masks, vocabulary)`. It saves
    to a `.keras` file that holds the tokenizer.

    Args:
        backbone: The encoder.
        tokenizer: A `Tokenizer` or its JSON.
        tied: Whether the words' embeddings are the decoder's matrix.
        head_act: Activation of the head, named as in a Hugging Face config.
        head_eps: Epsilon of the head's layer norm.
        **kwargs: Those of `keras_hub.models.Task`.
    """

    backbone_cls = BertBackbone
    _settings = ("tied", "head_act", "head_eps")

    def __init__(
        self,
        backbone,
        tokenizer=None,
        tied=True,
        head_act="gelu",
        head_eps=1e-12,
        **kwargs,
    ):
        self.backbone = backbone
        self.masked_lm_head = keras_hub.layers.MaskedLMHead(
            vocabulary_size=backbone.vocabulary_size,
            token_embedding=backbone.token_embedding if tied else None,
            intermediate_activation=activation(head_act),
            layer_norm_epsilon=head_eps,
            kernel_initializer=keras.initializers.TruncatedNormal(stddev=0.02),
            dtype=backbone.dtype_policy,
            name="mlm_head",
        )
        positions = keras.Input((None,), dtype="int32", name="mask_positions")
        sequence = backbone(backbone.input)["sequence_output"]
        outputs = self.masked_lm_head(sequence, positions)
        inputs = {**backbone.input, "mask_positions": positions}
        self._set_up(inputs, outputs, tokenizer, **kwargs)
        self.tied = tied
        self.head_act = head_act
        self.head_eps = head_eps


@keras.saving.register_keras_serializable("keras_mmel")
class BertTextClassifier(WithTokenizer, keras_hub.models.BertTextClassifier):
    """A `keras_hub.models.BertTextClassifier` with its tokenizer.

    Called with `{"token_ids", "segment_ids", "padding_mask"}`, each `(batch,
    length)` integers, it returns logits `(batch, num_classes)`, or the value
    where `num_classes` is 1. It saves to a `.keras` file that holds the
    tokenizer.

    Args:
        backbone: The encoder.
        num_classes: Number of logits; 1 for regression.
        tokenizer: A `Tokenizer` or its JSON.
        dropout: Rate before the last layer.
        initializer_range: Standard deviation of the last layer's initial
            weights, N(0, initializer_range^2).
        **kwargs: Those of `keras_hub.models.Task`.
    """

    backbone_cls = BertBackbone
    _settings = ("num_classes", "dropout", "initializer_range")

    def __init__(
        self,
        backbone,
        num_classes,
        tokenizer=None,
        dropout=0.1,
        initializer_range=0.02,
        **kwargs,
    ):
        self.backbone = backbone
        self.output_dropout = keras.layers.Dropout(
            dropout, dtype=backbone.dtype_policy, name="classifier_dropout"
        )
        initializer = keras.initializers.RandomNormal(stddev=initializer_range)
        self.output_dense = keras.layers.Dense(
            num_classes,
            kernel_initializer=initializer,
            dtype=backbone.dtype_policy,
            name="logits",
        )
        pooled = backbone(backbone.input)["pooled_output"]
        outputs = self.output_dense(self.output_dropout(pooled))
        self._set_up(backbone.input, outputs, tokenizer, **kwargs)
        self.num_classes = num_classes
        # Logits: what keras-hub's own `compile` asks for.
        self.activation = keras.activations.get(None)
        self.dropout = dropout
        self.initializer_range = initializer_range
