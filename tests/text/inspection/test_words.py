"""Which words were replaced."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_mmel.text.inspection import words

TEXT = st.text(st.sampled_from("ab .,'\u00e9\u4e2d\n"), max_size=12)


@pytest.mark.parametrize(
    ("original", "view", "marked"),
    [
        ("a fine film", "a good film", "a [good] film"),
        ("a fine film", "a fine film", "a fine film"),
        ("Fine,  it's", "Poor,  he's", "[Poor],  [he]'s"),
        ("it is so good", "it is good", "it is good"),
        ("it is good", "it is very good", "it is [very] good"),
        ("caf\u00e9 au lait", "caf\u00e9 et lait", "caf\u00e9 [et] lait"),
        ("", "new", "[new]"),
        ("old", "", ""),
    ],
)
def test_replaced_words_are_marked(original, view, marked):
    pieces = words.mark_replaced(original, view)
    assert marked == "".join(
        f"[{piece.text}]" if piece.replaced else piece.text for piece in pieces
    )


@given(TEXT, TEXT)
def test_pieces_join_to_the_view(original, view):
    pieces = words.mark_replaced(original, view)
    assert "".join(piece.text for piece in pieces) == view
    assert not any(p.replaced for p in words.mark_replaced(view, view))
    share = words.share_of_other_words(original, view)
    assert 0 <= share <= 1
    count = words.count_words(view)
    if count:
        replaced = sum(piece.replaced for piece in pieces)
        assert share == pytest.approx(replaced / count)


def test_shares_of_words():
    assert words.count_words("It's 5% off.") == 7
    assert words.share_of_other_words("a b c d", "a x c y") == 0.5
    assert words.share_of_other_words("a b", "") == 1
    assert words.share_of_other_words("", "") == 0
