"""Text: masked-LM augmentation, its files, teacher labels and training."""

import importlib

# Makes saved text models loadable; cheap, without keras-hub.
from keras_mmel.text import registration  # noqa: F401

# Loaded on first use: each part needs only its own optional libraries, and
# `import keras_mmel.text` alone must not load keras-hub.
_PARTS = {
    "Augmented": "augmented",
    "BertMaskedLM": "masked_lm",
    "BertTextClassifier": "classifier",
    "MaskedLMAugmenter": "augmenter",
    "Tokenizer": "tokenizer",
    "export_text_classifier": "export",
    "label_augmented": "teacher_labels",
    "load_masked_lm": "masked_lm",
    "load_text_classifier": "classifier",
    "merge": "files",
    "read_augmented": "group_reader",
    "read_plain": "group_reader",
    "write_augmented": "files",
}

__all__ = sorted(_PARTS)


def __getattr__(name):
    if name in _PARTS:
        module = importlib.import_module(f"keras_mmel.text.{_PARTS[name]}")
        return getattr(module, name)
    raise AttributeError(f"module 'keras_mmel.text' has no attribute {name!r}")
