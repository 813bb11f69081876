"""Which words of a view are marked, for every page alike."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_mmel.pages import page
from keras_mmel.pages import words

TEXT = st.text(st.sampled_from("ab .,'\u00e9\u4e2d\n"), max_size=12)


@pytest.mark.parametrize(
    ("original", "view", "marked"),
    [
        ("a fine film", "a good film", "a [good] film"),
        ("a fine film", "a fine film", "a fine film"),
        # A sign is a word of its own: "film" is not what was replaced here,
        # and a word before a new sign counts as kept.
        (
            "A fine film, and long.",
            "A good film; and long.",
            "A [good] film[;] and long.",
        ),
        ("Fine,  it's", "Poor,  he's", "[Poor],  [he]'s"),
        ("a b c d", "a x c y", "a [x] c [y]"),
        ("it is so good", "it is good", "it is good"),
        ("it is good", "it is very good", "it is [very] good"),
        ("a " * 300, "a " * 299 + "b", "a " * 299 + "[b]"),
        ("café au lait", "café et lait", "café [et] lait"),
        ("", "new words", "[new] [words]"),
        ("old", "", ""),
    ],
)
def test_replaced_words_are_marked(original, view, marked):
    pieces = words.mark(original, view)
    assert marked == "".join(
        f"[{piece}]" if differs else piece for piece, differs in pieces
    )
    html = page.template("parts.html").module.marked(original, view)
    for bracket, tag in (("[", "<mark>"), ("]", "</mark>")):
        marked = marked.replace(bracket, tag)
    assert html == f"<bdi>{marked.replace(chr(39), '&#39;')}</bdi>"


@given(TEXT, TEXT)
def test_pieces_join_to_the_view(original, view):
    pieces = words.mark(original, view)
    assert "".join(piece for piece, _ in pieces) == view
    assert not any(differs for _, differs in words.mark(view, view))
    replaced = sum(differs for _, differs in pieces)
    assert replaced <= words.count_words(view)


def test_words_are_counted():
    assert words.count_words("It's 5% off.") == 7
