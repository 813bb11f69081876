"""Exported text classifiers: what TensorFlow alone makes of strings."""

import json
import pathlib

import keras
import numpy as np
import pytest
import scipy.special
from numpy.testing import assert_allclose

import keras_mmel
from keras_mmel.text import export_text_classifier
from keras_mmel.text.serving import export
from tests.scripts.child import run
from tests.text import tiny

TEXTS = [
    "A fine film!",
    "",
    "[MASK] and [SEP] are text",
    "na\u00efve caf\u00e9 \u6f22\u5b57 \U0001f469\u200d\U0001f4bb foo\u00a0bar",
    "never the same film twice " * 30,
    "x" * 101,
]
SECOND = ["So was the book.", "", "not [CLS]", "film " * 90, "one two", "a"]
NAMES = ["bad", "so so", "g\u00fct"]
MAX_LENGTH = 20


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {
        "classes": tiny.make_classifier(folder / "classes", 3),
        "value": tiny.make_classifier(folder / "value", 1),
    }


@pytest.fixture(scope="module")
def served(models, tmp_path_factory):
    """What every signature of every exported model gives in a new process."""
    folder = tmp_path_factory.mktemp("exported")
    mmel = keras_mmel.MMELModel(models["classes"])
    mmel.export(folder / "classes.ids", verbose=False)
    export_text_classifier(mmel, folder / "deep" / "classes", label_names=NAMES)
    (folder / "deep" / "classes").rename(folder / "classes")
    (folder / "value").mkdir()
    (folder / "value" / "saved_model.pb").touch()  # of an export before
    options = {"pairs": True, "max_length": MAX_LENGTH, "overwrite": True}
    export_text_classifier(models["value"], folder / "value", **options)
    assert not list(folder.glob(".*"))
    inputs = {
        "classes": {"text": TEXTS},
        "value": {"text_a": TEXTS, "text_b": SECOND},
    }
    for name, sides in inputs.items():
        (folder / f"{name}.json").write_text(json.dumps(sides))
    run("serve", folder)
    found = {name: folder / f"{name}.out.json" for name in inputs}
    return {name: json.loads(path.read_text()) for name, path in found.items()}


def check_ids(found, wanted):
    for row, one in enumerate(wanted):
        mask = np.array(found["padding_mask"][row]) == 1
        for name in ("token_ids", "segment_ids"):
            values = np.array(found[name][row])
            assert values[mask].tolist() == list(getattr(one, name))


@pytest.mark.slow
def test_probabilities_and_labels(models, served):
    found = served["classes"]
    logits = tiny.outputs_of(models["classes"], TEXTS, 64)
    # The exported plain model takes what `tokenize` gives.
    assert_allclose(found.pop("of ids"), logits, atol=5e-6)
    assert sorted(found) == ["label_names", "serving_default", "tokenize"]
    wanted = scipy.special.softmax(logits, axis=-1)
    answers = found["serving_default"]
    assert sorted(answers) == ["label", "probabilities"]
    assert_allclose(answers["probabilities"], wanted, atol=2e-6)
    assert answers["label"] == [NAMES[i] for i in wanted.argmax(axis=-1)]
    assert found["label_names"] == {"label_names": NAMES}
    check_ids(found["tokenize"], models["classes"].tokenizer.encode(TEXTS, 64))


@pytest.mark.slow
def test_value_of_pairs(models, served):
    texts = list(zip(TEXTS, SECOND, strict=True))
    found = served["value"]
    assert sorted(found) == ["serving_default", "tokenize"]
    assert list(found["serving_default"]) == ["value"]
    wanted = tiny.outputs_of(models["value"], texts, MAX_LENGTH)[:, 0]
    assert_allclose(found["serving_default"]["value"], wanted, atol=5e-6)
    check_ids(
        found["tokenize"], models["value"].tokenizer.encode(texts, MAX_LENGTH)
    )


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("classes", {"label_names": ["a", "b"]}, "with 3 outputs"),
        ("classes", {"label_names": ["a", "b", "b"]}, "different strings"),
        ("classes", {"label_names": "abc"}, "a list of different strings"),
        ("value", {"label_names": ["a"]}, "None for a regression"),
        ("value", {"max_length": 65}, "at most 64, .* can take"),
        ("value", {"max_length": 2}, "Received: max_length=2"),
    ],
)
def test_wrong_arguments(models, tmp_path, name, options, message):
    with pytest.raises(ValueError, match=message):
        export_text_classifier(models[name], tmp_path / "new", **options)
    assert list(tmp_path.iterdir()) == []


def test_only_a_saved_model_is_replaced(models, tmp_path):
    path = tmp_path / "served"
    path.mkdir()
    for overwrite in (True, False):
        with pytest.raises(FileExistsError, match="`path` must not exist"):
            export_text_classifier(models["value"], path, overwrite=overwrite)
        (path / "saved_model.pb").touch()
    assert list(tmp_path.iterdir()) == [path]


class FullDisk:
    """An archive that fails half-way."""

    def write_out(self, path, **options):
        pathlib.Path(path, "variables").mkdir(parents=True)
        raise OSError("No space left")


def test_an_export_that_fails_leaves_nothing(models, tmp_path, monkeypatch):
    monkeypatch.setattr(export, "_archive", lambda *_: FullDisk())
    with pytest.raises(OSError, match="No space"):
        export_text_classifier(models["value"], tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_other_models_are_refused(models, tmp_path):
    inner = models["classes"]
    other = keras.Model(inner.input, keras.ops.softmax(inner.output))
    without = type(inner)(inner.backbone, 3)
    for model in (other, without, keras_mmel.MMELModel(other)):
        with pytest.raises(TypeError, match="must be a text classifier"):
            export_text_classifier(model, tmp_path / "new")
