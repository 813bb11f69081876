import functools

import numpy as np
import pytest
import tensorflow as tf

from keras_mmel.text import load_masked_lm
from keras_mmel.text.augmentation.encoder import take_encoder
from keras_mmel.text.augmentation.scorer import CLOSE
from keras_mmel.text.augmentation.scorer import Ranked
from keras_mmel.text.augmentation.scorer import Rows
from keras_mmel.text.augmentation.scorer import WordScorer
from keras_mmel.text.augmentation.scorer import rank_surely
from tests.text import tiny
from tests.text.augmentation import plain_loop

ALLOWED = np.array([3, 5, 8, *range(20, 230)])


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return tiny.make_checkpoint(tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="module")
def encoder(checkpoint):
    return take_encoder(load_masked_lm(checkpoint))


@pytest.fixture
def rows():
    random = np.random.default_rng(0)
    return Rows(
        random.integers(0, 230, (6, 11)).astype("int32"),
        random.integers(0, 2, (6, 11)).astype("int32"),
        np.array([11, 1, 5, 7, 8, 11], "int32"),
        np.array([10, 0, 3, 1, 0, 5], "int32"),
    )


def plain(checkpoint, rows, count):
    bert = plain_loop.PlainBert(checkpoint)
    ids, log_probs = [], []
    for i, length in enumerate(rows.lengths):
        found = bert.log_probs(
            rows.token_ids[i, :length],
            rows.segment_ids[i, :length],
            rows.positions[i],
            ALLOWED,
        )
        order = np.argsort(-found)[:count]
        ids.append(ALLOWED[order])
        log_probs.append(found[order])
    return np.stack(ids), np.stack(log_probs)


def surely(scorer):
    return functools.partial(rank_surely, scorer.rank, scorer.rank_exactly)


@pytest.mark.parametrize("how", ["rank", "rank_exactly", "rank_surely"])
@pytest.mark.parametrize("count", [1, 5, len(ALLOWED)])
def test_best_words_and_their_log_probs(checkpoint, encoder, rows, how, count):
    scorer = WordScorer(encoder, ALLOWED)
    rank = surely(scorer) if how == "rank_surely" else getattr(scorer, how)
    ranked = rank(rows, count)
    ids, log_probs = plain(checkpoint, rows, count)
    assert ranked.token_ids.shape == ids.shape
    atol = 1e-11 if how == "rank_exactly" else 2e-5
    np.testing.assert_allclose(ranked.log_probs, log_probs, atol=atol)
    if count < len(ALLOWED) or how != "rank":
        np.testing.assert_array_equal(ranked.token_ids, ids)


def test_rows_of_one_length_go_together(encoder, rows):
    scorer = WordScorer(encoder, ALLOWED)
    same = Rows(
        rows.token_ids,
        rows.segment_ids,
        np.full(6, 11, "int32"),
        rows.positions,
    )
    together = scorer.rank_exactly(same, 3)
    for i in range(6):
        alone = scorer.rank_exactly(same.take([i]), 3)
        np.testing.assert_array_equal(together.token_ids[i], alone.token_ids[0])


