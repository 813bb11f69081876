"""The words of a text, and which words of a view are not its original's."""

import difflib
import re

# A run of letters and digits, or one other sign, as BERT splits words first. It
# is a group, so that `split` gives words in turn with what is between them.
_WORD = re.compile(r"(\w+|[^\w\s])")


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
        original does not have there. The pieces join to the view; some may be
        empty.

    Example:

    ```python
    mark("a fine film, and long.", "a good film; and long.")[2:6]
    # [(' ', False), ('good', True), (' ', False), ('film', False)]
    ```
    """
    pieces = _WORD.split(view)
    differs = [False] * len(pieces)
    differs[1::2] = _differing(_WORD.findall(original), pieces[1::2])
    return [*zip(pieces, differs, strict=True)]


def _differing(original, view):
    """For each word of the view, whether the original has it not there."""
    if len(original) == len(view):
        return [a != b for a, b in zip(original, view, strict=True)]
    differs = [True] * len(view)
    matcher = difflib.SequenceMatcher(None, original, view, autojunk=False)
    for block in matcher.get_matching_blocks():
        differs[block.b : block.b + block.size] = [False] * block.size
    return differs
