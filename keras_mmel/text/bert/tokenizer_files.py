"""Tokenizer files of a checkpoint, read into one JSON format."""

import json
import pathlib
import re
from collections.abc import Iterable

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
# What else decides the ids, with the one value that is followed.
_ONLY = {
    "word_tokenizer_type": "basic",
    "subword_tokenizer_type": "wordpiece",
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
# A tokenizer.json has its own word on these.
_ONLY_OF_LINES = _ONLY | {
    "do_basic_tokenize": True,
    "never_split": [],
    "clean_text": True,
    "wordpieces_prefix": "##",
}
_ONLY_OF_KERAS_HUB = {
    "split": True,
    "suffix_indicator": "##",
    "oov_token": "[UNK]",
}
_MORE_SPECIAL = "additional_special_tokens"
# Cut text as BERT does; the last one is that of transformers 5 for all.
_CLASSES = re.compile(
    "((Bert|DistilBert|Electra|PreTrained)Tokenizer(Fast)?|TokenizersBackend)?"
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
    check_added(_added(options, directory))
    if "model" in state:
        _check(options, _ONLY, directory)
        return _with_options(state, options)
    vocabulary = directory / "vocab.txt"
    # A keras-hub layout: its tokenizer.json is the config of a Keras object.
    if "class_name" in state:
        vocabulary = directory / "assets" / "tokenizer" / "vocabulary.txt"
        config = state["config"]
        _check(config, _ONLY_OF_KERAS_HUB, directory)
        options = {
            "tokenizer_class": state["class_name"],
            "do_lower_case": config.get("lowercase", False),
            # Where it is False, lower case takes the accents along, as in BERT.
            "strip_accents": config.get("strip_accents") or None,
        }
    _check(options, _ONLY_OF_LINES, directory)
    tokenizer_class = options.get("tokenizer_class") or ""
    if not _CLASSES.fullmatch(tokenizer_class):
        raise _other(directory, "tokenizer_class", tokenizer_class)
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
    # What begins a word in one, continues it in the other.
    if sum(x[0:1] == "\u2581" for x in lines) > sum(
        x[:2] == "##" for x in lines
    ):
        raise _other(directory, "vocab.txt", "pieces of sentencepiece")
    return from_vocabulary([line.rstrip("\r") for line in lines], options)


def check_added(tokens: Iterable[str]) -> None:
    """Raises `ValueError` for added tokens that texts may hold.

    Args:
        tokens: Those that are not special.
    """
    if added := sorted(tokens):
        raise ValueError(
            "a tokenizer must have no added tokens but special ones: what is "
            "not cut into pieces cannot be served. Put them into the "
            "vocabulary as pieces, in their places, or take a checkpoint "
            f"without them. Received: {len(added)} added tokens, {added[:5]}"
        )


def _added(options, directory):
    """The added tokens of files beside the vocabulary, without special ones."""
    added = set(_read_if_there(directory / "added_tokens.json"))
    for token in (options.get("added_tokens_decoder") or {}).values():
        if not token.get("special"):
            added.add(token["content"])
    return added - {*SPECIAL, *map(_content, options.get(_MORE_SPECIAL) or ())}


def _check(options, only, directory):
    """Refuses options that are not followed; `None` says nothing."""
    for name, value in only.items():
        said = _content(options.get(name))
        if said is not None and said != value:
            raise _other(directory, name, said)


def _content(token):
    """The text of a special token, which may stand with its settings."""
    return token.get("content") if isinstance(token, dict) else token


def _other(directory, name, said):
    return ValueError(
        "a checkpoint's tokenizer must be BERT's WordPiece, since no other is "
        "followed here (the model alone would be of no use: its ids are other "
        f"words). Received: {str(directory)!r} with {name}={said!r}"
    )


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
