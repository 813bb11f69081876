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

    Args:
        original: Text of view 0.
        view: Text of another view.

    Returns:
        Pairs of a piece of the view and whether it is a word or sign that the
        original does not have there. The pieces join to the view.

    Example:

    ```python
    mark("a fine film, and long.", "a good film; and long.")[1:4]
    # [('good', True), (' film', False), (';', True)]
    ```
    """
    words = list(_WORD.finditer(view))
    is_shared = _shared(_WORD.findall(original), [word[0] for word in words])
    pieces, end = [], 0
    for word, in_original in zip(words, is_shared, strict=True):
        if not in_original:
            pieces.append((view[end : word.start()], False))
            pieces.append((word[0], True))
            end = word.end()
    pieces.append((view[end:], False))
    return [piece for piece in pieces if piece[0]]


def _shared(original, view):
    """For each word of the view, whether the original has it there."""
    if len(original) == len(view):
        return [a == b for a, b in zip(original, view, strict=True)]
    is_shared = [False] * len(view)
    matcher = difflib.SequenceMatcher(None, original, view, autojunk=False)
    for block in matcher.get_matching_blocks():
        is_shared[block.b : block.b + block.size] = [True] * block.size
    return is_shared
