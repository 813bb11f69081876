"""What a BERT tokenizer does with each code point, as small tables.

BERT's normalizer and pre-tokenizer look at one code point at a time, with one
exception: canonical ordering, which sorts neighbouring combining marks. So
they are two tables and a rule. The tables are made by asking the tokenizer
itself about every code point of Unicode, which makes them right whatever the
version of Unicode its library was built with.
"""

import dataclasses
import functools
import sys
import unicodedata
from collections.abc import Callable

import numpy as np

LETTER, SPACE, PUNCTUATION, REMOVED = range(4)
# Stands for a removed code point that separates the marks around it.
BARRIER = sys.maxunicode + 1
# Stands for the code point itself in what takes its place.
ITSELF = -1

_BLOCK = 128
_MARK = "|"


@dataclasses.dataclass(frozen=True)
class PagedTable:
    """A table over all code points whose repeated pages are stored once.

    Attributes:
        pages: for each `code // 128`, the number of its page.
        values: (pages, 128) values.
    """

    pages: np.ndarray
    values: np.ndarray

    @classmethod
    def pack(cls, values: np.ndarray) -> "PagedTable":
        """Store `values`, one for each code point and one for `BARRIER`."""
        padding = -len(values) % _BLOCK
        blocks = np.pad(values, (0, padding)).reshape(-1, _BLOCK)
        blocks, pages = np.unique(blocks, axis=0, return_inverse=True)
        return cls(pages.reshape(-1).astype(np.int32), blocks)

    def __getitem__(self, codes):
        return self.values[self.pages[codes // _BLOCK], codes % _BLOCK]


@dataclasses.dataclass(frozen=True)
class CodePoints:
    """Normalizer and pre-tokenizer as tables.

    Attributes:
        entries: for each code point, the number of its replacement; 0 where
            it stays itself.
        replacements: for each number, the code points that take its place,
            `ITSELF` and `BARRIER` among them.
        kinds: for each code point that is left, `LETTER` (part of a word),
            `SPACE`, `PUNCTUATION` (a word by itself) or `REMOVED`, plus 4
            times its rank: neighbours of ranks above 0 are sorted by them.
    """

    entries: PagedTable
    replacements: tuple[tuple[int, ...], ...]
    kinds: PagedTable


def read_code_points(normalize: Callable, pre_tokenize: Callable) -> CodePoints:
    """Ask a normalizer and a pre-tokenizer about every code point.

    Args:
        normalize: from a string to a string, `normalize_str` of BERT's
            normalizer.
        pre_tokenize: from a string to a list of `(word, (start, end))`,
            `pre_tokenize_str` of BERT's pre-tokenizer.

    Returns:
        The tables.

    Example:

    ```python
    import tokenizers
    from keras_mmel.text.serving.code_points import read_code_points

    tables = read_code_points(
        tokenizers.normalizers.BertNormalizer().normalize_str,
        tokenizers.pre_tokenizers.BertPreTokenizer().pre_tokenize_str,
    )
    tables.replacements[tables.entries[ord("\u00c4")]]  # (97,), an "a"
    ```
    """
    outputs = _each(normalize)
    barriers, marks = _marks(normalize, outputs)
    kinds = _kinds(pre_tokenize)
    for rank, codes in enumerate(_by_rank(normalize, marks), 1):
        kinds[codes] += 4 * rank
    numbers = {(ITSELF,): 0}
    entries = np.zeros(BARRIER + 1, np.int32)
    for code, output in outputs.items():
        if output != chr(code):
            replacement = tuple(map(ord, output))
            if code in barriers:
                replacement = (BARRIER,)
            elif output == f" {chr(code)} ":
                replacement = (ord(" "), ITSELF, ord(" "))
            entries[code] = numbers.setdefault(replacement, len(numbers))
    return CodePoints(
        PagedTable.pack(entries), tuple(numbers), PagedTable.pack(kinds)
    )


def _codes():
    # Surrogates are no characters, and planes 4 to 13 have none in any version
    # of Unicode: asking about them would take most of the time.
    return [*range(0xD800), *range(0xE000, 0x40000), *range(0xE0000, BARRIER)]


def _each(normalize, before="", after="") -> dict[int, str]:
    """What becomes of every code point, between two strings."""
    codes = _codes()
    text = _MARK.join(f"{before}{chr(code)}{after}" for code in codes)
    found = normalize(_MARK + text + _MARK).split(_MARK)[1:-1]
    # The mark itself is one of the code points: it has split its own place.
    here = ord(_MARK)
    found[here : here + 2] = [_MARK.join(found[here : here + 2])]
    return dict(zip(codes, found, strict=True))


def _marks(normalize, outputs) -> tuple[set[int], list[int]]:
    """Code points that keep marks apart and code points that are sorted.

    A mark of a high class and one of a low class change places across what
    is sorted itself and across what was removed without a trace.
    """
    kept = [
        code
        for code, output in outputs.items()
        if output == chr(code) and unicodedata.combining(output)
    ]
    # The library may know fewer marks than Python does.
    known = [
        code for code in kept if any(_order(normalize, code, b) for b in kept)
    ]
    if not known:
        return set(), []
    groups = _by_rank(normalize, known)
    low, high = chr(groups[0][0]), chr(groups[-1][0])
    between = _each(normalize, high, low)
    fixed = {
        code
        for code, output in outputs.items()
        if between[code] == high + output + low
    }
    barriers = {code for code in fixed if not outputs[code]}
    marks = [
        code
        for code, output in outputs.items()
        if output == chr(code) and code not in fixed
    ]
    return barriers, marks


def _order(normalize, a, b) -> int:
    """-1 where mark `a` goes before `b`, 1 after it, 0 where both may be."""
    a, b = chr(a), chr(b)
    if a == b:
        return 0
    return (normalize(a + b) == b + a) - (normalize(b + a) == a + b)


def _by_rank(normalize, marks) -> list[list[int]]:
    """The marks, those that are never exchanged together, low ones first."""
    compare = functools.partial(_order, normalize)
    groups = []
    for code in sorted(marks, key=functools.cmp_to_key(compare)):
        if not groups or compare(groups[-1][0], code):
            groups.append([])
        groups[-1].append(code)
    return groups


def _kinds(pre_tokenize) -> np.ndarray:
    """`LETTER`, `SPACE` or `PUNCTUATION` for every code point."""
    codes = np.array(_codes())
    # Between letters: a space leaves a hole, punctuation a word of its own.
    words = pre_tokenize("a" + "a".join(map(chr, codes)) + "a")
    kinds = np.full(BARRIER + 1, LETTER, np.uint8)
    kinds[BARRIER] = REMOVED
    covered = np.zeros(2 * len(codes) + 1, bool)
    for _, (start, end) in words:
        covered[start:end] = True
        if end - start == 1 and start % 2:
            kinds[codes[start // 2]] = PUNCTUATION
    kinds[codes[~covered[1::2]]] = SPACE
    return kinds
