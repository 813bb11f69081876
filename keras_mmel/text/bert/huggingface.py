"""Checkpoints in Hugging Face layout: their tensors, put into our models."""

import pathlib
import re

import keras
import numpy as np

from keras_mmel import extras
from keras_mmel.text.bert.presets import contents

Tensors = dict[str, np.ndarray]
_WORDS = "embeddings.word_embeddings.weight"
# Of a config: what ours is called, and what Hugging Face's BERT has by default.
_SIZES = {
    "vocabulary_size": "vocab_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "hidden_dim": "hidden_size",
    "intermediate_dim": "intermediate_size",
    "max_sequence_length": "max_position_embeddings",
}
_SETTINGS = {
    "num_segments": ("type_vocab_size", 2),
    "dropout": ("hidden_dropout_prob", 0.1),
    "attention_dropout": ("attention_probs_dropout_prob", 0.1),
    "hidden_act": ("hidden_act", "gelu"),
    "layer_norm_eps": ("layer_norm_eps", 1e-12),
}
_ONLY = {"position_embedding_type": "absolute", "is_decoder": False}
# Of the tensors: what a layer is called.
_LAYERS = {
    "token_embedding": "embeddings.word_embeddings",
    "position_embedding": "embeddings.position_embeddings",
    "segment_embedding": "embeddings.token_type_embeddings",
    "embeddings_layer_norm": "embeddings.LayerNorm",
    "self_attention_layer/query": "attention.self.query",
    "self_attention_layer/key": "attention.self.key",
    "self_attention_layer/value": "attention.self.value",
    "self_attention_layer/attention_output": "attention.output.dense",
    "self_attention_layer_norm": "attention.output.LayerNorm",
    "feedforward_intermediate_dense": "intermediate.dense",
    "feedforward_output_dense": "output.dense",
    "feedforward_layer_norm": "output.LayerNorm",
    "pooled_dense": "pooler.dense",
    "mlm_head": "cls.predictions.decoder",
    "mlm_head/intermediate_dense": "cls.predictions.transform.dense",
    "mlm_head/intermediate_layer_norm": "cls.predictions.transform.LayerNorm",
}


def read_tensors(directory: pathlib.Path) -> Tensors:
    """Reads the tensors of a BERT checkpoint.

    Args:
        directory: Holds `model.safetensors`.

    Returns:
        The tensors by the names of Hugging Face's BERT without the prefix
        `bert.`, with `weight` and `bias` of a layer norm for the `gamma` and
        `beta` of TensorFlow's first checkpoints.

    Raises:
        FileNotFoundError: If there are no weights.
        ValueError: If a file is damaged or is no BERT.
    """
    file = directory / "model.safetensors"
    if not file.exists():
        raise FileNotFoundError(
            "a checkpoint in Hugging Face layout must have model.safetensors, "
            "no other format: transformers writes it by "
            f"`model.save_pretrained(...)`. Received: {contents(directory)}"
        )
    stored = _read(file)
    # Of a task's checkpoint their names begin with `bert.`.
    embeddings = [name for name in stored if name.endswith(_WORDS)]
    if len(embeddings) != 1:
        raise ValueError(
            f"a BERT checkpoint must have one tensor {_WORDS!r}. Received: "
            f"{str(directory)!r} with {embeddings or sorted(stored)[:5]}"
        )
    prefix = embeddings[0].removesuffix(_WORDS)
    tensors = {}
    for name, value in stored.items():
        name = name.removeprefix(prefix)
        name = re.sub(r"\.LayerNorm\.gamma$", ".LayerNorm.weight", name)
        tensors[re.sub(r"\.LayerNorm\.beta$", ".LayerNorm.bias", name)] = value
    return tensors


def _read(file):
    library = extras.need("safetensors", "text")
    load_file = extras.need("safetensors.numpy", "text").load_file
    try:
        return load_file(file)
    except library.SafetensorError as error:
        raise ValueError(
            "a safetensors file must be whole (was the download cut off?). "
            f"Received: {str(file)!r}, {file.stat().st_size} bytes: {error}"
        ) from error


