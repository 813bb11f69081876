"""What a batch of groups is: its flat order, its padding, its errors."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_mmel import contract

NAN = np.nan


def views(batch=2, num_views=3, *rest, dtype="float32"):
    shape = (batch, num_views, *rest)
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


# Flat order


def test_views_of_an_example_lie_next_to_each_other():
    x = {
        "ids": views(2, 3, 4, dtype="int32"),
        "more": [views(2, 3), {"deep": (views(2, 3, 2, 2, dtype="uint8"),)}],
    }
    flat = contract.flatten_views({"views": x})
    keras.tree.assert_same_structure(flat, x)
    for found, leaf in zip(*map(keras.tree.flatten, (flat, x)), strict=True):
        assert found.dtype == leaf.dtype
        for i, j in np.ndindex(2, 3):
            np.testing.assert_array_equal(found[3 * i + j], leaf[i, j])


def test_sizes_are_numbers_or_found_at_run_time():
    def run(x):
        x = {"views": x}
        contract.check_groups(x)
        sizes = contract.sizes_of(x)
        flat = contract.flatten_views(x)
        again = sizes.repeat(sizes.originals(flat))
        return *sizes[:2], flat, again, sizes.group(flat[:, 0])

    unknown = tf.TensorSpec((None, None, 2), tf.float32)
    traced = tf.function(run, input_signature=[unknown])
    for batch, num_views in ((2, 3), (1, 1), (4, 2)):
        x = views(batch, num_views, 2)
        for size, count, flat, again, grouped in (run(x), traced(x)):
            assert (int(size), int(count)) == (batch, num_views)
            np.testing.assert_array_equal(flat, x.reshape(-1, 2))
            np.testing.assert_array_equal(
                again, np.repeat(x[:, 0], num_views, 0)
            )
            np.testing.assert_array_equal(grouped, x[..., 0])
    assert isinstance(contract.sizes_of({"views": x}).views, int)


# Padding


@pytest.mark.parametrize("mask_dtype", ["bool", "int32", "float32"])
def test_padding_is_replaced_by_the_original(mask_dtype):
    x = {
        "numbers": np.array([[[1.0, 2.0], [NAN, 3.0]], [[4.0, 5.0], [6, 7]]]),
        "value": np.array([[1, 255], [2, 3]], "uint8"),
    }
    mask = np.array([[1, 0], [1, 1]]).astype(mask_dtype)
    flat = contract.flatten_views({"views": x, "mask": mask})
    expected = [[1, 2], [1, 2], [4, 5], [6, 7]]
    np.testing.assert_array_equal(flat["numbers"], expected)
    np.testing.assert_array_equal(flat["value"], [1, 1, 2, 3])
    assert flat["value"].dtype == "uint8"


def test_text_keeps_its_padding():
    x = {
        "views": tf.constant([["a", "b"], ["c", ""]]),
        "mask": np.array([[True, True], [True, False]]),
    }
    contract.check_groups(x)
    flat = contract.flatten_views(x)
    assert flat.numpy().tolist() == [b"a", b"b", b"c", b""]


def test_a_padding_view_sends_no_gradient():
    x = tf.Variable([[[1.0], [NAN], [2.0]]])
    with tf.GradientTape() as tape:
        flat = contract.flatten_views(
            {"views": x, "mask": np.array([[True, False, True]])}
        )
        total = tf.reduce_sum(flat**2)
    # The original counts for the padding as well; weights see to that later.
    np.testing.assert_allclose(tape.gradient(total, x), [[[4], [0], [4]]])


# Rows of the originals


def test_what_keras_attached_goes_with_the_rows():
    rows = ops.reshape(ops.arange(12, dtype="float32"), (6, 2))
    rows._keras_mask = ops.convert_to_tensor([[True, i > 2] for i in range(6)])
    rows._keras_logits = rows * 10
    found = contract.Sizes(3, 2).originals([rows])[0]
    np.testing.assert_array_equal(
        found._keras_mask, [[True, False], [True, False], [True, True]]
    )
    np.testing.assert_array_equal(
        found._keras_logits, [[0, 10], [40, 50], [80, 90]]
    )
    plain = contract.Sizes(2, 2).originals(ops.arange(4))
    assert not hasattr(plain, "_keras_mask")
    assert not hasattr(plain, "_keras_logits")


# Labels


def test_labels_are_split_by_their_structure():
    label, teacher = np.zeros(2), np.zeros((2, 3, 4))
    found = contract.split_labels({"label": label, "teacher": teacher})
    assert found.label is label
    assert found.teacher is teacher
    assert found.of_views is None
    for y in (label, [label], {"a": label}, {"label": label}, None):
        found = contract.split_labels(y)
        assert found.label is y
        assert found.teacher is found.of_views is None
    views = np.arange(6).reshape(2, 3)
    found = contract.split_labels({"views": {"a": views, "b": (views * 2,)}})
    np.testing.assert_array_equal(found.label["a"], [0, 3])
    np.testing.assert_array_equal(found.label["b"][0], [0, 6])
    assert found.of_views["a"] is views
    assert found.teacher is None


@pytest.mark.parametrize("y", [np.zeros(2), np.float32(1), None, [[0, 1]]])
def test_labels_of_views_have_an_axis_for_them(y):
    with pytest.raises(ValueError, match='={"views": labels}.*Received: y='):
        contract.split_labels({"views": y})


def test_rows_of_labels_are_those_of_the_views():
    mask = ops.convert_to_tensor([[True, False], [True, True]])
    sizes = contract.Sizes(2, 2, mask)
    y = {"views": np.array([[1.0, np.nan], [3.0, 4.0]])}
    np.testing.assert_array_equal(
        contract.split_labels(y).rows(sizes), [1, 1, 3, 4]
    )
    np.testing.assert_array_equal(
        contract.Labels(np.array([5, 6])).rows(sizes), [5, 5, 6, 6]
    )


# What is not a batch of groups

CONTRACT = '`fit` takes groups: x must be {"views": x}'
SAME = "same number of views, at least 1, on axis 1"
MASK = '"mask" must have shape (batch, num_views)'
ragged = tf.ragged.constant([[[1.0], [2.0]], [[3.0]]])
sparse = tf.sparse.from_dense([[1.0, 0.0]])

WRONG = {
    "array": (views(), (CONTRACT, "(2, 3)")),
    "list": ([views(), views()], (CONTRACT, "[(2, 3), (2, 3)]")),
    "none": (None, (CONTRACT, "NoneType")),
    "other_dict": ({"image": views()}, (CONTRACT, "'image': (2, 3)")),
    "unknown_key": (
        {"views": views(), "masks": views()},
        (CONTRACT, "'masks': (2, 3)"),
    ),
    "two_unknown_keys": (
        {"views": views(), "z": views(), "label": views()},
        (CONTRACT, "'label': (2, 3)", "'z': (2, 3)"),
    ),
    "no_views": ({"views": {}}, (CONTRACT, "{'views': {}}")),
    "one_axis": ({"views": np.zeros(3)}, (CONTRACT, "'views': (3,)")),
    "one_axis_in_nest": (
        {"views": [views(), np.zeros(2)]},
        (CONTRACT, "[(2, 3), (2,)]"),
    ),
    "scalar": ({"views": np.float32(1)}, (CONTRACT, "'views': ()")),
    "ragged": (
        {"views": ragged},
        ("must be dense", '"mask"', "RaggedTensor(2, None, None)"),
    ),
    "sparse": ({"views": sparse}, ("must be dense", "SparseTensor(1, 2)")),
    "ragged_without_views": (ragged, (CONTRACT, "RaggedTensor(2, None")),
    "different": (
        {"views": {"a": views(2, 3), "b": views(2, 4)}},
        (SAME, "'a': (2, 3)", "'b': (2, 4)"),
    ),
    "none_at_all": ({"views": np.zeros((2, 0, 4))}, (SAME, "(2, 0, 4)")),
    "short_mask": (
        {"views": views(), "mask": np.ones((2, 2), bool)},
        (MASK, "'mask': (2, 2)"),
    ),
    "flat_mask": (
        {"views": views(), "mask": np.ones(2, bool)},
        (MASK, "'mask': (2,)"),
    ),
    "deep_mask": (
        {"views": views(), "mask": np.ones((2, 3, 1), bool)},
        (MASK, "'mask': (2, 3, 1)"),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_a_batch_of_groups_is_refused(name):
    x, words = WRONG[name]
    with pytest.raises(ValueError) as error:
        contract.check_groups(x)
    text = str(error.value).replace("'(", "(").replace(")'", ")")
    for word in (*words, "Received"):
        assert word in text
