"""`keras-mmel label`: add a teacher's predictions to augmented files."""

import argparse

from keras_mmel.text import label_augmented
from keras_mmel.text.commands.written import tell


def run(options: argparse.Namespace) -> None:
    """Label the files that the options name with their teacher."""
    written = label_augmented(
        options.directory,
        options.teacher,
        options.out,
        batch_size=options.batch_size,
    )
    tell(options.out, written)
