"""Tokenizer files of a checkpoint, read into one JSON format."""

import json
import pathlib

from keras_mmel import extras
from keras_mmel.text.bert.presets import read_json

# Of padding, the unknown, the start, the separator and the mask.
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

# Of `tokenizer_config.json`, and what `tokenizer.json` calls them.
_OPTIONS = {
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "handle_chinese_chars",
}


def read(directory: pathlib.Path) -> str:
    """Reads the tokenizer of a checkpoint, in either layout.

    `tokenizer.json` comes before `vocab.txt`. `do_lower_case`, `strip_accents`
    and `tokenize_chinese_chars` of `tokenizer_config.json` come before what
    `tokenizer.json` says, as in transformers; without either they are `True`,
    `None` (as `do_lower_case`) and `True`. In keras-hub layout the vocabulary
    and `lowercase` are read, and text is cut as BERT does, not in the ways of
    `keras_hub.models.BertTokenizer` that differ from it.

    Args:
        directory: The checkpoint's directory.

    Returns:
        The tokenizer as JSON in the format of `tokenizer.json`.

    Raises:
        FileNotFoundError: If there is no tokenizer in the directory.
        ValueError: If a file cannot be read.
    """
    state = _read_if_there(directory / "tokenizer.json")
    options = _read_if_there(directory / "tokenizer_config.json")
    if "model" in state:
        return _with_options(state, options)
    vocabulary = directory / "vocab.txt"
    # A keras-hub layout: its tokenizer.json is the config of a Keras object.
    if "class_name" in state:
        vocabulary = directory / "assets" / "tokenizer" / "vocabulary.txt"
        options = {"do_lower_case": state["config"].get("lowercase", False)}
    if not vocabulary.exists():
        raise FileNotFoundError(
            "a checkpoint must have a tokenizer: `tokenizer.json` or "
            f"`vocab.txt`. Received: {str(directory)!r} with "
            f"{sorted(p.name for p in directory.iterdir())}"
        )
    # Not splitlines: a vocabulary may have U+2028 or U+0085 as a piece.
    lines = vocabulary.read_bytes().decode("utf-8").split("\n")
    if not lines[-1]:
        lines.pop()
    return from_vocabulary([line.rstrip("\r") for line in lines], options)


def _read_if_there(path):
    return read_json(path) if path.exists() else {}


def _with_options(state, options):
    """`tokenizer.json` with what `tokenizer_config.json` says instead."""
    normalizer = state.get("normalizer") or {}
    if normalizer.get("type") == "BertNormalizer":
        for name, name_in_state in _OPTIONS.items():
            if name in options:
                normalizer[name_in_state] = options[name]
    return json.dumps(state)


def from_vocabulary(pieces: list[str], options: dict) -> str:
    """Makes BERT's tokenizer from a list of pieces.

    Args:
        pieces: The vocabulary, in the order of its ids.
        options: `do_lower_case`, `strip_accents`, `tokenize_chinese_chars` as
            in `tokenizer_config.json`.

    Returns:
        The tokenizer as JSON in the format of `tokenizer.json`.
    """
    tokenizers = extras.need("tokenizers", "text")
    ids = {piece: i for i, piece in enumerate(pieces)}
    tokenizer = tokenizers.BertWordPieceTokenizer(ids)
    return _with_options(json.loads(tokenizer.to_str()), options)
