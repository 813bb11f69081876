"""Tokenizer against transformers' stored ids and the library's own calls."""

import json
import pathlib
import pickle
import re

import hypothesis
import numpy as np
import pytest
import tokenizers
from hypothesis import strategies as st

from keras_mmel.text.bert import tokenizer_files
from keras_mmel.text.bert.tokenizer import Tokenizer
from tests.text import tiny

REFERENCE = pathlib.Path(__file__).parent / "reference" / "tokenizer.json"


def made(pieces=tiny.VOCABULARY, **options):
    return Tokenizer.from_json(tokenizer_files.from_vocabulary(pieces, options))


@pytest.fixture(scope="module")
def real(shared_dir):
    return Tokenizer.from_directory(shared_dir / "models" / "bert_tiny_mlm")


@pytest.mark.parametrize("case", ["uncased", "cased"])
def test_ids_equal_transformers(real, case):
    cases = json.loads(REFERENCE.read_text())["cases"]
    if case == "cased":
        real = made(real.vocabulary, do_lower_case=False)
    encoded = real.encode([c["text"] for c in cases])
    for expected, got in zip(cases, encoded, strict=True):
        assert list(got.token_ids) == expected[case], expected["text"]


def test_literal_specials_are_text(real):
    texts = ["a [MASK] b", "[SEP][CLS] x", "[PAD] [UNK]", "[unused5]"]
    for text, encoded in zip(texts, real.encode(texts), strict=True):
        inner = [real.vocabulary[i] for i in encoded.token_ids[1:-1]]
        apart = re.findall(r"\w+|[^\w\s]", text.lower())
        assert "".join(inner).replace("##", "") == "".join(apart)
        assert not set(encoded.token_ids[1:-1]) & set(real.banned_ids.tolist())


def test_cased_and_uncased():
    pieces = [*tiny.SPECIAL, *"film Film cafe \u00e9 caf ##\u00e9".split()]

    def ids(**options):
        text = "Film film caf\u00e9"
        return made(pieces, **options).encode([text])[0].token_ids

    assert ids() == (2, 5, 5, 7, 3)
    assert ids(do_lower_case=False) == (2, 6, 5, 9, 10, 3)
    assert ids(strip_accents=False) == (2, 5, 5, 9, 10, 3)


def test_files_of_both_kinds_give_one_tokenizer(tmp_path):
    whole = tiny.make_checkpoint(tmp_path / "a", tokenizer="tokenizer.json")
    lines = tiny.make_checkpoint(tmp_path / "b", tokenizer="vocab.txt")
    one, other = map(Tokenizer.from_directory, (whole, lines))
    assert one.fingerprint == other.fingerprint
    assert one.vocabulary == other.vocabulary == tiny.VOCABULARY
    assert one.encode(["A film."]) == other.encode(["A film."])


def test_fingerprint_tells_tokenizers_apart(real):
    prints = {
        real.fingerprint,
        made().fingerprint,
        made(do_lower_case=False).fingerprint,
        made(strip_accents=False).fingerprint,
        made([*tiny.VOCABULARY, "more"]).fingerprint,
    }
    assert len(prints) == 5


@pytest.mark.parametrize("key", ["do_lower_case", "strip_accents"])
def test_config_decides_over_tokenizer_json(tmp_path, key):
    # As in transformers (seen with 5.24 for all three options).
    path = tiny.make_checkpoint(tmp_path / "a", tokenizer="tokenizer.json")
    config = {"do_lower_case": True, key: False}
    (path / "tokenizer_config.json").write_text(json.dumps(config))
    read = Tokenizer.from_directory(path)
    assert read.fingerprint == made(**config).fingerprint


def test_lines_of_a_vocabulary(tmp_path):
    # U+2028 and U+0085 are no line ends here; a carriage return is none.
    pieces = [*tiny.SPECIAL, "a\u2028b", "\u0085", "caf\u00e9"]
    (tmp_path / "vocab.txt").write_bytes("\r\n".join(pieces).encode())
    assert Tokenizer.from_directory(tmp_path).vocabulary == pieces


texts = st.text(max_size=24) | st.lists(
    st.sampled_from(tiny.WORDS), max_size=12
).map(" ".join)


@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(
    st.lists(texts | st.tuples(texts, texts), max_size=5),
    st.none() | st.integers(3, 20),
)
def test_encode_equals_the_library(batch, max_length):
    ours = made()
    theirs = tokenizers.Tokenizer.from_str(ours.to_json())
    theirs.encode_special_tokens = True
    if max_length is not None:
        theirs.enable_truncation(max_length, strategy="longest_first")
    expected = theirs.encode_batch(batch) if batch else []
    got = ours.encode(batch, max_length=max_length)
    assert len(got) == len(batch)
    for e, g in zip(expected, got, strict=True):
        assert g.token_ids == tuple(e.ids)
        assert g.segment_ids == tuple(e.type_ids)
        assert g.offsets == tuple(e.offsets)
        assert g.word_ids == tuple(e.word_ids)
        assert g.sequence_ids == tuple(e.sequence_ids)


def test_ids_of_specials_and_banned():
    tokenizer = made()
    names = ("pad", "unk", "cls", "sep", "mask")
    assert [getattr(tokenizer, f"{n}_id") for n in names] == [0, 1, 2, 3, 4]
    assert tokenizer.banned_ids.tolist() == list(range(9))
    assert tokenizer.banned_ids.dtype == np.int32
    # Holes in the ids are banned too.
    state = json.loads(tokenizer.to_json())
    state["model"]["vocab"]["late"] = len(tiny.VOCABULARY) + 2
    tokenizer = Tokenizer.from_json(json.dumps(state))
    assert tokenizer.vocabulary[-3:] == ["", "", "late"]
    assert tokenizer.banned_ids.tolist()[-2:] == [233, 234]


def test_json_and_pickle_keep_everything():
    tokenizer = made(strip_accents=False)
    for copy in (
        Tokenizer.from_json(tokenizer.to_json()),
        pickle.loads(pickle.dumps(tokenizer)),
        Tokenizer(tokenizer.tokenizer),
    ):
        assert copy.fingerprint == tokenizer.fingerprint
        text = ["the caf\u00e9 [MASK]"]
        assert copy.encode(text) == tokenizer.encode(text)


def test_texts_and_lengths_that_are_none():
    encode = made().encode
    for texts, message in (
        ("one text", "sequence of texts"),
        ([1], r"Received: texts\[0\]=1"),
        (["a", ("a", "b", "c")], r"texts\[1\]"),
    ):
        with pytest.raises(TypeError, match=message):
            encode(texts)
    with pytest.raises(ValueError, match=r"valid Unicode.*texts\[1\]"):
        encode(["a", "b\ud800"])
    with pytest.raises(ValueError, match="at least 2.*max_length=1"):
        encode(["a"], max_length=1)
    with pytest.raises(ValueError, match="at least 3.*max_length=2"):
        encode(["a", ("a", "b")], max_length=2)
    assert encode(["a"], max_length=2)[0].token_ids == (2, 3)


def test_files_that_are_no_wordpiece_tokenizer(tmp_path):
    def refused(message, error=ValueError):
        with pytest.raises(error, match=message):
            Tokenizer.from_directory(tmp_path)

    (tmp_path / "config.json").write_text("{}")
    refused(r"vocab.txt.*\['config.json'\]", FileNotFoundError)
    (tmp_path / "tokenizer.json").write_text("{")
    refused("readable.*tokenizer.json")
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
    bpe.save(str(tmp_path / "tokenizer.json"))
    refused("WordPiece.*'BPE'")
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\n")
    refused(r"without \['\[MASK\]'\]")
