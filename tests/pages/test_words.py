"""Texts of views: decoding, and marking what differs."""

import types

import numpy as np
import pytest

from keras_mmel.diagnostics import ViewWeights
from keras_mmel.pages import words
from tests.diagnostics import watched

VOCABULARY = ["[PAD]", "[CLS]", "[SEP]", "un", "##seen", "film", "good"]


@pytest.mark.parametrize(
    "ids, expected",
    [
        ([1, 3, 4, 5, 2, 0, 0], "unseen film"),
        ([1, 5, 2, 6, 5, 2], "film ‖ good film"),
        ([4, 5], "##seen film"),
        ([1, 2], ""),
        ([], ""),
    ],
)
def test_decode(ids, expected):
    assert words.decode(ids, VOCABULARY) == expected


@pytest.mark.parametrize("token", [7, -1])
def test_ids_beyond_the_vocabulary_are_refused(token):
    with pytest.raises(ValueError, match=f"below 7.*Received: {token}"):
        words.decode([token], VOCABULARY)


@pytest.mark.parametrize(
    "original, view, differing",
    [
        ("a good film", "a fine film", ["fine"]),
        ("a b c d", "a x c y", ["x", "y"]),
        ("a b", "a b", []),
        ("", "new words", ["new", "words"]),
        ("the end", "the very end", ["very"]),
        ("a " * 300, "a " * 299 + "b", ["b"]),
        ("a b", "", []),
    ],
)
def test_words_that_differ_are_marked(original, view, differing):
    marked = words.mark(original, view)
    assert [word for word, _ in marked] == view.split()
    assert [word for word, differs in marked if differs] == differing


def test_markdown_of_the_text_is_escaped():
    found = words.marked_markdown("a *b* c", "a *b* <i>_|")
    assert found == "a \\*b\\* **\\<i\\>\\_\\|**"


@pytest.mark.parametrize(
    "view, expected",
    [
        ("a", "a"),
        (b"caf\xc3\xa9", "café"),
        (("a b", "c"), "a b ‖ c"),
        (("a", ""), "a"),
        (types.SimpleNamespace(text=("a", "b")), "a ‖ b"),
    ],
)
def test_views_as_text(view, expected):
    assert words.as_text(view) == expected


@pytest.mark.parametrize("view", [5, None, ("a", "b", "c")])
def test_other_views_are_refused(view):
    with pytest.raises(TypeError, match="string or a pair.*Received"):
        words.as_text(view)


def test_texts_of_a_probe():
    x, y = watched.data(watched.text, mask=True)
    pieces = ["[PAD]", "[CLS]", "[SEP]", *"abcdef"]
    tokenizer = types.SimpleNamespace(vocabulary=pieces)
    decoded = ViewWeights((x, y), tokenizer=tokenizer).run.texts
    for group in range(12):
        for view in range(4):
            ids = x["views"]["token_ids"][group, view]
            keep = x["views"]["padding_mask"][group, view]
            expected = " ".join(pieces[i] for i in ids[keep])
            if not x["mask"][group, view]:
                expected = ""
            assert decoded[group][view] == expected
    by_list = ViewWeights((x, y), texts=decoded + [["more"]], num_groups=12)
    assert by_list.run.texts == decoded

    def of_batch(views):
        return [["a", "b", "c", "d"]] * len(views["token_ids"])

    found = ViewWeights((x, y), texts=of_batch, batch_size=5).run.texts
    assert [text for text in found[0] if text] == list("abcd")[
        : x["mask"][0].sum()
    ]
    assert ViewWeights((x, y)).run.texts is None


def test_a_tokenizer_needs_token_ids():
    tokenizer = types.SimpleNamespace(vocabulary=VOCABULARY)
    with pytest.raises(ValueError, match="token_ids.*Received: 1 inputs"):
        ViewWeights(watched.data(), tokenizer=tokenizer)
    x = {"views": np.ones((2, 4, 3), "int32")}
    found = ViewWeights((x, [0, 1]), tokenizer=tokenizer).run.texts
    assert found == [[""] * 4] * 2
