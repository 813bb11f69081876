"""Views of a text: from token ids to words, and which words differ."""

import difflib
from collections.abc import Sequence
from typing import Any

import numpy as np

# What stands between the sentences of a pair where they are shown as one.
BETWEEN = "‖"
_SEPARATORS = ("[SEP]", "</s>", "<sep>")
_SPECIAL = ("[CLS]", "[PAD]", "<s>", "<pad>", "<cls>")


def as_text(view: Any) -> str:
    """A view as one line: a string, bytes, a pair, or something with `text`.

    Args:
        view: `str`, `bytes`, a pair of these, or an object such as
            `keras_mmel.text.Augmented`.

    Returns:
        The text; the sentences of a pair have `‖` between them.

    Raises:
        TypeError: If it is none of these.

    Example:

    >>> as_text(("a film", "a movie"))
    'a film ‖ a movie'
    """
    view = getattr(view, "text", view)
    if isinstance(view, bytes):
        return view.decode("utf-8", errors="replace")
    if isinstance(view, str):
        return str(view)
    if isinstance(view, (tuple, list)) and len(view) <= 2:
        return f" {BETWEEN} ".join(as_text(part) for part in view if part)
    raise TypeError(
        "A view of a text must be a string or a pair of strings. "
        f"Received: a {type(view).__name__}"
    )


def decode(token_ids: Any, vocabulary: Sequence[str]) -> str:
    """Token ids as text, without padding and special tokens.

    Pieces that begin with `##` are joined to the word before them.

    Args:
        token_ids: Int `(length,)`.
        vocabulary: The piece of each id.

    Returns:
        Words with spaces between; `‖` between the sentences of a pair.

    Raises:
        ValueError: If an id has no piece.

    Example:

    >>> vocabulary = ["[PAD]", "[CLS]", "[SEP]", "un", "##seen", "film"]
    >>> decode([1, 3, 4, 5, 2, 0], vocabulary)
    'unseen film'
    """
    words: list[str] = []
    for token in np.asarray(token_ids).tolist():
        if not 0 <= token < len(vocabulary):
            raise ValueError(
                f"Token ids must be below {len(vocabulary)}, the size of the "
                f"vocabulary. Received: {token}"
            )
        piece = vocabulary[token]
        if piece in _SPECIAL:
            continue
        if piece in _SEPARATORS:
            words.append(BETWEEN)
        elif piece.startswith("##") and words and words[-1] != BETWEEN:
            words[-1] += piece[2:]
        else:
            words.append(piece)
    while words and words[-1] == BETWEEN:
        words.pop()
    return " ".join(words)


def mark(original: str, view: str) -> list[tuple[str, bool]]:
    """The words of a view and whether they differ from the original's.

    Args:
        original: Text of view 0.
        view: Text of another view.

    Returns:
        A pair for each word of `view`, split at white space: the word and
        `True` where the original has no such word in this place.

    Example:

    >>> mark("a good film", "a fine film")
    [('a', False), ('fine', True), ('film', False)]
    """
    before, after = original.split(), view.split()
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    differs = [True] * len(after)
    for block in matcher.get_matching_blocks():
        for index in range(block.b, block.b + block.size):
            differs[index] = False
    return list(zip(after, differs, strict=True))


def marked_markdown(original: str, view: str) -> str:
    """The words of a view in Markdown, bold where they differ.

    Args:
        original: Text of view 0.
        view: Text of another view.

    Returns:
        One line of Markdown, other markup escaped.

    Example:

    >>> marked_markdown("a good film", "a fine film")
    'a **fine** film'
    """
    words = []
    for word, differs in mark(original, view):
        for character in "\\`*_{}[]<>#|~$":
            word = word.replace(character, "\\" + character)
        words.append(f"**{word}**" if differs else word)
    return " ".join(words)
