"""`python -m keras_mmel_cli` is `keras-mmel`."""

import sys

from keras_mmel_cli import main

if __name__ == "__main__":
    sys.exit(main())
