"""Tensors of a checkpoint in Hugging Face layout, under one set of names."""

import contextlib
import json
import pathlib

import numpy as np

from keras_mmel.text import extras

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
