"""The record of how a directory of augmented examples was made."""

import dataclasses
import json
import pathlib

import numpy as np
import tensorflow as tf

from keras_mmel.text.files import shards
from keras_mmel.text.files.schema import LABEL_KINDS
from keras_mmel.version import __version__

MANIFEST = "augmented.json"
"""Name of the file beside the shards."""

DATASET_INFO = "dataset_info.json"
"""TFDS's own description; written last, so it marks a finished directory."""

_FORMAT = 1


@dataclasses.dataclass(frozen=True)
class Manifest:
    """What the files of a directory are and how they were made.

    Attributes:
        split: name of the split, as TFDS will call it.
        num_examples: number of examples.
        num_shards: number of shard files.
        num_texts: texts of an example, 1 or 2.
        label_kind: "class", "value" or `None`.
        label_names: names of the classes, or `None`.
        made: plain values: by what, of what, with which settings. Runs that
            differ in it never share a directory.
        software: version of this package and of TensorFlow that began the
            directory. Only the former must stay the same.
    """

    split: str
    num_examples: int
    num_shards: int
    num_texts: int
    label_kind: str | None
    label_names: tuple[str, ...] | None
    made: dict
    software: dict = dataclasses.field(
        default_factory=lambda: {
            "keras_mmel": __version__,
            "tensorflow": tf.__version__,
        }
    )

    def __post_init__(self):
        _check(self)
        # As it will be read back: tuples as lists, NumPy's numbers as numbers.
        plain = json.loads(_to_json(self.made))
        object.__setattr__(self, "made", plain)

    def ranges(self) -> list[range]:
        """Numbers of the examples in each shard."""
        return shards.shard_ranges(self.num_examples, self.num_shards)

    def shard_names(self) -> list[str]:
        """Names of the shard files."""
        return [
            shards.shard_name(self.split, index, self.num_shards)
            for index in range(self.num_shards)
        ]

    def to_json(self) -> str:
        """The manifest as the text of its file, always the same."""
        return _to_json({"format": _FORMAT} | dataclasses.asdict(self))


def read_manifest(directory: str | pathlib.Path) -> Manifest:
    """How a directory of augmented examples was made.

    Args:
        directory: written by `write_augmented`, `rewrite` or `merge`.

    Returns:
        Its manifest.

    Raises:
        FileNotFoundError: if there is none.
        ValueError: if it cannot be read.
    """
    path = pathlib.Path(directory) / MANIFEST
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(
            "`directory` must hold augmented examples. "
            f"Received: directory={str(directory)!r}, which has no "
            f"{MANIFEST!r}"
        ) from None
    try:
        fields = json.loads(text)
        if fields.pop("format") != _FORMAT:
            raise ValueError("made by another version of the files")
        if fields["label_names"] is not None:
            fields["label_names"] = tuple(fields["label_names"])
        return Manifest(**fields)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(
            f"The file {MANIFEST!r} cannot be understood: {error}. "
            f"Received: {str(path)!r}"
        ) from error


def _check(manifest):
    if not manifest.split.isidentifier():
        raise ValueError(
            "`split` must be a name of letters, digits and underscores. "
            f"Received: split={manifest.split!r}"
        )
    if manifest.num_texts not in (1, 2):
        raise ValueError(
            "Examples must have one or two texts. "
            f"Received: num_texts={manifest.num_texts}"
        )
    if manifest.label_kind not in LABEL_KINDS:
        raise ValueError(
            f"`label_kind` must be one of {LABEL_KINDS}. "
            f"Received: label_kind={manifest.label_kind!r}"
        )
    if manifest.label_names and manifest.label_kind != "class":
        raise ValueError(
            "`label_names` must be left out unless the labels are classes. "
            f"Received: label_names={manifest.label_names}"
        )
    if not 1 <= manifest.num_shards <= manifest.num_examples:
        raise ValueError(
            "`num_shards` must be from 1 to the number of examples. Received: "
            f"num_shards={manifest.num_shards} for {manifest.num_examples} "
            "examples"
        )


def _to_json(values):
    return (
        json.dumps(
            values,
            indent=2,
            sort_keys=True,
            ensure_ascii=False,
            default=_plain,
        )
        + "\n"
    )


def _plain(value):
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(
        "How files are made must be told in plain values. "
        f"Received: {value!r} (of type {type(value).__name__})"
    )
