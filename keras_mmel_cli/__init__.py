"""The command `keras-mmel`.

A package of its own, because `import keras_mmel` loads Keras and its backend,
which `keras-mmel --help` and a mistyped option should not wait for.
"""

from keras_mmel_cli.program import main

__all__ = ["main"]
