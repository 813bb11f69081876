"""Heads that were trained: kept where they fit, else said to be new."""

import json

import keras
import keras_hub
import numpy as np
import pytest
from numpy.testing import assert_allclose
from safetensors import numpy as safetensors_numpy

from keras_mmel.text import load_text_classifier
from tests.text import tiny
from tests.text.bert.numpy_bert import NumpyBert
from tests.text.bert.test_keras_hub_layout import X

MODELS = keras_hub.models
RNG = np.random.default_rng(0)
CLASSIFIER = ["BertForSequenceClassification"]


def fine_tuned(directory, classes=3, head="classifier", **config):
    """A checkpoint as transformers saves one, and its head in float64."""
    settings = {"architectures": CLASSIFIER, "pooler": True, "head": False}
    tiny.make_checkpoint(directory, **settings | config)
    file = directory / "model.safetensors"
    weights = safetensors_numpy.load_file(file)
    kernel = RNG.normal(size=(classes, 16)).astype("float32")
    bias = RNG.normal(size=(classes,)).astype("float32")
    weights |= {f"{head}.weight": kernel, f"{head}.bias": bias}
    safetensors_numpy.save_file(weights, file)
    return kernel.astype("float64"), bias.astype("float64")


@pytest.mark.parametrize("classes", [1, 3])
def test_a_head_of_transformers_is_kept(tmp_path, caplog, classes):
    kernel, bias = fine_tuned(tmp_path, classes)
    model = load_text_classifier(tmp_path, classes)
    reference = NumpyBert(tmp_path)
    ids, segments = X["token_ids"][0][:5], X["segment_ids"][0][:5]
    expected = reference.pooled(list(ids), list(segments)) @ kernel.T + bias
    assert_allclose(model(X).numpy()[0], expected, atol=1e-5)
    assert not caplog.records


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"classes": 2}, "((16, 2), (2,))"),
        ({"architectures": ["BertForMultipleChoice"]}, "(classifier)"),
        ({"pooler": False}, "(classifier)"),  # of single tokens
        ({"problem_type": "multi_label_classification"}, "(classifier)"),
        ({"head": "qa_outputs"}, "(qa_outputs)"),
    ],
)
def test_a_head_that_does_not_fit_is_new(tmp_path, caplog, options, said):
    fine_tuned(tmp_path, **options)
    model = load_text_classifier(tmp_path, 3)
    last = caplog.records[-1]
    assert last.levelname == "WARNING"
    assert "is none of 3 classes" in last.message
    assert said in last.message and "the head is new" in last.message
    assert not model.output_dense.bias.numpy().any()
    assert np.abs(model.output_dense.kernel.numpy()).max() < 0.2


@pytest.fixture(scope="module")
def hub():
    """A classifier of keras-hub, with weights of some size."""
    backbone = MODELS.BertBackbone(
        len(tiny.VOCABULARY), 2, 2, 16, 32, max_sequence_length=20
    )
    tokenizer = MODELS.BertTokenizer(tiny.VOCABULARY, lowercase=True)
    model = MODELS.BertTextClassifier(
        backbone,
        3,
        MODELS.BertTextClassifierPreprocessor(tokenizer, sequence_length=16),
    )
    for weight in model.trainable_weights:
        weight.assign(weight + 0.2 * RNG.standard_normal(weight.shape))
    return model


@pytest.mark.slow
def test_a_head_of_keras_hub_is_kept(tmp_path, caplog, hub):
    hub.save_to_preset(str(tmp_path / "hub"))
    model = load_text_classifier(tmp_path / "hub", 3)
    text = "the good film"
    expected = hub.predict([text], verbose=0)
    (encoded,) = model.tokenizer.encode([text])
    ids = np.array([encoded.token_ids])
    x = {"token_ids": ids, "segment_ids": 0 * ids, "padding_mask": ids >= 0}
    assert_allclose(model(x).numpy(), expected, atol=1e-5)
    assert not caplog.records
    # Ours is saved in that layout, too.
    model.save_to_preset(str(tmp_path / "ours"))
    again = load_text_classifier(tmp_path / "ours", 3)
    assert_allclose(again(x).numpy(), expected, atol=1e-5)
    assert not caplog.records
    load_text_classifier(tmp_path / "hub", 2)
    assert "((16, 3), (3,)): the head is new" in caplog.text


def test_a_head_of_keras_hub_with_sigmoids_is_new(tmp_path, caplog, hub):
    hub.save_to_preset(str(tmp_path))
    task = tmp_path / "task.json"
    state = json.loads(task.read_text())
    for activation in ("softmax", "sigmoid"):
        state["config"]["activation"] = activation
        task.write_text(json.dumps(state))
        model = load_text_classifier(tmp_path, 3)
        found = np.array(model.output_dense.kernel)
        kept = np.array_equal(found, hub.output_dense.kernel.numpy())
        assert kept == (activation == "softmax")
    assert "(sigmoid): the head is new" in caplog.text
    assert keras.activations.serialize(model.activation) == "linear"
