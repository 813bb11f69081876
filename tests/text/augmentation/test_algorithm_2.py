"""The augmenter beside a plain loop over algorithm 2, token by token."""

import functools

import numpy as np
import pytest
import threadpoolctl

from keras_mmel.text import MaskedLMAugmenter
from keras_mmel.text import load_masked_lm
from keras_mmel.text.augmentation.masking import count_masked
from tests.text.augmentation import plain_loop
from tests.text.bert.numpy_bert import NumpyBert

# Two words that are closer than this are as likely in single precision.
CLOSE = 1e-4


@pytest.fixture(autouse=True)
def one_thread():
    """Threads of NumPy that wait for each other take most of the time."""
    with threadpoolctl.threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def made(checkpoint, masked_lm):
    return NumpyBert(checkpoint), masked_lm


@pytest.fixture(scope="module")
def real(shared_dir):
    directory = shared_dir / "models" / "bert_tiny_mlm"
    return NumpyBert(directory), load_masked_lm(directory)


def check(models, texts, samples, count, beams=None):
    """Compares with the plain loop; returns how many texts are clear cases."""
    bert, masked_lm = models
    tokenizer = masked_lm.tokenizer
    how = plain_loop.algorithm_2
    if beams is not None:
        how = functools.partial(plain_loop.plain_beam, beams=beams)
    clear = 0
    for one, found in zip(tokenizer.encode(texts), samples, strict=True):
        assert len(found) == count
        assert len({sample.positions for sample in found}) == 1
        expected, gap = how(
            bert.log_probs,
            one.token_ids,
            one.segment_ids,
            # The masks that a sample tells.
            found[0].positions,
            count,
            allowed=plain_loop.allowed_ids(tokenizer.vocabulary),
            mask=tokenizer.mask_id,
        )
        if gap > CLOSE:
            clear += 1
            ids, totals = zip(*expected, strict=True)
            assert [sample.token_ids for sample in found] == [*map(tuple, ids)]
            log_probs = [sample.log_prob for sample in found]
            np.testing.assert_allclose(log_probs, totals, atol=1e-4)
    return clear


@pytest.mark.slow
def test_real_sentences(real, shared_dir):
    tfds = pytest.importorskip("tensorflow_datasets")
    folder = shared_dir / "data" / "tfds"
    dataset = tfds.load("glue/cola", split="train[:8]", data_dir=folder)
    texts = [row["sentence"].decode() for row in dataset.as_numpy_iterator()]
    _, masked_lm = real
    result = MaskedLMAugmenter(masked_lm, num_augmented=4).augment(texts)
    assert check(real, texts, result, 4) == 8
    encoded = masked_lm.tokenizer.encode(texts)
    for one, samples in zip(encoded, result, strict=True):
        length = len(one.token_ids) - 2
        masked = set(samples[0].positions)
        assert len(masked) == count_masked(length, length, 0.4)


@pytest.mark.parametrize("search", ["greedy", "beam"])
@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0])
def test_made_model(made, search, ratio):
    _, masked_lm = made
    augmenter = MaskedLMAugmenter(
        masked_lm, 3, ratio, search, pairs="concatenated", slots=5
    )
    texts = [
        "the film was very good",
        ("a poor story", "so dull a plot and so slow"),
        "book",
    ]
    beams = None if search == "greedy" else 4
    assert check(made, texts, augmenter.augment(texts), 3, beams)


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
