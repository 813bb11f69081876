"""Tensors of a checkpoint in Hugging Face layout, under one set of names."""

import contextlib
import json
import pathlib

import keras
import numpy as np

from keras_mmel import extras
from keras_mmel.text.bert.backbone import BertBackbone

_WORDS = "embeddings.word_embeddings.weight"
# The encoder's tensors are stored with or without a prefix, layer norms under
# the names of TensorFlow's first checkpoints or of PyTorch.
_RENAMED = {
    ".LayerNorm.gamma": ".LayerNorm.weight",
    ".LayerNorm.beta": ".LayerNorm.bias",
}


class Checkpoint:
    """The tensors of a BERT checkpoint, read one at a time.

    Names are those of Hugging Face's BERT without the prefix `bert.`, with
    `weight` and `bias` for `gamma` and `beta`.

    Args:
        directory: holds `model.safetensors`, or `model.safetensors.index.json`
            and the shards that it names.

    Raises:
        FileNotFoundError: if there are no weights or a shard is missing.
        ValueError: if a file is damaged or is no BERT.
    """

    def __init__(self, directory: pathlib.Path):
        self.directory = directory
        self._files = {}
        for file, stored in _files(directory).items():
            for name in stored:
                self._files[name] = file
        prefix = _prefix(self._files, directory)
        self._names = {_plain(name, prefix): name for name in self._files}
        self._read = set()

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._names:
            raise ValueError(
                f"a checkpoint must have the tensor {name!r}. Received: "
                f"{str(self.directory)!r} with {len(self._names)} tensors "
                f"without it"
            )
        stored = self._names[name]
        self._read.add(name)
        file = self._files[stored]
        with _opened(file) as tensors:
            value = tensors.get_tensor(stored)
        # safetensors gives bfloat16 as ml_dtypes' type.
        return np.asarray(value).astype(np.float32)

    @property
    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._names)

    def left(self, start: str) -> list[str]:
        """Names that begin with `start` and were not read."""
        return sorted(
            name
            for name in self._names
            if name.startswith(start) and name not in self._read
        )


def _files(directory):
    """For each file, the names of its tensors."""
    single = directory / "model.safetensors"
    index = directory / "model.safetensors.index.json"
    if single.exists():
        files = [single]
    elif index.exists():
        try:
            weight_map = json.loads(index.read_text())["weight_map"]
        except (ValueError, KeyError) as error:
            raise ValueError(
                "an index of shards must be JSON with a 'weight_map'. "
                f"Received: {str(index)!r}: {error}"
            ) from error
        files = [directory / name for name in sorted(set(weight_map.values()))]
    else:
        raise FileNotFoundError(
            "a checkpoint in Hugging Face layout must have model.safetensors "
            "or model.safetensors.index.json (no other format is read). "
            f"Received: {str(directory)!r} with "
            f"{sorted(p.name for p in directory.iterdir())}"
        )
    stored = {}
    for file in files:
        if not file.exists():
            raise FileNotFoundError(
                "every shard of a checkpoint must be there. Received: no "
                f"{file.name!r} in {str(directory)!r}"
            )
        with _opened(file) as tensors:
            stored[file] = list(tensors.keys())
    return stored


@contextlib.contextmanager
def _opened(file):
    safetensors = extras.need("safetensors", "text")
    try:
        opened = safetensors.safe_open(file, framework="numpy")
    except Exception as error:
        # The library raises its own type, which derives from Exception.
        raise ValueError(
            "a safetensors file must be whole (was the download cut off?). "
            f"Received: {str(file)!r}, {file.stat().st_size} bytes: {error}"
        ) from error
    with opened as tensors:
        yield tensors


def _prefix(names, directory):
    found = [name for name in names if name.endswith(_WORDS)]
    if len(found) != 1:
        raise ValueError(
            f"a BERT checkpoint must have one tensor {_WORDS!r}. Received: "
            f"{str(directory)!r} with {found or sorted(names)[:5]}"
        )
    return found[0].removesuffix(_WORDS)


def _plain(name, prefix):
    name = name.removeprefix(prefix)
    for old, new in _RENAMED.items():
        if name.endswith(old):
            return name.removesuffix(old) + new
    return name


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
