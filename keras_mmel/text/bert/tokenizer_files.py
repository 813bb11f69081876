"""Tokenizer files of a checkpoint, read into one JSON format."""

import json
import pathlib

from keras_mmel import extras

# Of `tokenizer_config.json`, and what `tokenizer.json` calls them.
_OPTIONS = {
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "handle_chinese_chars",
}

# Fewer and a vocabulary file is not one.
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def read(directory: pathlib.Path) -> str:
    """Read the tokenizer of a checkpoint, in Hugging Face or keras-hub layout.

    `tokenizer.json` comes before `vocab.txt`. `do_lower_case`, `strip_accents`
    and `tokenize_chinese_chars` of `tokenizer_config.json` come before what
    `tokenizer.json` says, as in transformers; without either they are `True`,
    `None` (as `do_lower_case`) and `True`. In keras-hub layout the vocabulary
    and `lowercase` are read, and text is cut as BERT does, not in the ways of
    `keras_hub.models.BertTokenizer` that differ from it.

    Args:
        directory: the checkpoint's directory.

    Returns:
        The tokenizer as JSON in the format of `tokenizer.json`.

    Raises:
        FileNotFoundError: if there is no tokenizer in the directory.
        ValueError: if a file cannot be read.
    """
    whole = directory / "tokenizer.json"
    state = _json(whole) if whole.exists() else {}
    config = directory / "tokenizer_config.json"
    options = _json(config) if config.exists() else {}
    if "model" in state:
        return json.dumps(_with_options(state, options))
    if "class_name" in state:
        vocabulary = directory / "assets" / "tokenizer" / "vocabulary.txt"
        options = {"do_lower_case": state["config"].get("lowercase", False)}
    else:
        vocabulary = directory / "vocab.txt"
    if not vocabulary.exists():
        raise FileNotFoundError(
            "a checkpoint must have a tokenizer: `tokenizer.json` or "
            f"`vocab.txt`. Received: {str(directory)!r} with "
            f"{sorted(p.name for p in directory.iterdir())}"
        )
    return from_vocabulary(_lines(vocabulary), options, str(vocabulary))


def from_vocabulary(
    pieces: list[str], options: dict, source: str = "the vocabulary"
) -> str:
    """Make BERT's tokenizer from a list of pieces.

    Args:
        pieces: the vocabulary, in the order of its ids.
        options: `do_lower_case`, `strip_accents`, `tokenize_chinese_chars` as
            in `tokenizer_config.json`.
        source: where the pieces come from, for the error.

    Returns:
        The tokenizer as JSON in the format of `tokenizer.json`.

    Raises:
        ValueError: if the same piece is there twice or a special token is not.
    """
    tokenizers = extras.need("tokenizers", "text")
    ids = {piece: i for i, piece in enumerate(pieces)}
    missing = [piece for piece in _SPECIAL if piece not in ids]
    if missing:
        raise ValueError(
            f"a vocabulary must have the special tokens {list(_SPECIAL)}. "
            f"Received: {len(pieces)} pieces without {missing} in {source}"
        )
    made = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(
            ids, unk_token="[UNK]", max_input_chars_per_word=100
        )
    )
    made.normalizer = tokenizers.normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=options.get("tokenize_chinese_chars", True),
        strip_accents=options.get("strip_accents"),
        lowercase=options.get("do_lower_case", True),
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.decoder = tokenizers.decoders.WordPiece(prefix="##")
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[(p, ids[p]) for p in ("[CLS]", "[SEP]")],
    )
    made.add_special_tokens(
        [
            tokenizers.AddedToken(piece, normalized=False)
            for piece in sorted(_SPECIAL, key=ids.get)
        ]
    )
    return made.to_str()


def _with_options(state, options):
    normalizer = state.get("normalizer") or {}
    if normalizer.get("type") != "BertNormalizer":
        return state
    changed = {
        ours: options[theirs]
        for theirs, ours in _OPTIONS.items()
        if theirs in options
    }
    return state | {"normalizer": normalizer | changed}


def _json(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(
            f"a checkpoint's JSON files must be readable. Received: "
            f"{str(path)!r}: {error}"
        ) from error


def _lines(path):
    try:
        # Not splitlines: a vocabulary may have U+2028 or U+0085 as a piece.
        lines = path.read_bytes().decode("utf-8").split("\n")
    except ValueError as error:
        raise ValueError(
            f"a vocabulary must be UTF-8. Received: {str(path)!r}: {error}"
        ) from error
    if lines and not lines[-1]:
        lines.pop()
    return [line.rstrip("\r") for line in lines]
