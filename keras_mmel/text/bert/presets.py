"""Where the files of a preset are, and what its config says."""

import json
import os
import pathlib

from keras_mmel import extras

# Nothing else is read: no pickles, no optimizer states, no other frameworks.
_WANTED = ["*.json", "*.txt", "*.safetensors", "*.weights.h5"]


def find(preset: str | os.PathLike) -> pathlib.Path:
    """Finds the local directory of a preset, downloading it if need be.

    Args:
        preset: `"hf://owner/name"` (a Hugging Face repository, with
            `"@revision"` behind it if wished), `"kaggle://..."` (a Kaggle
            handle), or a local directory.

    Returns:
        The directory.

    Raises:
        FileNotFoundError: If the directory does not exist, or a repository
            cannot be downloaded.
        ImportError: If the library that downloads is not installed.
    """
    name = os.fspath(preset)
    if name.startswith("hf://"):
        return _from_hugging_face(name)
    if name.startswith("kaggle://"):
        kagglehub = extras.need("kagglehub", "text")
        handle = name.removeprefix("kaggle://")
        return pathlib.Path(kagglehub.model_download(handle))
    directory = pathlib.Path(name)
    if not directory.is_dir():
        raise FileNotFoundError(
            "`preset` must be 'hf://owner/name', for what keras-hub calls NAME "
            "'kaggle://keras/bert/keras/NAME', or a local directory that "
            f"exists. Received: preset={name!r}"
        )
    return directory


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
            "the cache of huggingface_hub, or a local directory. "
            f"Received: preset={name!r} ({type(error).__name__})"
        ) from error
    return pathlib.Path(directory)


def read_config(directory: pathlib.Path) -> dict:
    """Reads `config.json` of a BERT, whatever its layout.

    Args:
        directory: A local directory.

    Returns:
        The config; in keras-hub layout it has a `registered_name`.

    Raises:
        FileNotFoundError: If there is no `config.json`.
        ValueError: If `config.json` is damaged or not a BERT's.
    """
    path = directory / "config.json"
    if not path.exists():
        raise FileNotFoundError(
            "`preset` must be a checkpoint with a config.json. Received: "
            f"{contents(directory)}"
        )
    config = read_json(path)
    name, bert = "model_type", "bert"
    if "registered_name" in config:
        name, bert = "class_name", "BertBackbone"
    if config.get(name) != bert:
        raise ValueError(
            f"`preset` must be a BERT: {name}={bert!r} in its config.json. "
            f"Received: {str(directory)!r} with {name}={config.get(name)!r}"
        )
    return config


def contents(directory: pathlib.Path) -> str:
    """Names a directory and its files, for an error that one is missing."""
    return f"{str(directory)!r} with {sorted(os.listdir(directory))}"


def read_json(path: pathlib.Path) -> dict:
    """Reads a JSON file of a checkpoint.

    Args:
        path: The file.

    Returns:
        What it holds.

    Raises:
        ValueError: If the file is damaged.
    """
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise ValueError(
            "a checkpoint's JSON files must be readable objects. Received: "
            f"{str(path)!r}: {error}"
        ) from error
