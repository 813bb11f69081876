"""Which words of a view are not those of its original."""

import dataclasses
import difflib
import re

# A run of letters and digits, or one other sign, as BERT splits words first.
_WORD = re.compile(r"\w+|[^\w\s]")


@dataclasses.dataclass(frozen=True)
class Piece:
    """A stretch of a text, and whether it was replaced."""

    text: str
    replaced: bool


def count_words(text: str) -> int:
    """Number of words and signs of a text."""
    return len(_WORD.findall(text))


def mark_replaced(original: str, view: str) -> list[Piece]:
    """Cut a view into what stands in the original and what does not.

    Where both have as many words they are compared one by one; else by the
    longest stretches that they share.

    Args:
        original: the text of the original.
        view: the text of the view.

    Returns:
        Pieces that join to `view`.

    Example:

    ```python
    mark_replaced("a fine film", "a good film")
    # [Piece("a ", False), Piece("good", True), Piece(" film", False)]
    ```
    """
    words = list(_WORD.finditer(view))
    kept = _kept(_WORD.findall(original), [word[0] for word in words])
    pieces, end = [], 0
    for word, is_kept in zip(words, kept, strict=True):
        if not is_kept:
            pieces.append(Piece(view[end : word.start()], False))
            pieces.append(Piece(word[0], True))
            end = word.end()
    pieces.append(Piece(view[end:], False))
    return [piece for piece in pieces if piece.text]


def share_of_other_words(first: str, second: str) -> float:
    """The share of the words of `second` that `first` has not there."""
    words = _WORD.findall(second)
    if not words:
        return float(bool(_WORD.search(first)))
    kept = _kept(_WORD.findall(first), words)
    return kept.count(False) / len(words)


def _kept(original, view):
    if len(original) == len(view):
        return [a == b for a, b in zip(original, view, strict=True)]
    kept = [False] * len(view)
    matcher = difflib.SequenceMatcher(None, original, view, autojunk=False)
    for block in matcher.get_matching_blocks():
        kept[block.b : block.b + block.size] = [True] * block.size
    return kept
