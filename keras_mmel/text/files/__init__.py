"""The files of augmented examples: made once, read by anything."""

from keras_mmel.text.files.examples import Example
from keras_mmel.text.files.examples import First
from keras_mmel.text.files.examples import Source
from keras_mmel.text.files.records import Record
from keras_mmel.text.files.records import View

__all__ = [
    "Example",
    "First",
    "Record",
    "Source",
    "View",
]
