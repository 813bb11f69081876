"""What loading gives, against NumPy float64 and transformers' values."""

import json
import pathlib

import keras
import ml_dtypes
import numpy as np
import pytest
from numpy.testing import assert_allclose
from safetensors import numpy as safetensors_numpy

from keras_mmel.text import load_masked_lm
from keras_mmel.text import load_text_classifier
from tests.text import tiny
from tests.text.bert.numpy_bert import NumpyBert

# Of transformers, in the versions that they name: the ids of its tokenizers and
# of its BertForMaskedLM, for `token_ids` and `segment_ids`, the logits at
# `positions`: the largest, those of the ids `fixed`, mean and norm of all.
REFERENCE = pathlib.Path(__file__).parent / "reference"

IDS = [[2, 120, 4, 45, 60, 3], [2, 130, 3, 4, 3, 0]]
SEGMENTS = [[0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 0]]
LENGTHS = [6, 5]


def features(positions=None):
    x = {
        "token_ids": np.array(IDS),
        "segment_ids": np.array(SEGMENTS),
        "padding_mask": np.array(IDS) != 0,
    }
    if positions is not None:
        x["mask_positions"] = np.array(positions)
    return x


@pytest.fixture(scope="module")
def real(shared_dir):
    return load_masked_lm(shared_dir / "models" / "bert_tiny_mlm")


def expected_logits(directory):
    model = NumpyBert(directory)
    return [
        model.logits(ids[:n], segments[:n])
        for ids, segments, n in zip(IDS, SEGMENTS, LENGTHS, strict=True)
    ]


def check_logits(model, directory):
    positions = [[0, 2, 5], [3, 1, 4]]
    got = model(features(positions)).numpy()
    assert got.shape[:2] == (2, 3)
    for row, logits in enumerate(expected_logits(directory)):
        assert_allclose(got[row], logits[positions[row]], atol=2e-5)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"norms": "weight", "prefix": "", "pooler": True},
        {"decoder": "tied", "tokenizer": "vocab.txt", "lowercase": False},
        {"decoder": "untied"},
        # The file is believed, as by transformers 5, not the config.
        {"decoder": "untied", "tie_word_embeddings": True},
        {"hidden_act": "gelu_new", "layer_norm_eps": 1e-2},
        {"hidden_act": "relu", "type_vocab_size": 3, "num_hidden_layers": 3},
        *({"dtype": t} for t in (np.float16, ml_dtypes.bfloat16, np.float64)),
    ],
    ids=lambda options: " ".join(map(str, options.values())) or "default",
)
def test_logits_equal_numpy(tmp_path, options):
    directory = tiny.make_checkpoint(tmp_path / "bert", **options)
    model = load_masked_lm(directory)
    check_logits(model, directory)
    assert model.tied == (options.get("decoder") != "untied")
    assert not model.compiled
    assert model.backbone.token_embedding.embeddings.dtype == "float32"
    eps = options.get("layer_norm_eps", 1e-12)
    assert model.backbone.layer_norm_eps == model.head_eps == eps
    assert model.backbone.num_segments == options.get("type_vocab_size", 2)


def test_bias_under_either_name(tmp_path):
    directory = tiny.make_checkpoint(tmp_path / "bert")
    file = directory / "model.safetensors"
    weights = safetensors_numpy.load_file(file)
    bias = weights.pop("cls.predictions.bias")
    weights["cls.predictions.decoder.bias"] = bias
    safetensors_numpy.save_file(weights, file)
    check_logits(load_masked_lm(directory), directory)


def test_classifier_has_the_pooler_and_a_new_head(tmp_path):
    directory = tiny.make_checkpoint(tmp_path / "bert", pooler=True, head=False)
    model = load_text_classifier(directory, 3)
    kernel, bias = (v.numpy() for v in model.output_dense.weights)
    reference = NumpyBert(directory)
    expected = [
        reference.pooled(ids[:n], segments[:n]) @ kernel + bias
        for ids, segments, n in zip(IDS, SEGMENTS, LENGTHS, strict=True)
    ]
    got = model(features()).numpy()
    assert_allclose(got, expected, atol=1e-6)
    assert not bias.any()


def test_new_weights_are_normal_and_reproducible(tmp_path, caplog):
    directory = tiny.make_checkpoint(
        tmp_path / "bert", hidden_size=256, initializer_range=0.05
    )
    made = []
    for _ in range(2):
        keras.utils.set_random_seed(3)
        made.append(load_text_classifier(directory, 50))
    assert caplog.text.count("has no pooler") == 2
    head, again = (m.output_dense.kernel.numpy() for m in made)
    np.testing.assert_array_equal(head, again)
    assert abs(head.std() / 0.05 - 1) < 0.02
    assert np.abs(head).max() > 0.15
    pooler, again = (m.backbone.pooled_dense.kernel.numpy() for m in made)
    np.testing.assert_array_equal(pooler, again)
    # Cut off at two standard deviations, 0.88 of the spread is left.
    assert np.abs(pooler).max() < 0.04004
    assert 0.85 * 0.02 < pooler.std() < 0.02


def rates(model):
    layers = model.backbone.transformer_layers[0]._flatten_layers()
    inner = [x.rate for x in layers if isinstance(x, keras.layers.Dropout)]
    first, last = model.backbone.embeddings_dropout, model.output_dropout
    return first.rate, sorted(inner), last.rate


def test_dropouts_of_the_config(tmp_path):
    def load(dropout=None, **config):
        directory = tiny.make_checkpoint(
            tmp_path / "bert", attention_probs_dropout_prob=0.2, **config
        )
        return rates(load_text_classifier(directory, 2, dropout))

    hidden = {"hidden_dropout_prob": 0.3}
    assert load(**hidden) == (0.3, [0.2, 0.3, 0.3], 0.3)
    assert load(0.0, **hidden) == (0.0, [0.0, 0.0, 0.0], 0.0)
    found = load(hidden_dropout_prob=0.0, classifier_dropout=0.4)
    assert found == (0.0, [0.0, 0.0, 0.2], 0.4)


def test_masked_lm_of_transformers(real):
    reference = json.loads((REFERENCE / "masked_lm.json").read_text())
    cases = reference["cases"]
    x = {
        "token_ids": padded([c["token_ids"] for c in cases]),
        "segment_ids": padded([c["segment_ids"] for c in cases]),
        "padding_mask": padded([[1] * len(c["token_ids"]) for c in cases]),
        "mask_positions": np.array([c["positions"] for c in cases]),
    }
    for case, logits in zip(cases, real(x).numpy(), strict=True):
        close = {"rtol": 0, "atol": 1e-4, "err_msg": str(case["text"])}
        assert_allclose(logits[:, reference["fixed"]], case["fixed"], **close)
        top = np.array(case["top_ids"])
        found = np.take_along_axis(logits, top, 1)
        assert_allclose(found, case["top"], **close)
        np.testing.assert_array_equal(logits.argmax(-1), top[:, 0])
        exact = logits.astype(np.float64)
        assert_allclose(exact.mean(-1), case["mean"], **close)
        norm = np.linalg.norm(exact, axis=-1)
        assert_allclose(norm, case["norm"], rtol=1e-5)


def padded(rows):
    length = max(map(len, rows))
    return np.array([row + [0] * (length - len(row)) for row in rows])
