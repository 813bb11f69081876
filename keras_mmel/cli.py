"""The command `keras-mmel`: `python -m keras_mmel.cli` is the same.

The installed command starts in `keras_mmel_cli`, which parses its arguments
before it loads Keras.
"""

import sys

from keras_mmel_cli import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
