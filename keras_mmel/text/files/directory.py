"""A directory of augmented examples: its manifest, and TFDS's files beside."""

import dataclasses
import json
import os
import pathlib
import tempfile
from importlib.metadata import version

import keras

from keras_mmel import counts
from keras_mmel import extras
from keras_mmel.text.files import shards
from keras_mmel.text.files.format import features
from keras_mmel.whole_files import is_left_over

MANIFEST = "augmented.json"
"""Name of the file beside the shards."""

DATASET_INFO = "dataset_info.json"
"""TFDS's own description; written last, so it marks a finished directory."""

_OF_TFDS = {DATASET_INFO, "features.json", "label.labels.txt"}

# Of manifest and records; it rises with any change of their layout.
_FORMAT = 2


@dataclasses.dataclass(frozen=True)
class Manifest:
    """What the files of a directory are and how they were made.

    Attributes:
        split: Name of the split, as TFDS will call it.
        num_examples: Number of examples.
        num_shards: Number of shard files.
        num_texts: Texts of an example, 1 or 2.
        label_kind: "class", "value" or `None`.
        label_names: Names of the classes, or `None`.
        made: Plain values: by what, of what, with which settings. Runs that
            differ in it never share a directory.
        software: Version of this package that began the directory.
    """

    split: str
    num_examples: int
    num_shards: int
    num_texts: int
    label_kind: str | None
    label_names: tuple[str, ...] | None
    made: dict
    software: dict = dataclasses.field(
        default_factory=lambda: {"keras_mmel": version("keras-mmel")}
    )

    def __post_init__(self):
        if not self.split.isidentifier():
            raise ValueError(
                "`split` must be a name of letters, digits and underscores. "
                f"Received: split={self.split!r}"
            )
        if not 1 <= self.num_shards <= self.num_examples:
            raise ValueError(
                "`num_shards` must be from 1 to the number of examples, "
                f"{self.num_examples}. Received: num_shards={self.num_shards}"
            )

    def shards(self, part: tuple[int, int] | None = None) -> dict[str, range]:
        """Gives the shard files: their names and the numbers of their examples.

        TFDS expects names of this form. Lengths differ by one at most.

        Args:
            part: `(i, n)` for the i-th of n parts of them alone.

        Raises:
            ValueError: If `part` is no part of several.
        """
        numbers, count = range(self.num_examples), self.num_shards
        indices = range(count)
        if part is not None:
            share = counts.check_share("shard", part, count, "shards")
            indices = indices[counts.share_of(count, *share)]
        return {
            f"augmented-{self.split}.tfrecord-{index:05d}-of-{count:05d}": (
                numbers[counts.share_of(self.num_examples, index, count)]
            )
            for index in indices
        }

    def missing(self, directory: pathlib.Path) -> tuple[str, ...]:
        """Finds the names of the shards that are not in a directory yet."""
        present = set(shards.names_in(directory))
        return tuple(name for name in self.shards() if name not in present)

    def to_json(self) -> str:
        """Gives the manifest as the text of its file, always the same."""
        fields = {"format": _FORMAT} | dataclasses.asdict(self)
        text = json.dumps(fields, indent=2, sort_keys=True, ensure_ascii=False)
        return text + "\n"


def read_manifest(directory: str | os.PathLike) -> Manifest:
    """Reads how a directory of augmented examples was made.

    Args:
        directory: A directory that `write_augmented` wrote.

    Returns:
        Its manifest.

    Raises:
        FileNotFoundError: If there is none.
        ValueError: If the manifest is damaged, or the files are of another
            format than this version of the package writes.
    """
    path = shards.as_path(directory) / MANIFEST
    if not path.is_file():
        raise FileNotFoundError(
            "`directory` must hold augmented examples. Received: "
            f"directory={str(directory)!r}, which has no {MANIFEST!r}"
        )
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        file_format = fields.pop("format")
        if file_format == _FORMAT:
            if fields["label_names"] is not None:
                fields["label_names"] = tuple(fields["label_names"])
            return Manifest(**fields)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(
            f"The file {MANIFEST!r} is damaged. Delete it and run the command "
            "that made it again: it keeps the shards that are whole. "
            f"Received: {str(path)!r}: {type(error).__name__}: {error}"
        ) from error
    raise ValueError(
        f"`directory` must hold files of format {_FORMAT}, that of this "
        f"version. Received: {str(directory)!r}, of format {file_format!r}"
    )


