import hypothesis
import pytest
from hypothesis import strategies as st

from keras_mmel.text import Tokenizer
from keras_mmel.text.augmentation.splice import splice
from keras_mmel.text.bert import tokenizer_files
from tests.text import tiny


@pytest.fixture(scope="module")
def tokenizer():
    pieces = [*tiny.VOCABULARY, "中", "文", "ᄒ", "##ᅡ", "##ᆫ", "…", "²"]
    return Tokenizer.from_json(tokenizer_files.from_vocabulary(pieces, {}))


def replace(tokenizer, text, replacements):
    """Splice by the numbers of the tokens, special tokens left out."""
    encoded = tokenizer.encode([text])[0]
    pieces = [tokenizer.vocabulary[i] for i in encoded.token_ids[1:-1]]
    for index, piece in replacements.items():
        pieces[index] = piece
    return splice(text, encoded.offsets[1:-1], pieces, set(replacements))


@pytest.mark.parametrize(
    ("text", "replacements", "expected"),
    [
        ("A  Fine\tfilm.", {}, "A  Fine\tfilm."),
        ("A  Fine\tfilm.", {1: "dull"}, "A  dull\tfilm."),
        ("  A Film. ", {0: "the", 2: "?"}, "  the Film? "),
        # Accents and case of what stays.
        ("Café film NAÏVE", {1: "book"}, "Café book NAÏVE"),
        # Accents of what goes, combined or by themselves.
        ("café film", {0: "book"}, "book film"),
        ("cafe\u0301 film", {0: "book"}, "book film"),
        ("film cafe\u0301", {1: "book"}, "film book"),
        # A word where only a sign kept its neighbours apart.
        ("he didn't go", {3: "or"}, "he didn or t go"),
        ("one-two", {1: "and"}, "one and two"),
        # Continuation pieces join.
        ("film book", {1: "##s"}, "films"),
        ("films", {1: "book"}, "film book"),
        ("films", {0: "book"}, "books"),
        # Ideographs need no space.
        ("中文", {1: "film"}, "中film"),
        # A syllable of several tokens is rewritten as a whole.
        ("film 한 book", {2: "##s"}, "film ᄒsᆫ book"),
        # No-break spaces are spaces, control characters are not.
        ("a\u00a0film", {1: "book"}, "a\u00a0book"),
        ("one,\x1ftwo", {1: "and"}, "one and\x1f two"),
        ("[A] film", {1: "book"}, "[book] film"),
    ],
)
def test_replaces_only_what_changed(tokenizer, text, replacements, expected):
    assert replace(tokenizer, text, replacements) == expected


def test_rest_of_a_cut_text_stays():
    text = "A fine film, and more."
    assert splice(text, [(0, 1), (2, 6)], ["a", "dull"], {1}) == (
        "A dull film, and more."
    )


characters = st.sampled_from(
    list("ab ab ab.,-'!¿[]#")
    + ["é", "e\u0301", "\u00a0", "\t", "中", "文"]
    + ["\u200b", "\x1f", "²", "…", "한", "film", " film", "book ", "S", "ß"]
)
texts = st.lists(characters, max_size=14).map("".join)


@hypothesis.settings(max_examples=300, deadline=None)
@hypothesis.given(text=texts, data=st.data())
def test_words_for_words_tokenize_to_what_was_filled_in(tokenizer, text, data):
    encoded = tokenizer.encode([text])[0]
    ids, words = encoded.token_ids[1:-1], encoded.word_ids[1:-1]
    alone = [i for i, w in enumerate(words) if words.count(w) == 1]
    if not alone:
        assert splice(text, encoded.offsets[1:-1], ids, set()) == text
        return
    chosen = data.draw(st.sets(st.sampled_from(alone)))
    allowed = ["film", "book", "a", ".", "'", "[", "中", "…", "²"]
    replacements = {
        i: data.draw(st.sampled_from(allowed)) for i in sorted(chosen)
    }
    found = replace(tokenizer, text, replacements)
    expected = list(ids)
    for index, piece in replacements.items():
        expected[index] = tokenizer.vocabulary.index(piece)
    assert list(tokenizer.encode([found])[0].token_ids[1:-1]) == expected
    if not replacements:
        assert found == text
