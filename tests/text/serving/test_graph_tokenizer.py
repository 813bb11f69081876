"""The tokenizer in the graph against the `tokenizers` library."""

import json

import hypothesis
import numpy as np
import pytest
import tensorflow as tf
import tokenizers
from hypothesis import strategies as st

from keras_mmel.text import Tokenizer
from keras_mmel.text.bert import tokenizer_files
from keras_mmel.text.serving import graph_tokenizer
from keras_mmel.text.serving.graph_tokenizer import GraphTokenizer
from keras_mmel.text.serving.graph_wordpiece import GraphWordPiece
from tests.text.tiny import VOCABULARY

STRINGS = tf.TensorSpec([None], tf.string)
# Pieces that hard strings can give, beside plain English.
FOREIGN = [
    *"\u6f22\u5b57\u1112\u1161\u11ab\u302e\u302f\U0001d165\U0001d16d\u1b44",
    *"\u00bd\u00b2\ufb01\u00df\u03c3\u0430\u0e01\u0e33\U0001f469\U0001f4bb\u2026",
    "##\u1161",
    "##\u11ab",
    "##\U0001d165",
    "##\u302e",
    "##\u1b44",
    "##\u0430",
    "\u0430\u0430",
    "##\u00b2",
    "##\U0001f4bb",
    "\u1112\u1161",
    "Film",
    "\u00e9",
    "caf\u00e9",
    "##\u00e9",
    "##\u0301",
]
HARD = [
    "",
    " ",
    "\u00a0\u3000\t\n\r\v\f\u2028\x85",
    "A fine film, isn't it?",
    "[MASK] and [SEP][CLS] [UNK] [PAD]##s ##ing [unused1]",
    "na\u00efve caf\u00e9 cafe\u0301 \ufb01lm m\u00b2 \u00bd",
    "\u2122 \u2163 \u2460 \u00b5",
    "foo\u00a0bar\u200b\u200dbaz \u00adsoft",
    "\u6f22\u5b57kanji\u6f22 \ud55c\uad6d\uc5b4 \u30ab\u30bf \u3042",
    "\U0001f469\u200d\U0001f4bb \U0001f1e9\U0001f1ea \u2764\ufe0f",
    "\u0130stanbul stra\u00dfe \u1e9e \u01c5 \u03a3\u03c2\u03c3",
    "a\x00b\x01c\x7f \ufeffbom \ufffd",
    "\u302e\U0001d165 \u302e\U0001d165\u302e\u034f\U0001d165",
    "\u0e01\u0e33 \u0915\u094d\u0937 \u09cb \u0344\u0f73 \u1b3b\u1b44",
    "\U000e0041\ue000\U0010fffe\U00020000\U0002f800",
    "f" * 100 + " " + "f" * 101 + " " + "z" * 99 + "\u00b9" + " film",
    "filming" * 14 + " " + "filming" * 15,
    "!?.,;:\u2026\u2014\u00ab\u3002\u00bf$+<=>^`|~" * 3,
    "films filmed filmly xfilm film\u00e9 FILM Film",
]


def make(lowercase, pieces=None):
    pieces = VOCABULARY + FOREIGN if pieces is None else pieces
    options = {"do_lower_case": lowercase}
    return Tokenizer.from_json(tokenizer_files.from_vocabulary(pieces, options))


class InGraph:
    """A tokenizer and its twin, traced once for sentences and for pairs."""

    def __init__(self, tokenizer, max_length):
        self.tokenizer = tokenizer
        self.max_length = max_length
        self.graph = GraphTokenizer(tokenizer, max_length)
        single = tf.function(lambda a: self.graph(a), [STRINGS])
        pair = tf.function(lambda a, b: self.graph(a, b), [STRINGS] * 2)
        self.functions = {1: single, 2: pair}

    def check(self, texts):
        sides = (
            [texts] if isinstance(texts[0], str) else zip(*texts, strict=True)
        )
        sides = [tf.constant(list(side)) for side in sides]
        found = self.functions[len(sides)](*sides)
        found = {name: value.numpy() for name, value in found.items()}
        wanted = self.tokenizer.encode(texts, self.max_length)
        lengths = [len(one.token_ids) for one in wanted]
        shape = (len(texts), max(lengths))
        assert {value.shape for value in found.values()} == {shape}
        for row, one in enumerate(wanted):
            size = lengths[row]
            ids, segments, mask = (
                found[name][row].tolist()
                for name in ("token_ids", "segment_ids", "padding_mask")
            )
            assert ids[:size] == list(one.token_ids), ascii(texts[row])
            assert segments[:size] == list(one.segment_ids)
            assert mask == [True] * size + [False] * (shape[1] - size)
            assert set(ids[size:]) <= {self.tokenizer.pad_id}
            assert not any(segments[size:])


