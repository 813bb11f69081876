"""Augmented text that other tools wrote, checked and read as groups."""

from keras_mmel.text.sources.after_originals import AfterOriginals
from keras_mmel.text.sources.group_file import GroupFile
from keras_mmel.text.sources.groups import Group
from keras_mmel.text.sources.imported import write_imported
from keras_mmel.text.sources.long_form import LongForm
from keras_mmel.text.sources.problems import BadFile
from keras_mmel.text.sources.rows import JsonLinesFile
from keras_mmel.text.sources.rows import TableFile
from keras_mmel.text.sources.rows import open_table
from keras_mmel.text.sources.tables import TableSource
from keras_mmel.text.sources.tables import from_csv
from keras_mmel.text.sources.tables import from_jsonl
from keras_mmel.text.sources.tfds import TfdsSource
from keras_mmel.text.sources.tfds import from_tfds
from keras_mmel.text.sources.tinybert import from_tinybert
from keras_mmel.text.sources.wide_form import WideForm

__all__ = [
    "TableSource",
    "TfdsSource",
    "from_csv",
    "from_jsonl",
    "from_tfds",
    "AfterOriginals",
    "BadFile",
    "Group",
    "GroupFile",
    "JsonLinesFile",
    "LongForm",
    "TableFile",
    "WideForm",
    "from_tinybert",
    "open_table",
    "write_imported",
]
