"""The BERT encoder with what a checkpoint's config says about it."""

from collections.abc import Callable
from typing import Any

import keras

from keras_mmel import extras

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
class EncoderBlock(keras_hub.layers.TransformerEncoder):
    """`keras_hub.layers.TransformerEncoder` with a dropout for attention.

    Args:
        attention_dropout: Rate on the attention probabilities.
        dropout: Rate on the outputs of the two parts.
        **kwargs: Those of `keras_hub.layers.TransformerEncoder`.
    """

    def __init__(self, *, attention_dropout, dropout, **kwargs):
        # The base class gives one rate to its three dropouts, and a dropout
        # that was made with rate 0 has no random state.
        super().__init__(dropout=max(dropout, attention_dropout), **kwargs)
        self.attention_dropout = attention_dropout
        self.hidden_dropout = dropout

    def build(self, inputs_shape):
        super().build(inputs_shape)
        attention = set(self._self_attention_layer._flatten_layers())
        for layer in self._flatten_layers():
            if isinstance(layer, keras.layers.Dropout):
                layer.rate = self.hidden_dropout
                if layer in attention:
                    layer.rate = self.attention_dropout

    def get_config(self):
        return super().get_config() | {
            "attention_dropout": self.attention_dropout,
            "dropout": self.hidden_dropout,
        }


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
        initializer_range: Standard deviation of the initial weights.
        dtype: Dtype or policy.
        **kwargs: Those of `keras.Model`.

    Raises:
        ValueError: If `hidden_act` is not known.
    """

    def __init__(
        self,
        vocabulary_size,
        num_layers,
        num_heads,
        hidden_dim,
        intermediate_dim,
        dropout=0.1,
        attention_dropout=None,
        max_sequence_length=512,
        num_segments=2,
        hidden_act="gelu",
        layer_norm_eps=1e-12,
        initializer_range=0.02,
        dtype=None,
        **kwargs,
    ):
        if attention_dropout is None:
            attention_dropout = dropout
        # What follows makes the layers by these, and a config holds them.
        self.vocabulary_size = vocabulary_size
        self.num_layers = num_layers
        self.num_heads = num_heads
        self.hidden_dim = hidden_dim
        self.intermediate_dim = intermediate_dim
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.max_sequence_length = max_sequence_length
        self.num_segments = num_segments
        self.cls_token_index = 0  # as keras-hub's has it
        self.hidden_act = hidden_act
        self.layer_norm_eps = layer_norm_eps
        self.initializer_range = initializer_range
        self._make_embeddings(dtype)
        self._make_blocks(dtype)
        inputs, outputs = self._connect()
        # Past the class that would build its own layers.
        super(keras_hub.models.BertBackbone, self).__init__(
            inputs=inputs, outputs=outputs, dtype=dtype, **kwargs
        )

    def _initializer(self):
        return keras.initializers.TruncatedNormal(stddev=self.initializer_range)

    def _make_embeddings(self, dtype):
        self.token_embedding = keras.layers.ReversibleEmbedding(
            self.vocabulary_size,
            self.hidden_dim,
            embeddings_initializer=self._initializer(),
            dtype=dtype,
            name="token_embedding",
        )
        self.position_embedding = keras_hub.layers.PositionEmbedding(
            self.max_sequence_length,
            initializer=self._initializer(),
            dtype=dtype,
            name="position_embedding",
        )
        self.segment_embedding = keras.layers.Embedding(
            self.num_segments,
            self.hidden_dim,
            embeddings_initializer=self._initializer(),
            dtype=dtype,
            name="segment_embedding",
        )
        self.embeddings_add = keras.layers.Add(
            dtype=dtype, name="embeddings_add"
        )
        self.embeddings_layer_norm = keras.layers.LayerNormalization(
            epsilon=self.layer_norm_eps,
            dtype=dtype,
            name="embeddings_layer_norm",
        )
        self.embeddings_dropout = keras.layers.Dropout(
            self.dropout, dtype=dtype, name="embeddings_dropout"
        )

    def _make_blocks(self, dtype):
        """The transformer layers and, behind them, the pooler."""
        self.transformer_layers = [
            EncoderBlock(
                intermediate_dim=self.intermediate_dim,
                num_heads=self.num_heads,
                dropout=self.dropout,
                attention_dropout=self.attention_dropout,
                activation=activation(self.hidden_act),
                layer_norm_epsilon=self.layer_norm_eps,
                kernel_initializer=self._initializer(),
                dtype=dtype,
                name=f"transformer_layer_{i}",
            )
            for i in range(self.num_layers)
        ]
        self.pooled_dense = keras.layers.Dense(
            self.hidden_dim,
            activation="tanh",
            kernel_initializer=self._initializer(),
            dtype=dtype,
            name="pooled_dense",
        )

    def _connect(self):
        """The symbolic inputs and outputs of the network."""
        inputs = {
            name: keras.Input((None,), dtype="int32", name=name)
            for name in ("token_ids", "segment_ids", "padding_mask")
        }
        tokens = self.token_embedding(inputs["token_ids"])
        positions = self.position_embedding(tokens)
        segments = self.segment_embedding(inputs["segment_ids"])
        x = self.embeddings_add((tokens, positions, segments))
        x = self.embeddings_dropout(self.embeddings_layer_norm(x))
        for block in self.transformer_layers:
            x = block(x, padding_mask=inputs["padding_mask"])
        outputs = {
            "sequence_output": x,
            "pooled_output": self.pooled_dense(x[:, 0, :]),
        }
        return inputs, outputs

    def get_config(self):
        return super().get_config() | {
            "attention_dropout": self.attention_dropout,
            "hidden_act": self.hidden_act,
            "layer_norm_eps": self.layer_norm_eps,
            "initializer_range": self.initializer_range,
        }
