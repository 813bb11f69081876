"""The files of augmented examples: made once, read by anything."""

# ruff: noqa: E402
from keras_mmel import extras

# Before the files that import it, for the line that says what is missing.
extras.need("tensorflow")

from keras_mmel.text.files.augmenting import write_augmented
from keras_mmel.text.files.directory import Manifest
from keras_mmel.text.files.directory import read_manifest
from keras_mmel.text.files.reader import AugmentedFiles
from keras_mmel.text.files.reader import read_records
from keras_mmel.text.files.writing import Written
from keras_mmel.text.files.writing import write_records

# Whoever writes files needs a source: those of the room below are here too.
from keras_mmel.text.sources.columns import from_columns
from keras_mmel.text.sources.plain import from_csv
from keras_mmel.text.sources.plain import from_jsonl
from keras_mmel.text.sources.plain import from_long
from keras_mmel.text.sources.records import InMemory
from keras_mmel.text.sources.records import Record
from keras_mmel.text.sources.records import Source
from keras_mmel.text.sources.records import View
from keras_mmel.text.sources.tfds import from_tfds

__all__ = [
    "AugmentedFiles",
    "InMemory",
    "Manifest",
    "Record",
    "Source",
    "View",
    "Written",
    "from_columns",
    "from_csv",
    "from_jsonl",
    "from_long",
    "from_tfds",
    "read_manifest",
    "read_records",
    "write_augmented",
    "write_records",
]
