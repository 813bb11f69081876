"""Text: masked-LM augmentation, its files, teacher labels and training."""

# What is imported here is handed on.
# ruff: noqa: F401
import importlib
from typing import TYPE_CHECKING

from keras_mmel import extras

# Stand-ins that make saved text models loadable.
from keras_mmel.text import bert

if TYPE_CHECKING:  # for type checkers and the reference, which run nothing
    from keras_mmel.text import files
    from keras_mmel.text.augmentation.augmented import Augmented
    from keras_mmel.text.augmentation.augmenter import MaskedLMAugmenter
    from keras_mmel.text.bert.loading import load_masked_lm
    from keras_mmel.text.bert.loading import load_text_classifier
    from keras_mmel.text.bert.networks import BertMaskedLM
    from keras_mmel.text.bert.networks import BertTextClassifier
    from keras_mmel.text.bert.tokenizer import Tokenizer
    from keras_mmel.text.files.augmenting import write_augmented
    from keras_mmel.text.reading.readers import read_augmented
    from keras_mmel.text.reading.readers import read_plain
    from keras_mmel.text.reading.table_loading import load_table
    from keras_mmel.text.reading.teacher import label_augmented
    from keras_mmel.text.reading.token_table import TokenTable
    from keras_mmel.text.serving.export import export_text_classifier

# Loaded on first use: each part needs only its own optional libraries, and
# `import keras_mmel.text` alone must not load keras-hub.
_PARTS = {
    "Augmented": "augmentation.augmented",
    "BertMaskedLM": "bert.networks",
    "BertTextClassifier": "bert.networks",
    "MaskedLMAugmenter": "augmentation.augmenter",
    "TokenTable": "reading.token_table",
    "Tokenizer": "bert.tokenizer",
    "export_text_classifier": "serving.export",
    "label_augmented": "reading.teacher",
    "load_masked_lm": "bert.loading",
    "load_table": "reading.table_loading",
    "load_text_classifier": "bert.loading",
    "read_augmented": "reading.readers",
    "read_plain": "reading.readers",
    "write_augmented": "files.augmenting",
}

__all__ = [*_PARTS, "files"]


def __getattr__(name):
    if name in _PARTS:
        if not _PARTS[name].startswith("bert."):
            extras.need("tensorflow")
        module = importlib.import_module(f"keras_mmel.text.{_PARTS[name]}")
        return getattr(module, name)
    if name == "files":
        return importlib.import_module("keras_mmel.text.files")
    raise AttributeError(f"module 'keras_mmel.text' has no attribute {name!r}")
