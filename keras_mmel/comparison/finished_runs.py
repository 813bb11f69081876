"""Records of finished runs: a JSON file each, found again by its settings."""

import json
import os
import pathlib
import re
from collections.abc import Mapping
from typing import Any

from keras_mmel import whole_files


def record_path(
    folder: str | os.PathLike, settings: Mapping[str, Any]
) -> pathlib.Path:
    """The file of a run.

    Args:
        folder: Of one comparison.
        settings: Of the run, with its method and its seed.

    Returns:
        The path, with dashes for signs that a file name may not have.
    """
    name = f"{settings['method']}-{settings['seed']}.json"
    return pathlib.Path(folder) / re.sub(r"[^\w.]+", "-", name)


def read_record(
    path: pathlib.Path, settings: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Reads the record of a run.

    Args:
        path: From `record_path`.
        settings: What the run would be trained with, from `plain_settings`.

    Returns:
        The record, or None where the run is not finished.

    Raises:
        ValueError: If the file is of other settings.
    """
    if not path.exists():
        return None
    record = json.loads(path.read_text())
    of_file = record["settings"]
    different = {
        name: (of_file.get(name), value)
        for name, value in settings.items()
        if of_file.get(name) != value
    }
    if different:
        raise ValueError(
            f"{path} is of another comparison; give `records` a new folder. "
            f"Received, in the file and now: {different}"
        )
    return record


def write_record(path: pathlib.Path, record: Mapping[str, Any]) -> None:
    """Writes the record of a finished run, whole or not at all.

    Args:
        path: From `record_path`.
        record: With the settings that `read_record` compares.
    """
    with whole_files.replacing(path) as half:
        half.write_text(json.dumps(record, indent=1) + "\n")


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as a file has them, to be compared with those of a file.

    Args:
        settings: May hold objects, which become their `text_of`.

    Returns:
        Nested dicts and lists of strings and numbers.
    """
    text = json.dumps(settings, default=text_of)
    return json.loads(text, object_hook=_without_number)


def text_of(value: Any) -> str:
    """`repr` without an address, which differs from process to process."""
    return repr(value).split(" at 0x")[0]


def _without_number(config):
    # Keras numbers the names of optimizers, also of one inside another.
    return config | {"name": None} if "name" in config else config
