"""The files of augmented examples: made once, read by anything."""

from keras_mmel.text.files.augmented_writer import write_augmented
from keras_mmel.text.files.examples import Example
from keras_mmel.text.files.examples import First
from keras_mmel.text.files.examples import Source
from keras_mmel.text.files.manifest import Manifest
from keras_mmel.text.files.manifest import read_manifest
from keras_mmel.text.files.merging import merge
from keras_mmel.text.files.reader import check_shards
from keras_mmel.text.files.reader import read_records
from keras_mmel.text.files.reader import shard_paths
from keras_mmel.text.files.records import Record
from keras_mmel.text.files.records import View
from keras_mmel.text.files.rewriting import rewrite
from keras_mmel.text.files.tables import TableSource
from keras_mmel.text.files.tables import from_csv
from keras_mmel.text.files.tables import from_jsonl
from keras_mmel.text.files.tfds_source import TfdsSource
from keras_mmel.text.files.tfds_source import from_tfds
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
    "merge",
    "read_manifest",
    "read_records",
    "rewrite",
    "shard_paths",
    "write_augmented",
    "write_records",
]
