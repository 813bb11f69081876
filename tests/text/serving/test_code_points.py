"""The tables of code points against the library that they are made from."""

import random
import sys

import numpy as np
import pytest
import tensorflow as tf
from tokenizers import normalizers
from tokenizers import pre_tokenizers

from keras_mmel.text.serving import code_points
from keras_mmel.text.serving import graph_normalizer
from keras_mmel.text.serving.graph_normalizer import GraphNormalizer

CODES = [*range(0xD800), *range(0xE000, sys.maxunicode + 1)]
OPTIONS = {
    "uncased": {"lowercase": True},
    "cased": {"lowercase": False},
}
RARE = {
    "accents": {"lowercase": False, "strip_accents": True},
    "as it is": {
        "clean_text": False,
        "handle_chinese_chars": False,
        "strip_accents": False,
        "lowercase": True,
    },
}


def normalized(options, texts):
    codes, kinds, rows = GraphNormalizer(options)(tf.constant(texts))
    ragged = tf.RaggedTensor.from_value_rowids(codes, rows, len(texts))
    found = tf.strings.unicode_encode(ragged, "UTF-8").numpy()
    return [text.decode() for text in found], kinds.numpy(), rows.numpy()


def check_code_points(options, codes):
    """Shuffled, so that all kinds of code points become neighbours."""
    random.Random(0).shuffle(codes)
    texts = [
        "".join(map(chr, codes[i : i + 500])) for i in range(0, len(codes), 500)
    ]
    library = normalizers.BertNormalizer(**options)
    wanted = [library.normalize_str(text) for text in texts]
    found, kinds, rows = normalized(options, texts)
    assert found == wanted
    split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    for row in range(0, len(texts), 10):
        here = kinds[rows == row]
        words = split(wanted[row])
        spaces = len(wanted[row]) - sum(len(word) for word, _ in words)
        assert np.sum(here == code_points.SPACE) == spaces
        for word, (start, end) in words:
            if len(word) == 1 and here[start] == code_points.PUNCTUATION:
                continue
            assert set(here[start:end]) == {code_points.LETTER}


def test_code_points():
    # Of the planes without characters few.
    few = [c for c in CODES if not 0x32000 < c < 0xE0000 or c % 37 == 0]
    check_code_points(OPTIONS["uncased"], few)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS | RARE)
def test_every_code_point(name):
    check_code_points((OPTIONS | RARE)[name], CODES.copy())


@pytest.mark.parametrize(
    "text",
    [
        "\u302e\U0001d165",  # 224 before 216: exchanged
        "x\u302e\u0301\U0001d165y",  # across an accent that goes
        "\u302e\u200d\U0001d165",  # across a control character that goes
        "\u302e\u034f\U0001d165",  # not across a joiner of class 0
        "\u302ea\U0001d165",
        "\u302e\u302f\U0001d165\U0001d166\u302e\u1b44",
        "\U0001d15e\u1b44",  # a note that is taken apart before
        "\ud55c\uad6d \u1100\u1161\u11a8",
        "\u6f22a\u5b57",
        "\u0130\u01c5\u1e9e\u03a3\u03c2",
    ],
)
def test_marks_are_ordered(text):
    library = normalizers.BertNormalizer(lowercase=True)
    # Beside itself: nothing may move to another sentence.
    found, _, _ = normalized(OPTIONS["uncased"], [text, text, "", text])
    wanted = library.normalize_str(text)
    assert found == [wanted, wanted, "", wanted]


def test_some_marks_really_change_places():
    library = normalizers.BertNormalizer(lowercase=True)
    assert library.normalize_str("\u302e\U0001d165") == "\U0001d165\u302e"
    assert library.normalize_str("\u302e\u034f\U0001d165") == (
        "\u302e\U0001d165"
    )


def test_pages():
    rng = np.random.default_rng(0)
    values = np.repeat(rng.integers(0, 9, 40), 100)
    values[1234] = 77
    table = code_points.PagedTable.pack(values)
    indices = np.arange(len(values))
    np.testing.assert_array_equal(table[indices], values)
    assert table[1234] == 77


def test_tables_are_small():
    tables = graph_normalizer.make_tables(True, True, None, True)
    paged = [tables.entries, tables.kinds]
    stored = sum(t.pages.nbytes + t.values.nbytes for t in paged)
    stored += 4 * sum(map(len, tables.replacements))
    assert stored < 400_000
    replaced = {
        char: tables.replacements[tables.entries[ord(char)]]
        for char in "A\u00e9\u6f22\x00\u0301x"
    }
    assert replaced == {
        "A": (ord("a"),),
        "\u00e9": (ord("e"),),
        "\u6f22": (ord(" "), code_points.ITSELF, ord(" ")),
        "\x00": (),
        "\u0301": (),
        "x": (code_points.ITSELF,),
    }
