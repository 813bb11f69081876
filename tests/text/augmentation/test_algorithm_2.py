"""The augmenter beside a plain loop over algorithm 2, token by token."""

import functools

import numpy as np
import pytest
import threadpoolctl
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from keras_mmel.text import MaskedLMAugmenter
from keras_mmel.text import load_masked_lm
from keras_mmel.text.augmentation.masking import count_masked
from tests.text import tiny
from tests.text.augmentation import plain_loop

# Two words that are closer than this are as likely in single precision.
CLOSE = 1e-4


@pytest.fixture(autouse=True)
def one_thread():
    """Threads of NumPy that wait for each other take most of the time."""
    with threadpoolctl.threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def made(checkpoint, masked_lm):
    return plain_loop.PlainBert(checkpoint), masked_lm


@pytest.fixture(scope="module")
def real(shared_dir):
    directory = shared_dir / "models" / "bert_tiny_mlm"
    return plain_loop.PlainBert(directory), load_masked_lm(directory)


def sentences(shared_dir, config, columns, count):
    tfds = pytest.importorskip("tensorflow_datasets")
    dataset = tfds.load(
        f"glue/{config}",
        split=f"train[:{count}]",
        data_dir=shared_dir / "data" / "tfds",
        download=False,
    )
    rows = [
        tuple(row[column].decode() for column in columns)
        for row in dataset.as_numpy_iterator()
    ]
    return [row[0] if len(row) == 1 else row for row in rows]


def expected_of(models, encoded, positions, count, beams=None):
    """The plain loop at the masks that a sample tells."""
    bert, masked_lm = models
    tokenizer = masked_lm.tokenizer
    how = plain_loop.algorithm_2
    if beams is not None:
        how = functools.partial(plain_loop.plain_beam, beams=beams)
    return how(
        bert.log_probs,
        encoded.token_ids,
        encoded.segment_ids,
        positions,
        count,
        allowed=plain_loop.allowed_ids(tokenizer.vocabulary),
        mask=tokenizer.mask_id,
    )


def assert_same(samples, expected):
    expected, gap = expected
    assert gap > CLOSE, "a case that may be decided either way"
    assert [one.token_ids for one in samples] == [tuple(z) for z, _ in expected]
    np.testing.assert_allclose(
        [one.log_prob for one in samples],
        [total for _, total in expected],
        atol=1e-4,
    )


def check(models, texts, samples, count, beams=None):
    """Compares whole texts; returns how many of them are clear cases."""
    _, masked_lm = models
    clear = 0
    encoded = masked_lm.tokenizer.encode(texts)
    for one, found in zip(encoded, samples, strict=True):
        assert len(found) == count
        assert len({sample.positions for sample in found}) == 1
        expected = expected_of(models, one, found[0].positions, count, beams)
        if expected[1] > CLOSE:
            assert_same(found, expected)
            clear += 1
    return clear


def test_real_sentences(real, shared_dir):
    texts = sentences(shared_dir, "cola", ["sentence"], 16)
    texts += sentences(shared_dir, "rte", ["sentence2"], 4)
    assert len(set(texts)) == 20
    _, masked_lm = real
    result = MaskedLMAugmenter(masked_lm, num_augmented=4).augment(texts)
    assert check(real, texts, result, 4) == 20
    encoded = masked_lm.tokenizer.encode(texts)
    for one, samples in zip(encoded, result, strict=True):
        length = len(one.token_ids) - 2
        masked = set(samples[0].positions)
        assert len(masked) == count_masked(length, length, 0.4)


def test_real_pairs_each_sentence_by_itself(real, shared_dir):
    _, masked_lm = real
    pairs = sentences(shared_dir, "rte", ["sentence1", "sentence2"], 12)
    pairs = sorted(pairs, key=lambda pair: len(pair[0]))[:3]
    tokenizer = masked_lm.tokenizer
    result = MaskedLMAugmenter(masked_lm, num_augmented=2).augment(pairs)
    for pair, samples in zip(pairs, result, strict=True):
        (joint,) = tokenizer.encode([pair])
        middle = joint.token_ids.index(tokenizer.sep_id)
        positions = samples[0].positions
        # Each sentence as it would be encoded alone, and its masks.
        parts = [
            (pair[0], [p for p in positions if p < middle]),
            (pair[1], [p - middle for p in positions if p > middle]),
        ]
        first, second = [
            expected_of(real, tokenizer.encode([text])[0], masks, 2)
            for text, masks in parts
        ]
        both = [
            (a + b[1:], log_a + log_b)
            for (a, log_a), (b, log_b) in zip(first[0], second[0], strict=True)
        ]
        assert_same(samples, (both, min(first[1], second[1])))


def test_beam_on_real_sentences(real, shared_dir):
    _, masked_lm = real
    texts = sentences(shared_dir, "cola", ["sentence"], 2)
    augmenter = MaskedLMAugmenter(
        masked_lm, num_augmented=3, search="beam", num_beams=3
    )
    assert check(real, texts, augmenter.augment(texts), 3, 3) == 2


words = st.sampled_from([w for w in tiny.WORDS if len(w) > 1])
made_texts = st.lists(words, min_size=1, max_size=9).map(" ".join)


@functools.cache
def made_augmenter(masked_lm, *settings):
    ratio, search, slots, count = settings
    return MaskedLMAugmenter(
        masked_lm, count, ratio, search, pairs="concatenated", slots=slots
    )


@settings(max_examples=15, deadline=None)
@given(
    texts=st.lists(
        st.one_of(made_texts, st.tuples(made_texts, made_texts)),
        min_size=1,
        max_size=4,
    ),
    how=st.sampled_from(
        [
            (0.0, "greedy", 3, 4),
            (0.5, "greedy", 9, 3),
            (1.0, "greedy", 1, 1),
            (0.2, "beam", 9, 1),
            (0.5, "beam", 4, 3),
        ]
    ),
)
def test_made_model(made, texts, how):
    _, masked_lm = made
    *_, search, _, count = how
    beams = None if search == "greedy" else count + 1
    samples = made_augmenter(masked_lm, *how).augment(texts)
    check(made, texts, samples, count, beams)


def test_rank_follows_where_a_sample_is_the_original(made):
    _, masked_lm = made
    augmenter = MaskedLMAugmenter(masked_lm, 3)
    # What the masked LM likes best for a single word, as the original.
    best, *others = augmenter.augment(["film"])[0]
    samples = augmenter.augment([best.text])[0]
    assert best.token_ids not in [one.token_ids for one in samples]
    assert check(made, [best.text], [samples], 3) == 1
    # One word, so the mask looks the same whatever stood there.
    assert samples[:2] == others
