"""The files of augmented examples: made once, read by anything."""

import importlib

from keras_mmel.text.files.directory import Manifest
from keras_mmel.text.files.directory import read_manifest
from keras_mmel.text.files.reader import AugmentedFiles
from keras_mmel.text.files.reader import read_records
from keras_mmel.text.files.records import InMemory
from keras_mmel.text.files.records import Record
from keras_mmel.text.files.records import Source
from keras_mmel.text.files.records import View
from keras_mmel.text.files.writing import Written
from keras_mmel.text.files.writing import write_augmented
from keras_mmel.text.files.writing import write_records

# Where examples come from is a room of its own; these are its public names.
_SOURCES = ("from_csv", "from_jsonl", "from_tfds")

__all__ = [
    "AugmentedFiles",
    "InMemory",
    "Manifest",
    "Record",
    "Source",
    "View",
    "Written",
    "from_csv",
    "from_jsonl",
    "from_tfds",
    "read_manifest",
    "read_records",
    "write_augmented",
    "write_records",
]


def __getattr__(name):
    if name in _SOURCES:
        sources = importlib.import_module("keras_mmel.text.sources")
        return getattr(sources, name)
    raise AttributeError(
        f"module 'keras_mmel.text.files' has no attribute {name!r}"
    )
