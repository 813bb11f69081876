"""The probe: from arrays and datasets to groups that are measured."""

import types

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose
from numpy.testing import assert_array_equal

from keras_mmel.diagnostics import ViewWeights
from keras_mmel.diagnostics import content
from keras_mmel.diagnostics import probe as probes
from tests.diagnostics import watched

X, Y = watched.data()


def dataset(size):
    return tf.data.Dataset.from_tensor_slices((X, Y)).batch(size)


class Sequence(keras.utils.PyDataset):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        rows = slice(4 * index, 4 * index + 4)
        return {"views": X["views"][rows]}, Y[rows]


@pytest.mark.parametrize(
    "data",
    [
        (X, Y),
        [X, Y],
        (X, Y, np.ones(12)),
        ({**X, "mask": None}, Y),
        ({"views": tf.constant(X["views"])}, tf.constant(Y)),
        dataset(4),
        dataset(5),
        Sequence(),
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

    def batches():
        for start in range(0, 12, 4):
            read.append(start)
            rows = slice(start, start + 4)
            yield {"views": X["views"][rows]}, Y[rows]

    probes.make_probe(batches(), num_groups=5)
    assert read == [0, 4]


def test_texts_of_batches_may_differ_in_length():
    def batch(length):
        ids = np.ones((2, 4, length), "int32")
        views = {"token_ids": ids, "padding_mask": ids == 1}
        return {"views": views}, np.arange(2)

    probe = probes.make_probe([batch(7), batch(5)], 64)
    mmel = watched.compiled(watched.text)
    weights, losses = probes.measure(mmel, probe)
    assert weights.shape == losses.shape == (4, 4)
    assert_allclose(weights.sum(axis=1), 1, rtol=1e-6)


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
        (
            {"label": np.array([1, 0, 1]), "teacher": np.ones((3, 4, 2))},
            [1, 0, 1],
        ),
    ],
)
def test_classes_are_found_in_the_labels(labels, expected):
    x = {"views": np.zeros((3, 4, 5))}
    found = content.classes_of(probes.make_probe((x, labels), 64))
    assert found is None if expected is None else found.tolist() == expected


@pytest.mark.parametrize(
    "data, message",
    [
        (5, "an iterable of such batches. Received: a int"),
        ([], "at least one group"),
        (({"views": X["views"][:0]}, Y[:0]), "at least one group"),
        (X, "takes groups"),
        ((X,), "needs labels"),
        ((X, None), "needs labels"),
        ((X["views"], Y), "takes groups"),
        (tf.data.Dataset.from_tensors((X["views"], Y)), "takes groups"),
        ((X, Y[:5]), "shared by the views"),
    ],
)
def test_what_holds_no_groups_is_refused(data, message):
    with pytest.raises(ValueError, match=message):
        probes.make_probe(data, 64)


# --- what is shown of the groups ---------------------------------------------

PIECES = ["[PAD]", "[CLS]", "[SEP]", "un", "##seen", "film", "good", "x", "y"]
TOKENIZER = types.SimpleNamespace(vocabulary=PIECES)


def test_images_of_a_probe():
    x, y = watched.data(watched.images)
    assert ViewWeights((x, y)).run.images.shape == (12, 4, 6, 6, 1)
    assert ViewWeights(watched.data()).run.images is None


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
    x = {"views": {"token_ids": np.array([[ids]], "int32")}}
    assert ViewWeights((x, np.zeros(1)), tokenizer=TOKENIZER).run.texts == [
        [expected]
    ]


@pytest.mark.parametrize("token", [9, -1])
def test_ids_beyond_the_vocabulary_are_refused(token):
    x = {"views": {"token_ids": np.array([[[token]]])}}
    with pytest.raises(ValueError, match=f"below 9.*Received: {token}"):
        ViewWeights((x, np.zeros(1)), tokenizer=TOKENIZER)


def test_a_tokenizer_needs_token_ids():
    with pytest.raises(ValueError, match="token_ids.*Received: 1 inputs"):
        ViewWeights(watched.data(), tokenizer=TOKENIZER)


def test_texts_of_a_probe():
    x, y = watched.data(watched.text, mask=True)
    decoded = ViewWeights((x, y), tokenizer=TOKENIZER).run.texts
    ids, keep = (x["views"][n] for n in ("token_ids", "padding_mask"))
    for group in range(12):
        for view in range(4):
            kept = ids[group, view][keep[group, view]]
            words = " ".join(PIECES[i] for i in kept).replace(" ##", "")
            assert decoded[group][view] == words
    assert ViewWeights((x, y)).run.texts is None
