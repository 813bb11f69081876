"""Augmented text that other tools wrote, checked and read as groups."""

from keras_mmel.text.files.importers.after_originals import AfterOriginals
from keras_mmel.text.files.importers.group_file import GroupFile
from keras_mmel.text.files.importers.groups import Group
from keras_mmel.text.files.importers.long_form import LongForm
from keras_mmel.text.files.importers.problems import BadFile
from keras_mmel.text.files.importers.records import JsonLinesFile
from keras_mmel.text.files.importers.records import TableFile
from keras_mmel.text.files.importers.records import open_table
from keras_mmel.text.files.importers.tinybert import from_tinybert
from keras_mmel.text.files.importers.wide_form import WideForm
from keras_mmel.text.files.importers.writing import write_imported

__all__ = [
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
