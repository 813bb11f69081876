"""The tokenizer in the graph against the `tokenizers` library."""

import functools
import json
import random
import sys

import hypothesis
import pytest
import tensorflow as tf
import tokenizers
from hypothesis import strategies as st

from keras_mmel.text import Tokenizer
from keras_mmel.text.bert import tokenizer_files
from keras_mmel.text.serving.graph_tokenizer import GraphTokenizer
from tests.text.tiny import VOCABULARY

STRINGS = tf.TensorSpec([None], tf.string)
CODES = [*range(0xD800), *range(0xE000, sys.maxunicode + 1)]
BERT = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
    "lowercase": True,
}
NORMALIZERS = {
    "uncased": BERT,
    "cased": BERT | {"lowercase": False},
    "accents": BERT | {"lowercase": False, "strip_accents": True},
    "lower": BERT | {"clean_text": False, "strip_accents": False},
    "as it is": {name: name == "type" and BERT[name] for name in BERT},
}
# Pieces that hard strings can give, beside plain English.
FOREIGN = [
    *"\u6f22\u5b57\u1112\u1161\u11ab\u302e\u302f\U0001d165\U0001d16d\u1b44",
    *"\u00bd\u00b2\ufb01\u00df\u03c3\u0430\u0e01\u0e33\U0001f469\U0001f4bb\u2026",
    *("\u00e9", "caf\u00e9", "\u0430\u0430", "\u1112\u1161", "Film"),
    *(f"##{char}" for char in "\u1161\u11ab\U0001d165\u302e\u1b44\u0430\u00b2"),
    *("##\U0001f4bb", "##\u00e9", "##\u0301"),
]
HARD = [
    "",
    " ",
    "\u00a0\u3000\t\n\r\v\f\u2028\x85",
    "A fine film, isn't it?",
    "[MASK] and [SEP][CLS] [UNK] [PAD]##s ##ing [unused1]",
    "na\u00efve caf\u00e9 cafe\u0301 \ufb01lm m\u00b2 \u00bd",
    "foo\u00a0bar\u200b\u200dbaz \u00adsoft",
    "\u6f22\u5b57kanji\u6f22 \ud55c\uad6d\uc5b4 \u30ab\u30bf \u3042",
    "\U0001f469\u200d\U0001f4bb \U0001f1e9\U0001f1ea \u2764\ufe0f",
    "\u0130stanbul stra\u00dfe \u1e9e \u01c5 \u03a3\u03c2\u03c3",
    "a\x00b\x01c\x7f \ufeffbom \ufffd",
    "\u0e01\u0e33 \u0915\u094d\u0937 \u09cb \u0344\u0f73 \u1b3b\u1b44",
    "\U000e0041\ue000\U0010fffe\U00020000\U0002f800",
    "f" * 100 + " " + "f" * 101 + " " + "z" * 99 + "\u00b9" + " film",
    "filming" * 14 + " " + "filming" * 15,
    "films filmed filmly xfilm film\u00e9 FILM Film",
    # Combining marks: of class 224 before 216, which change places ...
    "\u302e\U0001d165",
    "\u302e\u302f\U0001d165\U0001d166\u302e\u1b44",
    # ... also across an accent and a control character that go,
    "x\u302e\u0301\U0001d165y \u302e\u200d\U0001d165",
    # but not across a joiner of class 0 or a letter,
    "\u302e\u034f\U0001d165 \u302ea\U0001d165",
    # and after a note is taken apart.
    "\U0001d15e\u1b44 \u1100\u1161\u11a8",
]


def changed(**parts):
    pieces = VOCABULARY + FOREIGN
    state = json.loads(tokenizer_files.from_vocabulary(pieces, {}))
    return Tokenizer.from_json(json.dumps(state | parts))


class InGraph:
    """A tokenizer and its twin, traced once for sentences and for pairs."""

    def __init__(self, tokenizer, max_length):
        self.tokenizer = tokenizer
        self.max_length = max_length
        self.graph = GraphTokenizer(tokenizer, max_length)
        self.words = tf.function(self.graph.words, [STRINGS])
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
            assert mask == [1] * size + [0] * (shape[1] - size)
            assert set(ids[size:]) <= {self.tokenizer.pad_id}
            assert not any(segments[size:])

    def check_words(self, texts):
        inner = self.tokenizer.tokenizer
        found = self.words(tf.constant(texts)).to_list()
        for text, words in zip(texts, found, strict=True):
            text = inner.normalizer.normalize_str(text)
            wanted = inner.pre_tokenizer.pre_tokenize_str(text)
            assert [word.decode() for word in words] == [w for w, _ in wanted]


@functools.cache
def twin(name):
    return InGraph(changed(normalizer=NORMALIZERS[name]), 24)


@pytest.fixture(scope="module")
def real(shared_dir):
    folder = shared_dir / "models" / "bert_tiny_mlm"
    return InGraph(Tokenizer.from_directory(folder), 64)


def batches(items, size):
    return [items[i : i + size] for i in range(0, len(items), size)]


