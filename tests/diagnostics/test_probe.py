"""The probe: from arrays and datasets to groups that are measured."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose
from numpy.testing import assert_array_equal

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
        (X, Y.tolist()),
        dataset(4),
        dataset(5),
        Sequence(),
        [({"views": X["views"]}, Y)],
    ],
)
def test_all_kinds_of_data_give_the_same_groups(data):
    probe = probes.make_probe(data, num_groups=10, batch_size=3)
    views = np.concatenate(probe.map_views(np.asarray))
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

    probes.make_probe(batches(), num_groups=5, batch_size=32)
    assert read == [0, 4]


def test_batches_may_differ_in_length_and_in_number_of_views():
    def batch(views, length):
        ids = np.ones((2, views, length), "int32")
        keep = np.ones((2, views, length), bool)
        return {"views": {"token_ids": ids, "padding_mask": keep}}, [0, 1]

    data = [batch(4, 7), batch(3, 7)]
    probe = probes.make_probe(data, 64, 32)
    assert probe.mask.sum(axis=1).tolist() == [4, 4, 3, 3]
    mmel = watched.compiled(watched.text)
    weights, losses = probes.measure(mmel, probe)
    assert weights.shape == losses.shape == (4, 4)
    assert_allclose(weights.sum(axis=1), 1, rtol=1e-6)
    assert (weights[2:, 3] == 0).all()


@pytest.mark.parametrize(
    "labels, expected",
    [
        ([2, 0, 1], [2, 0, 1]),
        (np.array([[2], [0], [1]]), [2, 0, 1]),
        (np.array([2.0, 0.0, 1.0]), [2, 0, 1]),
        (np.eye(3)[[2, 0, 1]], [2, 0, 1]),
        (np.array([0.5, 1.0, 2.0]), None),
        (np.array([-1, 0, 1]), None),
        (np.full((3, 3), 1 / 3), None),
        ({"a": np.array([1, 2, 3]), "b": np.array([1, 2, 3])}, None),
        ({"label": np.array([1, 0, 1]), "teacher": np.ones((3, 4, 2))},) * 2,
    ],
)
def test_classes_are_found_in_the_labels(labels, expected):
    if isinstance(expected, dict):
        expected = [1, 0, 1]
    x = {"views": np.zeros((3, 4, 5))}
    found = probes.class_ids(probes.make_probe((x, labels), 64, 2))
    assert found is None if expected is None else found.tolist() == expected


@pytest.mark.parametrize(
    "data, message",
    [
        (5, "an iterable of such batches. Received: a int"),
        ([], "at least one group"),
        (({"views": X["views"][:0]}, Y[:0]), "at least one group"),
        (X, "needs labels"),
        ((X,), "needs labels"),
        ((X, None), "needs labels"),
        ((X["views"], Y), "takes groups"),
        (tf.data.Dataset.from_tensors((X["views"], Y)), "takes groups"),
        ((X, Y[:5]), "shared by the views"),
    ],
)
def test_what_holds_no_groups_is_refused(data, message):
    with pytest.raises(ValueError, match=message):
        probes.make_probe(data, 64, 32)
