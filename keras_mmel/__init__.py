"""Train Keras models on groups of views, weighted by their losses (MMEL)."""

import importlib
from typing import TYPE_CHECKING

from keras_mmel import callbacks
from keras_mmel import objectives

# Loads neither keras-hub nor TensorFlow, and makes saved text models loadable.
from keras_mmel import text
from keras_mmel.mmel_model import MMELModel
from keras_mmel.scores import evaluate_views

__version__ = "0.2.0"

if TYPE_CHECKING:  # for type checkers and the reference, which run nothing
    from keras_mmel.comparison import compare

# Loaded on first use: `data` needs TensorFlow, and the core must import on a
# JAX or torch backend where TensorFlow is not installed.
_LAZY_MODULES = ("data", "diagnostics", "models")

__all__ = [
    "MMELModel",
    "__version__",
    "callbacks",
    "compare",
    "evaluate_views",
    "objectives",
    "text",
    *_LAZY_MODULES,
]


def __getattr__(name):
    if name in _LAZY_MODULES:
        return importlib.import_module(f"keras_mmel.{name}")
    if name == "compare":
        return importlib.import_module("keras_mmel.comparison").compare
    raise AttributeError(f"module 'keras_mmel' has no attribute {name!r}")