def backbone_settings(config: dict) -> dict:
    """Translates a Hugging Face config into the arguments of `BertBackbone`.

    Args:
        config: `config.json`. `hidden_act`, `layer_norm_eps`,
            `type_vocab_size` and both dropouts have the defaults of Hugging
            Face's BERT.

    Returns:
        The arguments by name.

    Raises:
        ValueError: If the config asks for what is no plain BERT encoder.
    """
    for name, only in _ONLY.items():
        if config.get(name, only) != only:
            raise ValueError(
                f"config.json must have {name}={only!r}: other encoders are "
                f"not supported. Received: {name}={config[name]!r}"
            )
    sizes = {ours: config[theirs] for ours, theirs in _SIZES.items()}
    return sizes | {
        ours: config.get(theirs, default)
        for ours, (theirs, default) in _SETTINGS.items()
    }


def load_weights(model: keras.Model, tensors: Tensors) -> bool:
    """Loads embeddings, blocks, a masked LM's head and the pooler, if any.

    Args:
        model: What to fill: an encoder, or a masked LM.
        tensors: Those of the checkpoint.

    Returns:
        Whether the checkpoint has a pooler. Where it has none, that layer
        keeps its random weights.

    Raises:
        ValueError: If a tensor is missing, has another shape, or belongs to a
            block that the encoder does not have.
    """
    # A masked LM is often stored without one.
    has_pooler = "pooler.dense.weight" in tensors
    loaded = set()
    for variable in model.weights:
        name = tensor_name(variable.path)
        if has_pooler or not name.startswith("pooler."):
            assign(variable, tensors, name)
            loaded.add(name)
    in_blocks = {name for name in tensors if name.startswith("encoder.")}
    unused = sorted(in_blocks - loaded)
    if unused:
        num_layers = getattr(model, "backbone", model).num_layers
        raise ValueError(
            f"config.json must describe the whole encoder, {unused[0]!r}, too. "
            f"Received: num_hidden_layers={num_layers}"
        )
    return has_pooler


def tensor_name(path: str) -> str:
    """Names the tensor of a variable.

    Args:
        path: `path` of the variable, in the encoder or the masked-LM head.

    Returns:
        The name, without the prefix `bert.`.

    Example:

    ```python
    from keras_mmel.text.bert.huggingface import tensor_name

    tensor_name("transformer_layer_3/feedforward_output_dense/kernel")
    # "encoder.layer.3.output.dense.weight"
    ```
    """
    layer, _, variable = path.rpartition("/")
    block = re.match(r"transformer_layer_(\d+)/", layer)
    prefix = ""
    if block:
        prefix = f"encoder.layer.{block[1]}."
        layer = layer.removeprefix(block[0])
    kind = "bias" if variable.endswith(("bias", "beta")) else "weight"
    return f"{prefix}{_LAYERS[layer]}.{kind}"


def assign(variable: keras.Variable, tensors: Tensors, name: str) -> None:
    """Puts a tensor of the checkpoint into a variable.

    Args:
        variable: Where to. Attention's kernels and biases have an axis for
            the heads, which the checkpoint's have not; kernels of dense
            layers are stored as `(out, in)`.
        tensors: Those of the checkpoint.
        name: Name of the tensor.

    Raises:
        ValueError: If the tensor is missing or the shapes do not belong
            together.
    """
    if name not in tensors:
        raise ValueError(
            f"a checkpoint must have the tensor {name!r}. Received: "
            f"{len(tensors)} tensors without it"
        )
    value = tensors[name]
    # PyTorch's linear layers hold (out, in), Keras's dense ones (in, out).
    if variable.path.endswith("kernel"):
        value = value.T
    shape = tuple(variable.shape)
    # Only attention's have another rank, and are the same numbers in a row.
    same_rank = value.ndim == len(shape)
    if value.size != np.prod(shape) or (same_rank and value.shape != shape):
        sizes = ", ".join([*_SIZES.values(), "type_vocab_size"])
        raise ValueError(
            "config.json must agree with the checkpoint's tensors. Received: "
            f"{name!r} of shape {tensors[name].shape}, where the config asks "
            f"for {shape} in the model (see its {sizes})"
        )
    # safetensors gives bfloat16 as ml_dtypes' type.
    variable.assign(value.astype(np.float32).reshape(shape))
