"""From the names and shapes of Hugging Face's BERT to those of keras-hub."""

import keras

from keras_mmel.text.backbone import BertBackbone
from keras_mmel.text.hf_checkpoint import Checkpoint

_EMBEDDINGS = {
    "token_embedding/embeddings": "embeddings.word_embeddings.weight",
    "position_embedding/embeddings": "embeddings.position_embeddings.weight",
    "segment_embedding/embeddings": "embeddings.token_type_embeddings.weight",
}
_NORMS = {
    "self_attention_layer_norm": "attention.output.LayerNorm",
    "feedforward_layer_norm": "output.LayerNorm",
}
_DENSE = {
    "self_attention_layer/query": "attention.self.query",
    "self_attention_layer/key": "attention.self.key",
    "self_attention_layer/value": "attention.self.value",
    "self_attention_layer/attention_output": "attention.output.dense",
    "feedforward_intermediate_dense": "intermediate.dense",
    "feedforward_output_dense": "output.dense",
}
# What the encoder's sizes are called in a config, for errors about shapes.
_SIZES = (
    "vocab_size, hidden_size, num_hidden_layers, num_attention_heads, "
    "intermediate_size, max_position_embeddings and type_vocab_size"
)


def backbone(config: dict) -> BertBackbone:
    """Build the encoder that a Hugging Face config describes.

    Args:
        config: `config.json`. `hidden_act`, `layer_norm_eps`,
            `type_vocab_size`, both dropouts and `initializer_range` have the
            defaults of Hugging Face's BERT.

    Returns:
        The encoder with random weights.

    Raises:
        ValueError: if a size is missing, or the config asks for what is no
            plain BERT encoder.
    """
    sizes = {}
    for ours, theirs in {
        "vocabulary_size": "vocab_size",
        "num_layers": "num_hidden_layers",
        "num_heads": "num_attention_heads",
        "hidden_dim": "hidden_size",
        "intermediate_dim": "intermediate_size",
        "max_sequence_length": "max_position_embeddings",
    }.items():
        if theirs not in config:
            raise ValueError(
                f"config.json of a BERT must have {theirs!r}. Received: "
                f"{sorted(config)}"
            )
        sizes[ours] = config[theirs]
    refused = {
        "position_embedding_type": "absolute",
        "is_decoder": False,
        "add_cross_attention": False,
    }
    for name, only in refused.items():
        if config.get(name, only) != only:
            raise ValueError(
                f"config.json must have {name}={only!r}: other encoders are "
                f"not supported. Received: {name}={config[name]!r}"
            )
    return BertBackbone(
        **sizes,
        num_segments=config.get("type_vocab_size", 2),
        dropout=config.get("hidden_dropout_prob", 0.1),
        attention_dropout=config.get("attention_probs_dropout_prob", 0.1),
        hidden_act=config.get("hidden_act", "gelu"),
        layer_norm_eps=config.get("layer_norm_eps", 1e-12),
        initializer_range=config.get("initializer_range", 0.02),
    )


def load_encoder(model: BertBackbone, checkpoint: Checkpoint) -> bool:
    """Load embeddings, blocks and, where there is one, the pooler.

    Args:
        model: the encoder to fill.
        checkpoint: where from.

    Returns:
        Whether the checkpoint has a pooler. Where it has none, that layer
        keeps its random weights.

    Raises:
        ValueError: if a tensor is missing, has another shape, or belongs to a
            block that the encoder does not have.
    """
    variables = {variable.path: variable for variable in model.weights}
    for path, name in _EMBEDDINGS.items():
        assign(variables[path], checkpoint, name)
    load_norm(
        variables, "embeddings_layer_norm", checkpoint, "embeddings.LayerNorm"
    )
    for i in range(model.num_layers):
        ours, theirs = f"transformer_layer_{i}", f"encoder.layer.{i}"
        for path, name in _DENSE.items():
            load_dense(
                variables, f"{ours}/{path}", checkpoint, f"{theirs}.{name}"
            )
        for path, name in _NORMS.items():
            load_norm(
                variables, f"{ours}/{path}", checkpoint, f"{theirs}.{name}"
            )
    left = checkpoint.left("encoder.")
    if left:
        raise ValueError(
            "config.json must describe the whole encoder. Received: "
            f"num_hidden_layers={model.num_layers} and a checkpoint with "
            f"{left[0]!r} and {len(left) - 1} more tensors"
        )
    if "pooler.dense.weight" not in checkpoint:
        return False
    load_dense(variables, "pooled_dense", checkpoint, "pooler.dense")
    return True


def load_dense(
    variables: dict[str, keras.Variable],
    path: str,
    checkpoint: Checkpoint,
    name: str,
) -> None:
    """Load a dense layer, attention's projections included."""
    assign(variables[f"{path}/kernel"], checkpoint, f"{name}.weight", True)
    assign(variables[f"{path}/bias"], checkpoint, f"{name}.bias")


def load_norm(
    variables: dict[str, keras.Variable],
    path: str,
    checkpoint: Checkpoint,
    name: str,
) -> None:
    """Load a layer norm."""
    assign(variables[f"{path}/gamma"], checkpoint, f"{name}.weight")
    assign(variables[f"{path}/beta"], checkpoint, f"{name}.bias")


def assign(
    variable: keras.Variable,
    checkpoint: Checkpoint,
    name: str,
    transpose: bool = False,
) -> None:
    """Put a tensor of the checkpoint into a variable.

    Args:
        variable: where to. Attention's kernels and biases have an axis for
            the heads, which the checkpoint's have not.
        checkpoint: where from.
        name: of the tensor.
        transpose: for a dense layer's kernel, stored as `(out, in)`.

    Raises:
        ValueError: if the shapes do not belong together.
    """
    value = checkpoint[name]
    if transpose:
        value = value.T
    shape = tuple(variable.shape)
    if value.shape not in _accepted(shape):
        stored = value.T.shape if transpose else value.shape
        hint = (
            "the vocabulary's size does not agree: `vocab_size`"
            if "word_embeddings" in name or name.startswith("cls.")
            else f"one of {_SIZES}"
        )
        raise ValueError(
            "config.json must agree with the checkpoint's tensors. Received: "
            f"{name!r} of shape {stored}, where the config asks for {shape} "
            f"in the model ({hint})"
        )
    variable.assign(value.reshape(shape))


def _accepted(shape):
    if len(shape) != 3 and len(shape) != 2:
        return {shape}
    accepted = {shape}
    if len(shape) == 3:
        a, b, c = shape
        accepted |= {(a * b, c), (a, b * c)}
    else:
        accepted |= {(shape[0] * shape[1],)}
    return accepted
