"""TFDS's own description of a directory, so that TFDS reads it by itself."""

import pathlib
import shutil

from keras_mmel.text import extras
from keras_mmel.text.files import shards
from keras_mmel.text.files.manifest import DATASET_INFO
from keras_mmel.text.files.manifest import Manifest
from keras_mmel.text.files.schema import features

_TEMPORARY = ".metadata.tmp"
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
        ValueError: naming a shard, if it is damaged.
    """
    with shards.locked_directory(directory):
        temporary = directory / _TEMPORARY
        # Of a run that was killed right here.
        shutil.rmtree(temporary, ignore_errors=True)
        if missing_shards(directory, manifest):
            return False
        num_bytes = sum(
            shards.check_shard(directory / name, len(numbers))
            for name, numbers in zip(
                manifest.shard_names(), manifest.ranges(), strict=True
            )
        )
        temporary.mkdir()
        try:
            _write_tfds(temporary, manifest, num_bytes)
            names = sorted(path.name for path in temporary.iterdir())
            names.sort(key=lambda name: name == DATASET_INFO)
            for name in names:
                shards.write_text(
                    directory / name,
                    (temporary / name).read_text(encoding="utf-8"),
                )
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return True


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
