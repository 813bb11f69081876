"""Tokenizer files of a checkpoint, read into one JSON format."""

import json
import pathlib
import re

from keras_mmel import extras
from keras_mmel.text.bert import presets

# Of padding, the unknown, the start, the separator and the mask.
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

# Of `tokenizer_config.json`, and what `tokenizer.json` calls them.
_OPTIONS = {
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "handle_chinese_chars",
}
# What else decides the ids, in either layout, with the value that is followed.
_ONLY = {
    "word_tokenizer_type": "basic",
    "subword_tokenizer_type": "wordpiece",
    "do_basic_tokenize": True,
    "never_split": [],
    "clean_text": True,
    "wordpieces_prefix": "##",
    "split": True,
    "suffix_indicator": "##",
    "oov_token": "[UNK]",
} | {f"{piece[1:-1].lower()}_token": piece for piece in SPECIAL}
# These cut text as BERT does; the last one is that of transformers 5 for all.
_CLASSES = re.compile(
    "(Bert|DistilBert|Electra|PreTrained)Tokenizer(Fast)?|TokenizersBackend"
)


def read(directory: pathlib.Path) -> str:
    """Reads the tokenizer of a checkpoint, in either layout.

    `tokenizer.json` comes before `vocab.txt`. `do_lower_case`, `strip_accents`
    and `tokenize_chinese_chars` of `tokenizer_config.json` come before what
    `tokenizer.json` says, as in transformers; without either they are `True`,
    `None` (as `do_lower_case`) and `True`. In keras-hub layout the vocabulary
    and `lowercase` are read, and text is cut as BERT does, not in the ways of
    `keras_hub.models.BertTokenizer` that differ from it.

    What a checkpoint says besides and is not followed here is refused: another
    class of tokenizer, other special tokens, added tokens.

    Args:
        directory: The checkpoint's directory.

    Returns:
        The tokenizer as JSON in the format of `tokenizer.json`.

    Raises:
        FileNotFoundError: If there is no tokenizer in the directory.
        ValueError: If a file cannot be read, or the checkpoint's tokenizer is
            no plain WordPiece.
    """
    state = _read_if_there(directory / "tokenizer.json")
    model = _read_if_there(directory / "config.json")
    options = {"tokenizer_class": model.get("tokenizer_class")}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        options |= _read_if_there(directory / name)
    options["added_tokens"] = _added(options, directory)
    if "model" in state:
        # The class is that of a library; the file itself is followed.
        _check(options | {"tokenizer_class": None}, directory)
        return _with_options(state, options)
    vocabulary = directory / "vocab.txt"
    # A keras-hub layout: its tokenizer.json is the config of a Keras object.
    if "class_name" in state:
        vocabulary = directory / "assets" / "tokenizer" / "vocabulary.txt"
        options = state["config"] | {
            "tokenizer_class": state["class_name"],
            "do_lower_case": state["config"].get("lowercase", False),
            # Where it is False, lower case takes the accents along, as in BERT.
            "strip_accents": state["config"].get("strip_accents") or None,
        }
    _check(options, directory)
    if not vocabulary.exists():
        raise FileNotFoundError(
            "a checkpoint must have a tokenizer: `tokenizer.json` or "
            f"`vocab.txt`. Received: {presets.contents(directory)}"
        )
    # Not splitlines: a vocabulary may have U+2028 or U+0085 as a piece.
    text = vocabulary.read_bytes().decode("utf-8")
    lines = text.removesuffix("\n").split("\n")
    # What begins a word in one, continues it in the other.
    if sum(x[:1] == "\u2581" for x in lines) > sum(
        x[:2] == "##" for x in lines
    ):
        _check({"word_tokenizer_type": "sentencepiece"}, directory)
    return from_vocabulary([line.rstrip("\r") for line in lines], options)


def _added(options, directory):
    """The added tokens of files beside the vocabulary, without special ones."""
    added = set(_read_if_there(directory / "added_tokens.json"))
    for token in (options.get("added_tokens_decoder") or {}).values():
        if not token.get("special"):
            added.add(token["content"])
    special = options.get("additional_special_tokens") or ()
    return sorted(added - {*SPECIAL, *map(_content, special)})


def _check(options, directory):
    """Refuses what a checkpoint says and is not followed; None says nothing."""
    settings = {name: _content(options.get(name)) for name in _ONLY}
    other = {n: v for n, v in settings.items() if v not in (None, _ONLY[n])}
    tokenizer_class = options.get("tokenizer_class")
    if tokenizer_class and not _CLASSES.fullmatch(tokenizer_class):
        other["tokenizer_class"] = tokenizer_class
    if added := options.get("added_tokens"):
        other["added_tokens"] = added[:5]
    if other:
        raise ValueError(
            "a checkpoint's tokenizer must be BERT's WordPiece, without added "
            "tokens but special ones (append them to the vocabulary): no other "
            f"is followed here. Received: {str(directory)!r} with {other}"
        )


def _content(token):
    """The text of a special token, which may stand with its settings."""
    return token.get("content") if isinstance(token, dict) else token


def _read_if_there(path):
    return presets.read_json(path) if path.exists() else {}


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