def test_many_rows_of_any_length_in_double_precision(checkpoint, encoder):
    random = np.random.default_rng(1)
    lengths = random.integers(1, 12, 37).astype("int32")
    many = Rows(
        random.integers(0, 230, (37, 15)).astype("int32"),
        random.integers(0, 2, (37, 15)).astype("int32"),
        lengths,
        (lengths // 2).astype("int32"),
    )
    ranked = WordScorer(encoder, ALLOWED).rank_exactly(many, 3)
    ids, log_probs = plain(checkpoint, many, 3)
    np.testing.assert_array_equal(ranked.token_ids, ids)
    np.testing.assert_allclose(ranked.log_probs, log_probs, atol=1e-11)


def test_close_rows_alone_are_ranked_anew(encoder, rows):
    scorer = WordScorer(encoder, ALLOWED)
    expected = scorer.rank_exactly(rows, 2)
    asked = []

    def rank(rows, count):
        ranked = scorer.rank(rows, count)
        close = np.isin(np.arange(6), [1, 3])
        ids = np.where(close[:, None], 0, ranked.token_ids)
        return Ranked(ids, ranked.log_probs, close)

    def rank_exactly(rows, count):
        asked.append(rows)
        return scorer.rank_exactly(rows, count)

    found = rank_surely(rank, rank_exactly, rows, 2)
    assert not found.close.any()
    np.testing.assert_array_equal(found.token_ids, expected.token_ids)
    np.testing.assert_array_equal(found.log_probs[1], expected.log_probs[1])
    (only,) = asked
    # Without the padding that the longest row of the batch asked for.
    assert only.token_ids.shape == (2, 7)
    assert only.lengths.tolist() == [1, 7]
    assert only.positions.tolist() == [0, 1]


def test_jit_pads_to_few_shapes_and_changes_nothing(encoder, rows):
    scorer = WordScorer(encoder, ALLOWED, jit_compile=True, static_rows=(4, 16))
    inputs = scorer._inputs(rows)
    assert [tuple(part.shape) for part in inputs] == [(16, 16)] * 2 + [
        (16,)
    ] * 2
    found = scorer.rank(rows, 2)
    expected = WordScorer(encoder, ALLOWED).rank(rows, 2)
    np.testing.assert_array_equal(found.token_ids, expected.token_ids)
    np.testing.assert_allclose(found.log_probs, expected.log_probs, atol=2e-5)


def test_many_words_are_searched_by_chunks():
    from keras_mmel.text.augmentation.scorer import _top

    random = np.random.default_rng(0)
    logits = random.permutation(5 * 128 * 40).reshape(5, -1).astype("float32")
    for count in (1, 2, 6, 9, 10, 11):
        best, indices = _top(tf.constant(logits), count)
        order = np.argsort(-logits, axis=1)[:, :count]
        np.testing.assert_array_equal(indices, order)
        np.testing.assert_array_equal(
            best, np.take_along_axis(logits, order, axis=1)
        )


def twins(encoder, first, second, shift=0.0):
    """A masked LM for which two words are equal, up to `shift`."""
    import dataclasses

    kernel, bias = encoder.decoder.kernel.numpy(), encoder.decoder.bias.numpy()
    kernel[:, second] = kernel[:, first]
    bias[second] = bias[first] = bias.max() + 5
    bias[second] += shift
    decoder = dataclasses.replace(
        encoder.decoder, kernel=tf.constant(kernel), bias=tf.constant(bias)
    )
    return dataclasses.replace(encoder, decoder=decoder)


def test_close_words_are_told(encoder, rows):
    one = rows.take([0])
    far = WordScorer(twins(encoder, 50, 40, 2 * CLOSE), ALLOWED)
    assert not far.rank(one, 1).close[0]
    near = WordScorer(twins(encoder, 50, 40, CLOSE / 2), ALLOWED)
    assert near.rank(one, 1).close[0]
    # The first beyond the wanted ones counts, what lies behind does not.
    assert near.rank(one, 2).close[0]
    assert surely(near)(one, 2).token_ids[0, 0] == 40


def test_of_equal_words_the_lower_id_goes_first(encoder, rows):
    scorer = WordScorer(twins(encoder, 50, 40), ALLOWED)
    for i in range(6):
        found = surely(scorer)(rows.take([i]), 2)
        assert found.token_ids[0].tolist() == [40, 50]
    # A difference far below single precision decides.
    scorer = WordScorer(twins(encoder, 40, 50, 1e-5), ALLOWED)
    found = surely(scorer)(rows, 2).token_ids
    assert found.tolist() == [[50, 40]] * 6


def test_tensor_float_32_is_off_only_inside(encoder, rows):
    state = tf.config.experimental.tensor_float_32_execution_enabled
    before = state()
    scorer = WordScorer(encoder, ALLOWED)
    scorer.rank(rows, 1)
    assert state() == before
