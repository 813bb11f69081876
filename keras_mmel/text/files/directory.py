"""The record of how a directory of augmented examples was made."""

import dataclasses
import json
import pathlib
import tempfile

import numpy as np
import tensorflow as tf

from keras_mmel import extras
from keras_mmel.text.files import atomic
from keras_mmel.text.files import shards
from keras_mmel.text.files.format import LABEL_KINDS
from keras_mmel.text.files.format import example_id
from keras_mmel.text.files.format import features
from keras_mmel.text.files.ids import IdHashes
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
        directory: written by `write_augmented` or `rewrite`.

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


_NAME = "augmented"
_VERSION = "1.0.0"


def missing_shards(directory: pathlib.Path, manifest: Manifest) -> list[str]:
    """Names of the shards that are not there yet."""
    return [
        name
        for name in manifest.shard_names()
        if not (directory / name).is_file()
    ]


def finish(directory: pathlib.Path, manifest: Manifest) -> bool:
    """Describe a directory for TFDS, once all of its shards are there.

    Every shard is read through first, so a directory that is described is
    whole.

    Args:
        directory: of the shards.
        manifest: its manifest.

    Returns:
        Whether the directory is complete now.

    Raises:
        ValueError: naming a shard, if it is damaged, or an id that occurs
            twice.
    """
    with atomic.locked_directory(directory):
        if missing_shards(directory, manifest):
            return False
        num_bytes, hashes = 0, IdHashes()
        for serialized in _read(directory, manifest):
            num_bytes += len(serialized)
            hashes.add(example_id(serialized))
        repeated = hashes.repeated(map(example_id, _read(directory, manifest)))
        if repeated:
            raise ValueError(
                "Ids of examples must differ. Received: "
                f"{repeated[0]!r} for the examples {repeated[1]} and "
                f"{repeated[2]} of {str(directory)!r}"
            )
        # The last file marks the directory as whole: none may come after it,
        # and nothing may lie there that would have to be removed later.
        for name, text in _tfds_files(manifest, num_bytes):
            atomic.write_text(directory / name, text)
    return True


def _read(directory, manifest):
    for name, numbers in zip(
        manifest.shard_names(), manifest.ranges(), strict=True
    ):
        yield from shards.read_shard(directory / name, len(numbers))


def _tfds_files(manifest, num_bytes):
    """Names and texts of TFDS's files, the one that is to come last, last."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        _write_tfds(folder, manifest, num_bytes)
        files = {
            path.name: path.read_text("utf-8") for path in folder.iterdir()
        }
    return sorted(
        files.items(), key=lambda file: (file[0] == DATASET_INFO, file)
    )


def _write_tfds(directory, manifest, num_bytes):
    tfds = extras.need("tensorflow_datasets", "datasets")
    # TFDS needs it to write and does not ask for it when it is installed.
    extras.need("importlib_resources", "datasets")
    info = tfds.core.DatasetInfo(
        builder=tfds.core.DatasetIdentity(
            name=_NAME,
            version=tfds.core.Version(_VERSION),
            data_dir=str(directory),
            module_name="",
        ),
        features=features(manifest.label_kind, manifest.label_names),
        description="Examples with augmented views, made by keras_mmel.",
    )
    info.set_file_format("tfrecord")
    split = tfds.core.SplitInfo(
        name=manifest.split,
        shard_lengths=[len(numbers) for numbers in manifest.ranges()],
        num_bytes=num_bytes,
        filename_template=tfds.core.ShardedFileTemplate(
            dataset_name=_NAME,
            data_dir=directory,
            split=manifest.split,
            filetype_suffix="tfrecord",
        ),
    )
    info.set_splits(tfds.core.SplitDict([split]))
    info.write_to_directory(directory)
