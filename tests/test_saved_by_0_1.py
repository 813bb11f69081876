"""Files that version 0.1 saved still load, and do what they did."""

import json
import pathlib

import keras
import numpy as np
import pytest
from numpy.testing import assert_allclose

import keras_mmel
from keras_mmel import text
from keras_mmel.text import files

SAVED = pathlib.Path(__file__).with_name("saved_by_0_1")
EXPECTED = json.loads((SAVED / "expected.json").read_text())
CLOSE = {"rtol": 1e-5, "atol": 1e-6}


def plain_examples():
    return np.random.default_rng(5).normal(size=(4, 5)).astype("float32")


def groups():
    rng = np.random.default_rng(0)
    views = rng.normal(0, 1.5, (12, 3, 5)).astype("float32")
    return {"views": views}, rng.integers(0, 3, 12)


def test_a_wrapper_loads_and_trains_on():
    mmel = keras.saving.load_model(SAVED / "wrapper.keras")
    assert mmel.objective == keras_mmel.objectives.Soft(0.5, 0.7)
    found = mmel.predict(plain_examples(), verbose=0)
    assert_allclose(found, EXPECTED["wrapper"], **CLOSE)
    x, y = groups()
    mmel.fit(x, y, batch_size=4, shuffle=False, verbose=0)
    found = mmel.predict(plain_examples(), verbose=0)
    assert_allclose(found, EXPECTED["wrapper_after_another_epoch"], **CLOSE)


def test_weights_load():
    inputs = keras.Input((5,))
    hidden = keras.layers.Dense(6, activation="tanh")(inputs)
    hidden = keras.layers.Dropout(0.2)(hidden)
    model = keras.Model(inputs, keras.layers.Dense(3)(hidden))
    objective = keras_mmel.objectives.Soft(0.5, 0.7)
    mmel = keras_mmel.MMELModel(model, objective)
    mmel.load_weights(SAVED / "wrapper.weights.h5")
    found = mmel.predict(plain_examples(), verbose=0)
    assert_allclose(found, EXPECTED["wrapper"], **CLOSE)


def test_a_text_classifier_loads():
    classifier = keras.saving.load_model(SAVED / "classifier.keras")
    encoded = classifier.tokenizer.encode(EXPECTED["texts"])
    ids = np.zeros((2, 16), "int32")
    for row, one in zip(ids, encoded, strict=True):
        row[: len(one.token_ids)] = one.token_ids
    inputs = {
        "token_ids": ids,
        "segment_ids": np.zeros_like(ids),
        "padding_mask": (ids != 0).astype("int32"),
    }
    found = classifier.predict(inputs, verbose=0)
    assert_allclose(found, EXPECTED["classifier"], **CLOSE)


@pytest.mark.parametrize("name", ["augmented", "labelled"])
def test_augmented_directories_are_read(name):
    found = list(files.read_records(SAVED / name))
    assert [
        {
            "id": record.example_id,
            "texts": list(record.texts),
            "label": record.label,
            "views": [list(view.texts) for view in record.views],
            "ids": [list(view.token_ids) for view in record.views],
            "positions": [list(view.positions) for view in record.views],
        }
        for record in found
    ] == [
        {key: value for key, value in one.items() if "teacher" not in key}
        for one in EXPECTED[name]
    ]
    for record, one in zip(found, EXPECTED[name], strict=True):
        assert_allclose(record.teacher, one["teacher"], atol=1e-5)
        for view, teacher in zip(
            record.views, one["view_teachers"], strict=True
        ):
            assert_allclose(view.teacher, teacher, atol=1e-5)


def test_groups_are_read_from_a_labelled_directory():
    classifier = keras.saving.load_model(SAVED / "classifier.keras")
    read = text.read_augmented(
        SAVED / "labelled",
        tokenizer=classifier.tokenizer,
        num_views=3,
        batch_size=2,
        max_length=16,
        window=1,
    )
    batches = list(read)
    assert len(batches) == 3
    for x, y in batches:
        assert x["views"]["token_ids"].shape[:2] == (2, 3)
        assert y["teacher"].shape == (2, 3, 2)