@pytest.fixture(scope="module")
def uncased():
    return InGraph(make(True), 24)


@pytest.fixture(scope="module")
def cased():
    return InGraph(make(False), 24)


@pytest.fixture(scope="module")
def real(shared_dir):
    folder = shared_dir / "models" / "bert_tiny_mlm"
    return InGraph(Tokenizer.from_directory(folder), 64)


MARKS = st.sampled_from(
    "\u302e\u302f\U0001d165\U0001d16d\u1b44\u0301\u034f\u200da "
)
WORDS = st.lists(
    st.one_of(
        st.sampled_from(VOCABULARY + FOREIGN),
        st.sampled_from([" ", "\u00a0", "-", "x" * 90, "film" * 24]),
    ),
    max_size=12,
).map("".join)
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    st.text(MARKS, max_size=8),
    WORDS,
)
LIGHT = hypothesis.settings(
    max_examples=25, deadline=None, derandomize=True, database=None
)


@LIGHT
@hypothesis.given(texts=st.lists(TEXTS, min_size=1, max_size=8))
def test_any_sentences(uncased, texts):
    uncased.check(texts)


@pytest.mark.slow
@LIGHT
@hypothesis.given(texts=st.lists(TEXTS, min_size=1, max_size=8))
def test_any_sentences_with_a_cased_tokenizer(cased, texts):
    cased.check(texts)


@LIGHT
@hypothesis.given(
    texts=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=6)
)
def test_any_pairs(uncased, texts):
    uncased.check(texts)


@LIGHT
@hypothesis.given(texts=st.lists(TEXTS, min_size=1, max_size=8))
def test_any_sentences_with_a_real_vocabulary(real, texts):
    real.check(texts)


def test_hard_strings(uncased, cased):
    uncased.check(HARD)
    uncased.check(list(zip(HARD, HARD[::-1], strict=True)))
    cased.check(HARD)


def test_hard_strings_with_a_real_vocabulary(real):
    real.check(HARD)
    real.check([a + b for a in HARD for b in HARD])


@pytest.mark.slow
def test_every_code_point_in_a_sentence(real):
    codes = [*range(0xD800), *range(0xE000, 0x110000)]
    texts = [
        " a".join(map(chr, codes[i : i + 10])) for i in range(0, len(codes), 10)
    ]
    for start in range(0, len(texts), 2000):
        real.check(texts[start : start + 2000])


def test_pairs_are_cut_as_the_library_cuts():
    tokenizer = make(True)
    graph = InGraph(tokenizer, 9)
    texts = [("a " * i, "b " * j) for i in range(9) for j in range(9)]
    graph.check(texts)
    library = tokenizers.Tokenizer.from_str(tokenizer.to_json())
    library.enable_truncation(9, strategy="longest_first")
    found = graph.functions[2](*map(list, zip(*texts, strict=True)))
    mask = found["padding_mask"].numpy()
    wanted = [library.encode(*text).ids for text in texts]
    assert wanted == [
        ids[here].tolist()
        for ids, here in zip(found["token_ids"].numpy(), mask, strict=True)
    ]


