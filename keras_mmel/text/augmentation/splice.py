"""Put filled words into the original string.

Only the words that changed are replaced. Everything else keeps its case, its
accents and its spacing, which a tokenizer's own decoding would lose.
"""

import functools
import unicodedata
from collections.abc import Collection
from collections.abc import Sequence

from keras_mmel import extras

_CONTINUATION = "##"


def splice(
    text: str,
    spans: Sequence[tuple[int, int]],
    pieces: Sequence[str],
    changed: Collection[int],
) -> str:
    """Replaces the changed tokens of a text.

    A continuation piece (`##s`) joins what stands before it, and a word is
    set off by a space where it would otherwise melt into its neighbour
    ("didn't" with another word for the apostrophe becomes "didn or t"). Tokens
    that share a character (the parts of a Hangul syllable) are rewritten
    together. What lies behind the last token, such as the rest of a text that
    was cut to the model's length, stays as it is.

    Args:
        text: The original text.
        spans: For each of its tokens, without special tokens, the start and
            the end of the token in `text`, in code points.
        pieces: The tokens of the sample as the vocabulary writes them.
        changed: Indices of the tokens that differ from the original.

    Returns:
        The text of the sample.

    Example:

    ```python
    from keras_mmel.text.augmentation.splice import splice

    spans = [(0, 1), (3, 7), (8, 12)]
    splice("A  fine film.", spans, ["a", "poor", "film"], changed=[1])
    # "A  poor film."
    ```
    """
    if not changed:
        return text
    parts: list[str] = []
    # Where the token before ends in `text`, and whether it is another one now.
    end, after_change = 0, False
    for first, last in _clusters(spans):
        start = spans[first][0]
        stop = max(span[1] for span in spans[first:last])
        is_changed = any(index in changed for index in range(first, last))
        word = _join(pieces[first:last]) if is_changed else text[start:stop]
        gap = text[end:start]
        if after_change:
            gap = _without_marks(gap)
        # A gap between two words that both stay is left alone, and so is
        # what stands before the first word.
        is_touched = first > 0 and (is_changed or after_change)
        if is_touched and not _continues(pieces[first]):
            gap = _set_off(parts[-1], gap, word)
        elif is_touched and is_changed:
            gap = ""
        parts += [gap, word]
        end, after_change = stop, is_changed
    rest = text[end:]
    parts.append(_without_marks(rest) if after_change else rest)
    return "".join(parts)


def _clusters(spans):
    """Runs of tokens that share characters, as (first, last + 1)."""
    first = stop = 0
    for index, (start, end) in enumerate(spans):
        if index > first and start >= stop:
            yield first, index
            first = index
        stop = max(stop, end)
    if spans:
        yield first, len(spans)


def _set_off(before, gap, after):
    """The gap between two words, with a space where they would melt."""
    if any(map(_is_space, gap)) or _splits(before[-1:]) or _splits(after[:1]):
        return gap
    return gap + " "


def _join(pieces):
    """Pieces in a row as text."""
    text = ""
    for piece in pieces:
        if _continues(piece):
            text += piece[len(_CONTINUATION) :]
        else:
            text += _set_off(text, "", piece) + piece
    return text


def _continues(piece):
    return piece.startswith(_CONTINUATION) and piece != _CONTINUATION


def _without_marks(gap):
    """Without the accents of a word that is no longer there."""
    marks = 0
    while marks < len(gap) and unicodedata.category(gap[marks]) == "Mn":
        marks += 1
    return gap[marks:]


def _is_space(character):
    """Whether BERT's tokenizer takes a character for a space."""
    # Other control characters that Python takes for spaces are deleted.
    return character in "\t\n\r" or unicodedata.category(character)[0] == "Z"


@functools.cache
def _splits(character):
    """Whether BERT's tokenizer splits a text on both sides of a character."""
    library = extras.need("tokenizers", "text")
    # Of what it does to a text, the spaces around ideographs alone.
    normalizer = library.normalizers.BertNormalizer(
        clean_text=False, strip_accents=False, lowercase=False
    )
    text = normalizer.normalize_str(f"a{character}a")
    words = library.pre_tokenizers.BertPreTokenizer().pre_tokenize_str(text)
    return len(words) > 1 or not character
