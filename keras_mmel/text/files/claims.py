"""Whose a directory is: runs with other settings never share one."""

import json
import pathlib

from keras_mmel.text.files import atomic
from keras_mmel.text.files.manifest import MANIFEST
from keras_mmel.text.files.manifest import Manifest
from keras_mmel.text.files.manifest import read_manifest

_ABSENT = "nothing"


def claim(directory: pathlib.Path, manifest: Manifest) -> None:
    """Make a directory that of this manifest, or see that it is already.

    Args:
        directory: made where it is not there.
        manifest: of the run that is about to write.

    Raises:
        ValueError: if the directory belongs to a run with other settings,
            each of which is named, or holds something else.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with atomic.locked_directory(directory):
        if (directory / MANIFEST).exists():
            require_same(read_manifest(directory), manifest, directory)
            return
        others = sorted(
            entry.name
            for entry in directory.iterdir()
            # Of a run that was killed before it could write its manifest.
            if entry.name != f".{MANIFEST}.tmp"
        )
        if others:
            raise ValueError(
                "`directory` must be empty, or that of a run with the same "
                f"settings. Received: directory={str(directory)!r}, which "
                f"holds {others[0]!r}"
            )
        atomic.write_text(directory / MANIFEST, manifest.to_json())


def require_same(
    found: Manifest, expected: Manifest, directory: pathlib.Path
) -> None:
    """Raise `ValueError` naming each setting in which two runs differ."""
    lines = differences(_compared(found), _compared(expected))
    if lines:
        raise ValueError(
            "`directory` must be new, or that of a run with the same "
            f"settings. Received: directory={str(directory)!r}, which differs "
            f"in {'; '.join(lines)}"
        )


def differences(found, expected, name: str = "") -> list[str]:
    """Where two nests of plain values differ, one line each."""
    if isinstance(found, dict) and isinstance(expected, dict):
        return [
            line
            for key in sorted(found.keys() | expected.keys())
            for line in differences(
                found.get(key, _ABSENT),
                expected.get(key, _ABSENT),
                f"{name}.{key}" if name else key,
            )
        ]
    if found == expected:
        return []
    return [f"{name} ({_short(found)} there, {_short(expected)} now)"]


def _compared(manifest):
    fields = json.loads(manifest.to_json())
    del fields["software"]["tensorflow"]
    return fields


def _short(value):
    text = json.dumps(value, ensure_ascii=False) if value != _ABSENT else value
    return text if len(text) <= 60 else f"{text[:57]}..."