def begin(directory: pathlib.Path, manifest: Manifest) -> None:
    """Makes a directory that of this manifest, or sees that it is already.

    Args:
        directory: The directory; made where it is not there, taken over from
            a run that has not finished a shard.
        manifest: Of the run that is about to write.

    Raises:
        ValueError: If there are shards of a run with other settings, which are
            named, or something else is there.
    """
    directory.mkdir(parents=True, exist_ok=True)
    names = [n for n in shards.names_in(directory) if not is_left_over(n)]
    if MANIFEST in names and names != [MANIFEST]:
        there = _settings(read_manifest(directory))
        now = _settings(manifest)
        only_there, only_now = sorted(there - now), sorted(now - there)
        if only_there or only_now:
            raise ValueError(
                "`directory` must be new, or that of a run with the same "
                "settings; name another one, or delete it to begin anew. "
                f"Received: {str(directory)!r}, which has "
                f"{', '.join(only_there)[:300] or 'nothing'} in place of "
                f"{', '.join(only_now)[:300] or 'nothing'}"
            )
        return
    # A manifest alone is that of a run that has not finished a shard. Shards
    # without one, whoever writes has looked at.
    own = {MANIFEST, *_OF_TFDS, *manifest.shards()}
    # `load_table` may keep its tables beside the shards.
    own.update(name for name in names if name.startswith("table-"))
    if others := sorted(set(names) - own):
        raise ValueError(
            "`directory` must be empty, or that of a run with the same "
            f"settings. Received: {str(directory)!r}, with {others[0]!r}"
        )
    shards.write_text(directory / MANIFEST, manifest.to_json())


def finish(directory: pathlib.Path, manifest: Manifest) -> tuple[str, ...]:
    """Describes a directory for TFDS, once all of its shards are there.

    What is there and is damaged is written anew. Several processes may do so at
    the same time: they write the same.

    Args:
        directory: Of the shards.
        manifest: Its manifest.

    Returns:
        Names of the shards that are not there yet: none where it is finished.
    """
    if missing := manifest.missing(directory):
        return missing
    texts = _tfds_files(directory, manifest)
    # What marks a finished directory comes last.
    for name in sorted(texts, key=lambda name: name == DATASET_INFO):
        path = directory / name
        if not path.exists() or path.read_bytes() != texts[name].encode():
            shards.write_text(path, texts[name])
    for name in filter(is_left_over, shards.names_in(directory)):
        (directory / name).unlink(missing_ok=True)
    return ()


def _tfds_files(directory, manifest):
    """Makes the names and texts of TFDS's own files."""
    tfds = extras.need("tensorflow_datasets", "datasets")
    # TFDS needs it to write and does not ask for it when it is installed.
    extras.need("importlib_resources", "datasets")
    names = manifest.shards()
    num_bytes = sum(shards.size_of(directory / name) for name in names)
    split = tfds.core.SplitInfo(
        name=manifest.split,
        shard_lengths=list(map(len, names.values())),
        num_bytes=num_bytes - shards.FRAME_BYTES * manifest.num_examples,
        filename_template=None,
    )
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in names:  # TFDS goes by the names of the shards alone
            (folder / name).touch()
        tfds.folder_dataset.write_metadata(
            data_dir=folder,
            features=features(manifest.label_kind, manifest.label_names),
            split_infos=[split],
            check_data=False,
            description="Examples with augmented views, made by keras_mmel.",
        )
        return {
            path.name: path.read_text("utf-8")
            for path in folder.iterdir()
            if path.name not in names
        }


def _settings(manifest):
    """Gives every plain value behind its name: "made.augmenter.seed=0"."""
    fields = json.loads(manifest.to_json())
    return {
        f"{'.'.join(map(str, path))}={value!r}"
        for path, value in keras.tree.flatten_with_path(fields)
    }
