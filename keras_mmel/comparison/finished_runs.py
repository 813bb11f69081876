"""Finished runs in a folder: a JSON file for each, found again by settings."""

import json
import os
import pathlib
import re
from collections.abc import Mapping
from typing import Any

from keras_mmel import whole_files


class FinishedRuns:
    """The records of the runs that are finished.

    Args:
        folder: Where the files are; None keeps nothing.
    """

    def __init__(self, folder: str | os.PathLike | None):
        self._folder = None if folder is None else pathlib.Path(folder)
        if self._folder is not None:
            # What cannot be made should fail before the first run.
            self._folder.mkdir(parents=True, exist_ok=True)

    def find(self, settings: Mapping[str, Any]) -> dict[str, Any] | None:
        """Returns the record of a run, or None where it is not finished.

        Args:
            settings: From `plain_settings`.

        Raises:
            ValueError: If its file is no record, or one of other settings.
        """
        path = self._path(settings)
        if path is None or not path.exists():
            return None
        try:
            record = json.loads(path.read_text())
            of_file = dict(record["settings"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"{path} is no record of a run. Delete it to make the run "
                "again."
            ) from error
        different = {
            name: (of_file.get(name), value)
            for name, value in settings.items()
            if of_file.get(name) != value
        }
        if different:
            raise ValueError(
                f"{path} is of another comparison; give `records` a new "
                f"folder. Received, in the file and now: {different}"
            )
        return record

    def add(self, record: Mapping[str, Any]) -> None:
        """Writes a record, whole or not at all."""
        path = self._path(record["settings"])
        if path is not None:
            with whole_files.replacing(path) as half:
                half.write_text(json.dumps(record, indent=1) + "\n")

    def _path(self, settings):
        if self._folder is None:
            return None
        name = f"{settings['method']}-{settings['seed']}.json"
        return self._folder / re.sub(r"[^\w.]+", "-", name)


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as a file has them, to be compared with those of a file.

    Args:
        settings: May hold objects, which become their `text_of`.

    Returns:
        Nested dicts and lists of strings and numbers.
    """
    return json.loads(
        json.dumps(settings, default=text_of), object_hook=_without_number
    )


def text_of(value: Any) -> str:
    """`repr` without an address, which differs from process to process."""
    return repr(value).split(" at 0x")[0]


def _without_number(config):
    # Keras numbers the names of optimizers, also of one inside another.
    return config | {"name": None} if "name" in config else config
