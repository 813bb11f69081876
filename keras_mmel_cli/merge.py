"""`keras-mmel merge`: join what several processes wrote."""

import argparse

from keras_mmel.text import merge
from keras_mmel_cli.written import tell


def run(options: argparse.Namespace) -> None:
    """Join the directories that the options name."""
    written = merge(options.directories, options.out)
    tell(options.out, written)
