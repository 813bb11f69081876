"""The probe: from arrays and datasets to groups, and what they hold."""

import types

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_array_equal

from keras_mmel.diagnostics import ViewWeights
from keras_mmel.diagnostics import probe as probes
from tests import cases

X = {"views": np.random.default_rng(1).normal(size=(12, 4, 5))}
Y = np.arange(12) % 3


def batch(index):
    rows = slice(4 * index, 4 * index + 4)
    return {"views": X["views"][rows]}, Y[rows]


@pytest.mark.parametrize(
    "data",
    [
        (X, Y),
        [X, Y, np.ones(12)],
        ({**X, "mask": None}, Y),
        ({"views": tf.constant(X["views"])}, tf.constant(Y)),
        tf.data.Dataset.from_tensor_slices((X, Y)).batch(5),
        cases.Batches([batch(index) for index in range(3)]),
    ],
)
def test_all_kinds_of_data_give_the_same_groups(data, monkeypatch):
    monkeypatch.setattr(probes, "_AT_ONCE", 3)
    probe = probes.make_probe(data, num_groups=10)
    views = np.concatenate([x["views"] for x, _ in probe.batches])
    assert_array_equal(views, X["views"][:10])
    assert_array_equal(np.concatenate([y for _, y in probe.batches]), Y[:10])
    assert max(len(y) for _, y in probe.batches) <= 3
    assert probe.mask.shape == (10, 4) and probe.mask.all()


def test_a_dataset_is_read_only_as_far_as_needed():
    read = []
    batches = (read.append(index) or batch(index) for index in range(3))
    probes.make_probe(batches, num_groups=5)
    assert read == [0, 1]


def test_texts_of_batches_may_differ_in_length():
    def of_length(length):
        return {"views": np.ones((2, 4, length), "int32")}, np.arange(2)

    def measured(x, _):
        return np.ones(x["views"].shape[:2]), np.full((2, 4), 0.25)

    probe = probes.make_probe([of_length(7), of_length(5)], 64)
    mmel = types.SimpleNamespace(_losses_and_weights=measured)
    weights, losses = probes.measure(mmel, probe)
    assert weights.tolist() == [[0.25] * 4] * 4
    assert losses.tolist() == [[1.0] * 4] * 4


@pytest.mark.parametrize(
    "data, message",
    [
        ([], "at least one group"),
        (({"views": X["views"][:0]}, Y[:0]), "at least one group"),
        (X, "takes groups"),
        ((X,), "needs labels"),
        ((X, None), "needs labels"),
        ((X["views"], Y), "takes groups.*`keras_mmel.data.group_views` makes"),
        ((X, Y[:5]), "shared by the views"),
    ],
)
def test_what_holds_no_groups_is_refused(data, message):
    with pytest.raises(ValueError, match=message):
        probes.make_probe(data, 64)


@pytest.mark.parametrize(
    "labels, expected",
    [
        (np.array([2, 0, 1]), [2, 0, 1]),
        (np.array([[2], [0], [1]]), [2, 0, 1]),
        (np.array([2.0, 0.0, 1.0]), [2, 0, 1]),
        (np.eye(3)[[2, 0, 1]], [2, 0, 1]),
        (np.array([0.5, 1.0, 2.0]), None),
        (np.array([-1, 0, 1]), None),
        (np.full((3, 3), 1 / 3), None),
        ({"a": np.array([1, 2, 3]), "b": np.array([1, 2, 3])}, None),
        ({"label": np.arange(3), "teacher": np.ones((3, 4, 2))}, [0, 1, 2]),
    ],
)
def test_classes_are_found_in_the_labels(labels, expected):
    probe = probes.make_probe(({"views": X["views"][:3]}, labels), 64)
    found = probes.classes_of(probe)
    assert found is None if expected is None else found.tolist() == expected


def test_images_of_a_probe():
    images = X["views"].reshape(12, 4, 5, 1, 1)
    assert ViewWeights(({"views": images}, Y)).run.images.shape == images.shape
    assert ViewWeights((X, Y)).run.images is None


PIECES = ["[PAD]", "[CLS]", "[SEP]", "un", "##seen", "film", "good", "x", "y"]
TOKENIZER = types.SimpleNamespace(vocabulary=PIECES)


def texts_of(ids, **others):
    views = {"token_ids": np.array([[ids]], "int32"), **others}
    probe = {"views": views}, np.zeros(1)
    return ViewWeights(probe, tokenizer=TOKENIZER).run.texts


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
def test_token_ids_are_shown_as_text(ids, expected):
    assert texts_of(ids) == [[expected]]
    keep = np.arange(len(ids) + 1) < len(ids)
    assert texts_of([*ids, 8], padding_mask=keep[None, None]) == [[expected]]


def test_ids_must_be_there_and_in_the_vocabulary():
    for token in (9, -1):
        with pytest.raises(ValueError, match=f"below 9.*Received: {token}"):
            texts_of([token])
    with pytest.raises(ValueError, match="token_ids.*Received: 1 inputs"):
        ViewWeights((X, Y), tokenizer=TOKENIZER)
    assert ViewWeights((X, Y)).run.texts is None
