"""What the augmenter asks of its settings and its input."""

import numbers

import numpy as np

from keras_mmel.text.bert.tokenizer import Tokenizer


def tokenizer_of(masked_lm, tokenizer):
    if tokenizer is None:
        tokenizer = getattr(masked_lm, "tokenizer", None)
    if not isinstance(tokenizer, Tokenizer):
        raise TypeError(
            "`masked_lm` must have a `tokenizer` of the class "
            "`keras_mmel.text.Tokenizer`, as `load_masked_lm` gives it, or "
            "`tokenizer` must be given: "
            "`tokenizer=Tokenizer.from_directory(...)`. Received: "
            f"{type(tokenizer).__name__}"
        )
    return tokenizer


def banned_tokens(tokenizer, encoder):
    """(vocabulary,) bool, True for tokens never masked nor filled in."""
    words, known = len(tokenizer.vocabulary), int(encoder.tokens.shape[0])
    if words > known:
        raise ValueError(
            "The tokenizer must not have more tokens than the masked LM. "
            f"Received: {words} tokens for a vocabulary of {known}"
        )
    banned = np.zeros(words, bool)
    banned[tokenizer.banned_ids] = True
    return banned


def one_or_two(text):
    if isinstance(text, str):
        return text
    if isinstance(text, tuple | list) and len(text) == 1:
        return text[0]
    return tuple(text) if isinstance(text, list) else text


def name_of(example_id):
    if isinstance(example_id, str):
        return example_id
    if isinstance(example_id, numbers.Integral) and not isinstance(
        example_id, bool | np.bool_
    ):
        return str(int(example_id))
    raise TypeError(
        "`example_ids` must be strings or integers. "
        f"Received: {example_id!r} (of type {type(example_id).__name__})"
    )


def at_least(name, value, least):
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or (least is not None and value < least):
        rule = "" if least is None else f" of at least {least}"
        raise ValueError(
            f"`{name}` must be an integer{rule}. Received: {name}={value!r}"
        )


def among(name, value, choices):
    if value not in choices:
        raise ValueError(
            f"`{name}` must be one of {', '.join(map(repr, choices))}. "
            f"Received: {name}={value!r}"
        )


def ratio(name, value):
    """Refuse what is no number from 0 to 1."""
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1:
        raise ValueError(
            f"`{name}` must be a number from 0 to 1. Received: {name}={value!r}"
        )
