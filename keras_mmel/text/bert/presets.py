"""Where the files of a preset are: a local directory and its layout."""

import json
import os
import pathlib

from keras_mmel import extras

# Nothing else is read: no pickles, no optimizer states, no other frameworks.
_WANTED = [
    "*.json",
    "*.txt",
    "*.safetensors",
    "*.weights.h5",
    "assets/tokenizer/*",
]


def find(preset: str | os.PathLike) -> pathlib.Path:
    """Return the local directory of a preset, downloading it if need be.

    Args:
        preset: `"hf://owner/name"` (a Hugging Face repository, with
            `"@revision"` behind it if wished), `"kaggle://..."` (a Kaggle
            handle), the name of a keras-hub preset such as
            `"bert_tiny_en_uncased"`, or a local directory.

    Returns:
        The directory.

    Raises:
        FileNotFoundError: if the directory does not exist, and no keras-hub
            preset has that name, or a repository cannot be downloaded.
        TypeError: if `preset` is neither a string nor a path.
        ImportError: if the library that downloads is not installed.

    Example:

    ```python
    from keras_mmel.text import presets

    directory = presets.find("bert_tiny_en_uncased")
    ```
    """
    if not isinstance(preset, str | os.PathLike):
        raise TypeError(
            f"`preset` must be a string or a path. Received: preset={preset!r}"
        )
    name = os.fspath(preset)
    if name.startswith("hf://"):
        return _from_hugging_face(name)
    if name.startswith("kaggle://"):
        return _from_kaggle(name)
    directory = pathlib.Path(name)
    if directory.is_dir():
        return directory
    keras_hub = extras.need("keras_hub", "text")
    known = keras_hub.models.BertBackbone.presets
    if name in known:
        return _from_kaggle(known[name]["kaggle_handle"])
    raise FileNotFoundError(
        "`preset` must be 'hf://owner/name', 'kaggle://...', a local "
        f"directory or one of keras-hub's {sorted(known)}. Received: "
        f"preset={name!r}"
    )


def layout(directory: pathlib.Path) -> str:
    """Tell the layout of a checkpoint's directory.

    Args:
        directory: a local directory.

    Returns:
        `"huggingface"` or `"keras_hub"`.

    Raises:
        FileNotFoundError: if there is no `config.json`.
        ValueError: if `config.json` is not a BERT's.
    """
    config = read_config(directory)
    if "registered_name" in config:
        if config["class_name"] != "BertBackbone":
            raise ValueError(
                "`preset` must be a BERT: its config.json must have "
                f"class_name='BertBackbone'. Received: {str(directory)!r} "
                f"with class_name={config['class_name']!r}"
            )
        return "keras_hub"
    if config.get("model_type") != "bert":
        raise ValueError(
            "`preset` must be a BERT: its config.json must have "
            f"model_type='bert'. Received: {str(directory)!r} with "
            f"model_type={config.get('model_type')!r}"
        )
    return "huggingface"


def read_config(directory: pathlib.Path) -> dict:
    """Read `config.json` of a checkpoint, whatever its layout."""
    path = directory / "config.json"
    if not path.exists():
        raise FileNotFoundError(
            "`preset` must be a checkpoint with a config.json. Received: "
            f"{str(directory)!r} with "
            f"{sorted(p.name for p in directory.iterdir())}"
        )
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(
            f"config.json must be readable. Received: {str(path)!r}: {error}"
        ) from error


def _from_hugging_face(name):
    hub = extras.need("huggingface_hub", "text")
    repository, _, revision = name.removeprefix("hf://").partition("@")
    try:
        directory = hub.snapshot_download(
            repository, revision=revision or None, allow_patterns=_WANTED
        )
    except (OSError, ValueError) as error:
        # Its own errors say neither the argument nor what else would do.
        raise FileNotFoundError(
            "`preset` must be a repository that can be downloaded, or is in "
            "the cache of huggingface_hub; a local directory will do as well. "
            f"Received: preset={name!r} ({type(error).__name__})"
        ) from error
    return pathlib.Path(directory)


def _from_kaggle(handle):
    kagglehub = extras.need("kagglehub", "text")
    return pathlib.Path(
        kagglehub.model_download(handle.removeprefix("kaggle://"))
    )
