"""The files of augmented examples: made once, read by anything."""

import importlib

from keras_mmel.text.files.augmented_writer import write_augmented
from keras_mmel.text.files.directory import Manifest
from keras_mmel.text.files.directory import read_manifest
from keras_mmel.text.files.reader import check_shards
from keras_mmel.text.files.reader import read_records
from keras_mmel.text.files.reader import shard_paths
from keras_mmel.text.files.records import Example
from keras_mmel.text.files.records import First
from keras_mmel.text.files.records import Record
from keras_mmel.text.files.records import Source
from keras_mmel.text.files.records import View
from keras_mmel.text.files.rewriting import rewrite
from keras_mmel.text.files.writer import Written
from keras_mmel.text.files.writer import write_records

__all__ = [
    "Example",
    "First",
    "Manifest",
    "Record",
    "Source",
    "TableSource",
    "TfdsSource",
    "View",
    "Written",
    "check_shards",
    "from_csv",
    "from_jsonl",
    "from_tfds",
    "read_manifest",
    "read_records",
    "rewrite",
    "shard_paths",
    "write_augmented",
    "write_records",
]

# Where examples come from is a room of its own; these are its public names.
_SOURCES = ("TableSource", "TfdsSource", "from_csv", "from_jsonl", "from_tfds")


def __getattr__(name):
    if name in _SOURCES:
        sources = importlib.import_module("keras_mmel.text.sources")
        return getattr(sources, name)
    raise AttributeError(
        f"module 'keras_mmel.text.files' has no attribute {name!r}"
    )
