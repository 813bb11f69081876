"""`keras-mmel label`: add a teacher's predictions to augmented files."""

import argparse

import keras

from keras_mmel.text import BertTextClassifier
from keras_mmel.text import label_augmented
from keras_mmel.text.files import read_manifest
from keras_mmel_cli.written import tell

# The options that are arguments of `label_augmented`, with its defaults.
SETTINGS = ("batch_size", "max_length", "shard")


def run(options: argparse.Namespace) -> None:
    """Label the files that the options name with their teacher."""
    read_manifest(options.directory)  # fails sooner than the teacher loads
    given = {k: v for k, v in vars(options).items() if k in SETTINGS}
    written = label_augmented(
        options.directory, load_teacher(options.teacher), options.out, **given
    )
    tell(options.out, written)


def load_teacher(path: str) -> BertTextClassifier:
    """The text classifier in a file of `model.save`."""
    teacher = keras.saving.load_model(path, compile=False)
    if not isinstance(teacher, BertTextClassifier):
        raise ValueError(
            "--teacher must be a text classifier, made by "
            "load_text_classifier and saved by model.save. "
            f"Received: {path}, which holds a {type(teacher).__name__}"
        )
    return teacher
