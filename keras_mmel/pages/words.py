"""The words of a text, and which words of a view are not its original's."""

import difflib
import re

# A run of letters and digits, or one other sign, as BERT splits words first.
_WORD = re.compile(r"\w+|[^\w\s]")


def count_words(text: str) -> int:
    """Number of words and signs of a text."""
    return len(_WORD.findall(text))


def mark(original: str, view: str) -> list[tuple[str, bool]]:
    """Cuts a view into what stands in the original and what does not.

    Where both have as many words they are compared one by one, since
    augmentation replaces words in place; else by the longest stretches that
    they share.

    Example:

    ```python
    mark("a fine film, and long.", "a good film; and long.")[1:4]
    # [('good', True), (' film', False), (';', True)]
    ```
    """
    words = list(_WORD.finditer(view))
    kept = _kept(_WORD.findall(original), [word[0] for word in words])
    pieces, end = [], 0
    for word, is_kept in zip(words, kept, strict=True):
        if not is_kept:
            pieces.append((view[end : word.start()], False))
            pieces.append((word[0], True))
            end = word.end()
    pieces.append((view[end:], False))
    return [piece for piece in pieces if piece[0]]


def _kept(original, view):
    if len(original) == len(view):
        return [a == b for a, b in zip(original, view, strict=True)]
    kept = [False] * len(view)
    matcher = difflib.SequenceMatcher(None, original, view, autojunk=False)
    for block in matcher.get_matching_blocks():
        kept[block.b : block.b + block.size] = [True] * block.size
    return kept