def of_codes(codes, size=300):
    """Texts of code points in order, and shuffled: then all are neighbours."""
    mixed = random.Random(0).sample(codes, len(codes))
    return [
        "".join(map(chr, part))
        for order in (codes, mixed)
        for part in batches(order, size)
    ]


@pytest.mark.slow
def test_words_of_code_points():
    # Of the planes without characters few.
    few = [c for c in CODES if not 0x32000 < c < 0xE0000 or c % 37 == 0]
    twin("uncased").check_words(of_codes(few))


@pytest.mark.slow
@pytest.mark.parametrize("name", NORMALIZERS)
def test_words_of_every_code_point(name):
    twin(name).check_words(of_codes(CODES))
    twin(name).check_words(HARD)
    twin(name).check(HARD)


SIGNS = st.sampled_from(
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
    st.text(SIGNS, max_size=8),
    WORDS,
)


@hypothesis.settings(
    max_examples=25, deadline=None, derandomize=True, database=None
)
@hypothesis.given(
    sentences=st.lists(TEXTS, min_size=1, max_size=8),
    pairs=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=6),
)
def test_any_sentences_and_pairs(sentences, pairs):
    twin("uncased").check(sentences)
    twin("uncased").check(pairs)


@pytest.mark.slow
def test_hard_strings():
    # Beside itself: nothing may move to another sentence.
    texts = [text for hard in HARD for text in (hard, hard, "", hard)]
    for name in ("uncased", "cased"):
        twin(name).check_words(texts)
        twin(name).check(HARD)
    twin("uncased").check(list(zip(HARD, HARD[::-1], strict=True)))


def test_hard_strings_with_a_real_vocabulary(real):
    real.check(HARD)
    real.check([a + b for a in HARD for b in HARD])


@pytest.mark.slow
def test_every_code_point_in_a_sentence(real):
    texts = [" a".join(map(chr, ten)) for ten in batches(CODES, 10)]
    for some in batches(texts, 2000):
        real.check(some)


@pytest.mark.slow
@pytest.mark.parametrize("lowercase", [True, False])
def test_sentences_of_glue(shared_dir, real, lowercase):
    tfds = pytest.importorskip("tensorflow_datasets")
    tokenizer = tokenizer_files.from_vocabulary(
        real.tokenizer.vocabulary, {"do_lower_case": lowercase}
    )
    graph = InGraph(Tokenizer.from_json(tokenizer), 128)
    texts = set()
    for task in ("cola", "sst2", "mrpc", "stsb", "rte", "qnli", "mnli", "qqp"):
        builder = tfds.builder(
            f"glue/{task}", data_dir=shared_dir / "data" / "tfds"
        )
        for split in builder.as_dataset(batch_size=-1).values():
            sides = [side for side in split.values() if side.dtype == tf.string]
            texts.update(text for side in sides for text in side.numpy())
    assert len(texts) > 200_000
    for some in batches(sorted(texts), 500):
        graph.check([text.decode() for text in some])


def test_pairs_are_cut_as_the_library_cuts():
    tokenizer = changed()
    library = tokenizers.Tokenizer.from_str(tokenizer.to_json())
    sides = [("a " * i, "b " * j) for i in range(9) for j in range(9)]
    graph = GraphTokenizer(tokenizer, 3)
    for graph.max_length in range(3, 12):
        library.enable_truncation(graph.max_length, strategy="longest_first")
        wanted = [library.encode(*pair).ids for pair in sides]
        ours = tokenizer.encode(sides, graph.max_length)
        assert [list(one.token_ids) for one in ours] == wanted
        found = graph(*map(tf.constant, zip(*sides, strict=True)))
        mask = found["padding_mask"] > 0
        ids = tf.ragged.boolean_mask(found["token_ids"], mask)
        assert ids.to_list() == wanted


def test_bytes_that_are_no_text():
    uncased = twin("uncased")
    for text in (
        b"\xff",
        b"fi\xfflm",
        b"film\xed\xa0\x80 film",
        b"film\xf4\x90\x80\x80film",
        b"film \xe2\x82",
        b"\xc0\x80ab",
        b"\xf0\x9f\x98 film\xf0\x9f\x98s",
    ):
        found = uncased.functions[1](tf.constant([text]))["token_ids"]
        decoded = text.decode("utf-8", errors="replace")
        (wanted,) = uncased.tokenizer.encode([decoded])
        assert found.numpy()[0].tolist() == list(wanted.token_ids), text


def test_batch_without_rows():
    none = tf.constant([], tf.string)
    for sides, function in twin("uncased").functions.items():
        found = function(*[none] * sides)
        assert {value.shape[0] for value in found.values()} == {0}


def test_other_tokenizers_are_refused():
    sequence = {"type": "Sequence", "normalizers": []}
    for tokenizer, message in (
        (changed(normalizer=None), r"\[None, 'BertPre"),
        (changed(normalizer=sequence), r"\['Sequence', 'BertPre"),
        (changed(pre_tokenizer={"type": "Whitespace"}), ", 'Whitespace'"),
    ):
        with pytest.raises(
            ValueError, match=f"same ids. Received: .*{message}"
        ):
            GraphTokenizer(tokenizer, 16)
