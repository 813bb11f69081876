import numpy as np
import pytest
import tensorflow as tf

from keras_mmel.text.augmentation.encoder import take_encoder
from keras_mmel.text.augmentation.scorer import WordScorer
from keras_mmel.text.augmentation.scorer import top
from tests.text.augmentation import plain_loop

ALLOWED = np.array([3, 5, 8, *range(20, 230)])


@pytest.mark.parametrize("count", [1, 5, len(ALLOWED), 1000])
def test_best_words_and_their_log_probs(checkpoint, masked_lm, count):
    random = np.random.default_rng(0)
    token_ids = random.integers(0, 230, (6, 11)).astype("int32")
    segment_ids = random.integers(0, 2, (6, 11)).astype("int32")
    lengths = np.array([11, 1, 5, 7, 8, 11], "int32")
    positions = np.array([10, 0, 3, 1, 0, 5], "int32")
    scorer = WordScorer(take_encoder(masked_lm), ALLOWED)
    ids, log_probs = scorer.rank(
        token_ids, segment_ids, lengths, positions, count
    )
    bert = plain_loop.PlainBert(checkpoint)
    for i, length in enumerate(lengths):
        expected = bert.log_probs(
            token_ids[i, :length],
            segment_ids[i, :length],
            positions[i],
            ALLOWED,
        )
        order = np.argsort(-expected)[:count]
        np.testing.assert_allclose(log_probs[i], expected[order], atol=2e-5)
        if count < len(ALLOWED):
            np.testing.assert_array_equal(ids[i], ALLOWED[order])
        else:
            # Far down, words are as likely as their neighbours.
            assert sorted(ids[i]) == list(ALLOWED)


@pytest.mark.parametrize("count", [1, 2, 6, 39, 41, 5120])
def test_largest_are_found_by_chunks(count):
    random = np.random.default_rng(0)
    logits = random.permutation(3 * 128 * 40).reshape(3, -1).astype("float32")
    best, indices = top(tf.constant(logits), tf.constant(count))
    order = np.argsort(-logits, axis=1)[:, :count]
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(
        best, np.take_along_axis(logits, order, axis=1)
    )
