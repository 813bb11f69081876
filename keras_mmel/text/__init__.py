"""Text: masked-LM augmentation, its files, teacher labels and training."""

import importlib

# Makes saved text models loadable; cheap, without keras-hub.
from keras_mmel.text.bert import registration  # noqa: F401

# Loaded on first use: each part needs only its own optional libraries, and
# `import keras_mmel.text` alone must not load keras-hub.
_PARTS = {
    "Augmented": "augmentation.augmented",
    "BertMaskedLM": "bert.masked_lm",
    "BertTextClassifier": "bert.classifier",
    "MaskedLMAugmenter": "augmentation.augmenter",
    "TokenTable": "reading.token_table",
    "Tokenizer": "bert.tokenizer",
    "export_text_classifier": "serving.export",
    "label_augmented": "reading.teacher",
    "load_masked_lm": "bert.masked_lm",
    "load_table": "reading.token_table",
    "load_text_classifier": "bert.classifier",
    "read_augmented": "reading.readers",
    "read_plain": "reading.readers",
    "write_augmented": "files",
}

__all__ = sorted(_PARTS)


def __getattr__(name):
    if name in _PARTS:
        module = importlib.import_module(f"keras_mmel.text.{_PARTS[name]}")
        return getattr(module, name)
    raise AttributeError(f"module 'keras_mmel.text' has no attribute {name!r}")