@pytest.mark.parametrize("room", range(8))
def test_lengths_of_pairs(room):
    library = tokenizers.Tokenizer.from_str(make(True).to_json())
    library.enable_truncation(room + 3, strategy="longest_first")
    a, b = np.divmod(np.arange(100), 10)
    lengths = graph_tokenizer.longest_first(
        tf.constant(a), tf.constant(b), room
    )
    for i, j, *found in np.stack([a, b, *lengths], axis=1).tolist():
        ids = library.encode("a " * i, "b " * j).sequence_ids
        assert found == [ids.count(0), ids.count(1)], (i, j)


@pytest.mark.parametrize(
    "text",
    [
        b"\xff",
        b"fi\xfflm",
        b"film\xed\xa0\x80 film",
        b"film\xf4\x90\x80\x80film",
        b"film \xe2\x82",
        b"\xc0\x80ab",
        b"\xf0\x9f\x98 film\xf0\x9f\x98s",
    ],
)
def test_bytes_that_are_no_text(uncased, text):
    decoded = text.decode("utf-8", errors="replace")
    found = uncased.functions[1](tf.constant([text]))["token_ids"]
    (wanted,) = uncased.tokenizer.encode([decoded])
    assert found.numpy()[0].tolist() == list(wanted.token_ids)


def test_batch_without_rows(uncased):
    none = tf.constant([], tf.string)
    for function, inputs in ((1, [none]), (2, [none, none])):
        found = uncased.functions[function](*inputs)
        assert {value.shape[0] for value in found.values()} == {0}


@LIGHT
@hypothesis.given(
    pieces=st.lists(
        st.text("ab#", min_size=1, max_size=5), max_size=12, unique=True
    ),
    words=st.lists(
        st.text("ab#", min_size=1, max_size=14), min_size=1, max_size=6
    ),
    longest=st.integers(1, 14),
)
def test_pieces_of_any_vocabulary(pieces, words, longest):
    vocabulary = {piece: i for i, piece in enumerate(["?", *pieces])}
    library = tokenizers.models.WordPiece(
        vocabulary, unk_token="?", max_input_chars_per_word=longest
    )
    graph = GraphWordPiece(vocabulary, "?", longest_word=longest)
    codes = [ord(char) for word in words for char in word]
    starts = [i == 0 for word in words for i in range(len(word))]
    ids, where = graph(tf.constant(codes), tf.constant(starts))
    wanted = [library.tokenize(word) for word in words]
    assert ids.numpy().tolist() == [t.id for one in wanted for t in one]
    firsts = np.cumsum([0, *map(len, words)])
    assert where.numpy().tolist() == [
        first + t.offsets[0]
        for first, one in zip(firsts, wanted, strict=False)
        for t in one
    ]


def changed(**parts):
    state = json.loads(make(True).to_json())
    return Tokenizer.from_json(json.dumps(state | parts))


BERT = {"type": "BertNormalizer", "clean_text": True, "lowercase": True}
BERT |= {"handle_chinese_chars": True, "strip_accents": None}


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"normalizer": None}, "normalizer of type None"),
        (
            {"normalizer": {"type": "Sequence", "normalizers": [BERT]}},
            "normalizer of type 'Sequence'",
        ),
        (
            {"pre_tokenizer": {"type": "Whitespace"}},
            "pre_tokenizer of type 'Whitespace'",
        ),
    ],
)
def test_other_tokenizers_are_refused(parts, message):
    with pytest.raises(ValueError, match=f"same ids. Received: a {message}"):
        GraphTokenizer(changed(**parts), 16)


def test_added_tokens_are_refused():
    tokenizer = tokenizers.Tokenizer.from_str(make(True).to_json())
    tokenizer.add_tokens(["new film"])
    with pytest.raises(ValueError, match=r"Received: \['new film'\]"):
        GraphTokenizer(Tokenizer(tokenizer), 16)


def test_unknown_token_outside_the_model_is_refused():
    state = json.loads(make(True).to_json())
    model = state["model"] | {"unk_token": "[NONE]"}
    with pytest.raises(ValueError, match="'\\[NONE\\]' is not there"):
        GraphTokenizer(changed(model=model), 16)


def test_no_room_is_refused():
    with pytest.raises(ValueError, match="Received: max_length=2"):
        GraphTokenizer(make(True), 2)
