"""The augmenter beside a plain loop over algorithm 2, token by token."""

import numpy as np
import pytest
import threadpoolctl
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from keras_mmel.text import MaskedLMAugmenter
from keras_mmel.text import load_masked_lm
from tests.text import tiny
from tests.text.augmentation import plain_loop


@pytest.fixture(autouse=True)
def one_thread():
    """Threads of NumPy that wait for each other take most of the time."""
    with threadpoolctl.threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    directory = tiny.make_checkpoint(tmp_path_factory.mktemp("made"))
    return plain_loop.PlainBert(directory), load_masked_lm(directory)


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


def expected_of(bert, tokenizer, encoded, sample, count, beams=None):
    """The plain loop at the masks that a sample tells."""
    allowed = plain_loop.allowed_ids(tokenizer.vocabulary)
    arguments = (encoded.token_ids, encoded.segment_ids, sample.positions)
    mask = tokenizer.mask_id
    if beams is None:
        return plain_loop.algorithm_2(bert, *arguments, count, allowed, mask)
    return plain_loop.plain_beam(bert, *arguments, count, beams, allowed, mask)


def assert_same(samples, expected):
    assert [one.token_ids for one in samples] == [tuple(z) for z, _ in expected]
    np.testing.assert_allclose(
        [one.log_prob for one in samples],
        [total for _, total in expected],
        atol=1e-4,
    )


def test_50_real_sentences(real, shared_dir):
    bert, masked_lm = real
    texts = sentences(shared_dir, "cola", ["sentence"], 42)
    texts += sentences(shared_dir, "rte", ["sentence2"], 8)
    assert len(set(texts)) == 50
    augmenter = MaskedLMAugmenter(masked_lm, num_augmented=4)
    tokenizer = masked_lm.tokenizer
    result = augmenter.augment(texts)
    for encoded, samples in zip(tokenizer.encode(texts), result, strict=True):
        assert len(samples) == 4
        length = len(encoded.token_ids) - 2
        count = max(1, round(0.4 * length))
        assert len(set(samples[0].positions)) == count
        assert len({one.positions for one in samples}) == 1
        expected = expected_of(bert, tokenizer, encoded, samples[0], 4)
        assert_same(samples, expected)


def test_real_pairs_each_sentence_by_itself(real, shared_dir):
    bert, masked_lm = real
    pairs = sentences(shared_dir, "rte", ["sentence1", "sentence2"], 12)
    pairs = sorted(pairs, key=lambda pair: len(pair[0]))[:3]
    tokenizer = masked_lm.tokenizer
    result = MaskedLMAugmenter(masked_lm, num_augmented=2).augment(pairs)
    for pair, samples in zip(pairs, result, strict=True):
        joint = tokenizer.encode([pair])[0].token_ids
        middle = joint.index(tokenizer.sep_id)
        sides = [joint[: middle + 1], (tokenizer.cls_id, *joint[middle + 1 :])]
        parts = [
            [p for p in samples[0].positions if p < middle],
            [p - middle for p in samples[0].positions if p > middle],
        ]
        allowed = plain_loop.allowed_ids(tokenizer.vocabulary)
        found = [
            plain_loop.algorithm_2(
                bert,
                side,
                [0] * len(side),
                positions,
                2,
                allowed,
                tokenizer.mask_id,
            )
            for side, positions in zip(sides, parts, strict=True)
        ]
        assert_same(
            samples,
            [
                (a + b[1:], log_a + log_b)
                for (a, log_a), (b, log_b) in zip(*found, strict=True)
            ],
        )


def test_beam_on_real_sentences(real, shared_dir):
    bert, masked_lm = real
    texts = sentences(shared_dir, "cola", ["sentence"], 2)
    tokenizer = masked_lm.tokenizer
    augmenter = MaskedLMAugmenter(
        masked_lm, num_augmented=3, search="beam", num_beams=3
    )
    encoded = tokenizer.encode(texts)
    for one, samples in zip(encoded, augmenter.augment(texts), strict=True):
        expected = expected_of(bert, tokenizer, one, samples[0], 3, beams=3)
        assert_same(samples, expected)


words = st.sampled_from([w for w in tiny.WORDS if len(w) > 1])
made_texts = st.lists(words, min_size=1, max_size=9).map(" ".join)


@settings(max_examples=12, deadline=None)
@given(
    texts=st.lists(
        st.one_of(made_texts, st.tuples(made_texts, made_texts)),
        min_size=1,
        max_size=4,
    ),
    ratio=st.sampled_from([0.0, 0.2, 0.5, 1.0]),
    search=st.sampled_from(["greedy", "beam"]),
    slots=st.integers(1, 9),
    count=st.integers(1, 4),
)
def test_made_model(made, texts, ratio, search, slots, count):
    bert, masked_lm = made
    tokenizer = masked_lm.tokenizer
    augmenter = MaskedLMAugmenter(
        masked_lm,
        count,
        ratio,
        search,
        pairs="concatenated",
        slots=slots,
    )
    beams = None if search == "greedy" else count + 1
    encoded = tokenizer.encode(texts)
    for one, samples in zip(encoded, augmenter.augment(texts), strict=True):
        assert len(samples) == count
        expected = expected_of(bert, tokenizer, one, samples[0], count, beams)
        assert_same(samples, expected)


def test_rank_follows_where_a_sample_is_the_original(made):
    bert, masked_lm = made
    tokenizer = masked_lm.tokenizer
    augmenter = MaskedLMAugmenter(masked_lm, 3)
    # What the masked LM likes best for a single word, as the original.
    best = augmenter.augment(["film"])[0][0]
    samples = augmenter.augment([best.text])[0]
    assert best.token_ids not in [one.token_ids for one in samples]
    encoded = tokenizer.encode([best.text])[0]
    expected = expected_of(bert, tokenizer, encoded, samples[0], 3)
    assert_same(samples, expected)
    wider = MaskedLMAugmenter(masked_lm, 4).augment(["film"])[0]
    # One word, so the mask looks the same whatever stood there.
    assert samples[:2] == wider[1:3]
