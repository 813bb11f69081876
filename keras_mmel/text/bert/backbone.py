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
