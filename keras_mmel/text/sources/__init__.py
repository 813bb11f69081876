"""Text data that others wrote: read, checked, and given as a source.

A source is an `InMemory` of records, or anything like it. Whoever adds one
writes a function that returns one, as `from_long` does.
"""

from keras_mmel.text.sources.columns import from_columns
from keras_mmel.text.sources.labels import describe_labels
from keras_mmel.text.sources.plain import from_csv
from keras_mmel.text.sources.plain import from_jsonl
from keras_mmel.text.sources.plain import from_long
from keras_mmel.text.sources.tables import BadFile
from keras_mmel.text.sources.tfds import from_tfds

__all__ = [
    "BadFile",
    "describe_labels",
    "from_columns",
    "from_csv",
    "from_jsonl",
    "from_long",
    "from_tfds",
]
