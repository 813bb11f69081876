"""TFDS's own description of a directory, so that TFDS reads it by itself."""

import pathlib
import tempfile

from keras_mmel.text import extras
from keras_mmel.text.files import atomic
from keras_mmel.text.files import shards
from keras_mmel.text.files.ids import IdHashes
from keras_mmel.text.files.manifest import DATASET_INFO
from keras_mmel.text.files.manifest import Manifest
from keras_mmel.text.files.schema import example_id
from keras_mmel.text.files.schema import features

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
