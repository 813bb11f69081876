"""Bad labels, weights and losses: an error, never a silently other loss."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_mmel import contract
from keras_mmel.contract import Sizes
from keras_mmel.losses import checks
from keras_mmel.losses import compiled
from keras_mmel.objectives import Hard
from keras_mmel.objectives import Objective

losses = keras.losses
SIZES = Sizes(4, 3)


def message(*parts):
    """Pattern that finds all parts in order."""
    return "(?s)" + ".*".join(map(re.escape, parts))


# Labels


@pytest.mark.parametrize(
    ("label", "parts"),
    [
        (None, ("Training needs labels", "(x, y)", "Received: y=None")),
        (
            tf.constant(["a", "b", "c", "d"]),
            ("Labels must be numbers", "StringLookup", "dtype string"),
        ),
        (
            {"a": np.zeros(4), "b": tf.constant([["a"]] * 4)},
            ("Labels must be numbers", "Received: labels of dtype string"),
        ),
        (
            np.zeros(3),
            ("(batch=4, ...)", "Received: y.shape=(3,)"),
        ),
        (
            np.zeros((12, 2)),
            ("shared by the views", "batch=4", "y.shape=(12, 2)"),
        ),
        (np.float32(1), ("(batch=4, ...)", "y.shape=()")),
        ([np.zeros(4), np.zeros(5)], ("(batch=4, ...)", "y.shape=(5,)")),
    ],
)
def test_labels_that_no_loss_can_take_are_refused(label, parts):
    with pytest.raises(ValueError, match=message(*parts)):
        checks.check_labels(contract.Labels(label), SIZES)


@pytest.mark.parametrize(
    ("label", "parts"),
    [
        (
            np.zeros((4, 2)),
            (
                '{"views": y}',
                "batch and views [4, 3].",
                "(4, 2)",
            ),
        ),
        # Of unknown size, but for the views.
        (keras.Input((2, 5)), ('{"views": y}', "(None, 2, 5)")),
        ([np.zeros((4, 3)), np.zeros((5, 3))], ("batch=4", "y.shape=(5,)")),
        (np.full((4, 3), "a"), ("Labels must be numbers", "dtype str")),
    ],
)
def test_labels_of_views_of_other_sizes_are_refused(label, parts):
    labels = contract.split_labels({"views": label})
    with pytest.raises(ValueError, match=message(*parts)):
        checks.check_labels(labels, SIZES)
    right = {"a": np.zeros((4, 3, 7)), "b": np.zeros((4, 3))}
    checks.check_labels(contract.split_labels({"views": right}), SIZES)


SPARSE, CATEGORICAL = "sparse_categorical_crossentropy", "categorical_hinge"
IGNORING = losses.SparseCategoricalCrossentropy(ignore_class=0)
GENERALIZED = losses.CategoricalGeneralizedCrossEntropy()
FOCAL = losses.CategoricalFocalCrossentropy()


def output_of(loss, label, prediction):
    label, prediction = np.zeros((4, *label)), np.zeros((4, *prediction))
    loss = compiled.resolve(loss, label, prediction)
    return compiled.Output("kind", loss, 1.0, label, prediction)


@pytest.mark.parametrize(
    ("loss", "label", "prediction", "expected"),
    [
        # A row for a column, a column for a row, a number for a vector.
        ("mse", (3,), (1,), "(batch, 1)"),
        ("mse", (1,), (3,), "(batch, 3)"),
        ("mae", (), (3,), "(batch, 3)"),
        # A label for each view.
        ("mse", (3, 1), (1,), "(batch, 1)"),
        (SPARSE, (3,), (6,), "(batch)"),
        # One-hot for sparse, sparse for one-hot.
        (SPARSE, (3,), (3,), "(batch)"),
        (GENERALIZED, (3,), (3,), "(batch)"),
        (IGNORING, (3,), (3,), "(batch)"),
        ("categorical_crossentropy", (1,), (3,), "(batch, 3)"),
        (FOCAL, (), (3,), "(batch, 3)"),
        ("kld", (1,), (3,), "(batch, 3)"),
        # One bit for many, many bits for one.
        ("binary_crossentropy", (1,), (3,), "(batch, 3)"),
        ("binary_crossentropy", (3,), (1,), "(batch, 1)"),
        ("hinge", (3,), (1,), "(batch, 1)"),
        (losses.SquaredHinge(), (1,), (3,), "(batch, 3)"),
        (CATEGORICAL, (1,), (3,), "(batch, 3)"),
        # Too few tokens, a picture without channels.
        (SPARSE, (1,), (7, 3), "(batch, 7)"),
        (losses.Huber(), (8, 1), (8, 8), "(batch, 8, 8)"),
        # Spellings of Keras; and a loss of one's own takes anything.
        ("mse", (), (1,), None),
        ("mse", (1,), (), None),
        ("mse", (8, 8), (8, 8, 1), None),
        (SPARSE, (1,), (3,), None),
        (SPARSE, (7, 1), (7, 3), None),
        (lambda y, p: p, (9, 9), (3,), None),
    ],
)
def test_labels_are_refused_where_they_would_broadcast(
    loss, label, prediction, expected
):
    output = output_of(loss, label, prediction)
    if expected is None:
        checks.check_label_shape(output, 3)
        return
    given = ", ".join(map(str, ("batch", *label)))
    pattern = message(
        f"Labels of kind must have shape {expected}",
        output.loss.name,
        "one label for each example",
        "3 views",
        'with the views go into {"views": y}',
        f"Received: y.shape=({given})",
    )
    with pytest.raises(ValueError, match=pattern):
        checks.check_label_shape(output, 3)
    of_views = ("(batch, num_views", "one label for each view", "(batch, num_")
    with pytest.raises(ValueError, match=message(*of_views)):
        checks.check_label_shape(output, 3, of_views=output.label)


# Sample weights


@pytest.mark.parametrize(
    ("weight", "parts"),
    [
        (np.ones((4, 3)), ("shape (batch,)", "sample_weight.shape=(4, 3)")),
        (np.float32(1), ("shape (batch,)", "sample_weight.shape=()")),
        (np.ones((4, 1, 2)), ("pixels", "loss of your own", "(4, 1, 2)")),
    ],
)
def test_sample_weights_of_another_shape_are_refused(weight, parts):
    with pytest.raises(ValueError, match=message("`sample_weight`", *parts)):
        checks.per_example(weight)


def test_copies_for_every_part_of_the_labels_are_one_weight():
    """Keras copies an array of weights to each part of a nest of labels."""
    weight = np.array([[1], [0], [2], [-1]])
    for copy in (weight, weight.copy(), weight[:, :, None, None]):
        found, shares = checks.of_outputs([weight, copy], "mean")
        assert found.dtype == "float32"
        np.testing.assert_array_equal(found, weight[:, 0])
        assert (shares is None) == (copy is weight)
        if shares is not None:
            np.testing.assert_array_equal(shares, np.ones((4, 2)))
    assert checks.of_outputs([None, None], "mean") == (None, None)


def test_an_example_weighs_what_its_heaviest_output_does():
    weights = [np.array([1.0, 0, 2, 0, 0]), np.array([0.5, 3, 2, 0, -1])]
    found, shares = checks.of_outputs(weights, "sum")
    np.testing.assert_array_equal(found, [1, 3, 2, 0, -1])
    expected = [[1, 0.5], [0, 1], [1, 1], [1, 1], [0, 1]]
    np.testing.assert_array_equal(shares, expected)
    found, shares = checks.of_outputs([weights[0], None], "sum")
    np.testing.assert_array_equal(found, [1, 1, 2, 1, 1])
    np.testing.assert_array_equal(found[:, None] * shares[:, 1:], [[1]] * 5)
    with pytest.raises(Exception, match="same for all outputs"):
        checks.of_outputs(weights, "mean_with_sample_weight")


# Losses that are not finite


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_loss_that_is_not_finite_is_named(bad):
    values = tf.constant([[1, 2, 3], [4, 5, bad], [bad, 8, 9]])
    with pytest.raises(
        ValueError,
        match=message(
            "view 2 of example 1",
            "must be finite",
            "Received: view losses [4.0, 5",
        ),
    ):
        checks.check_finite(values)
    mask = np.array([[True] * 3, [True, True, False], [True] * 3])
    with pytest.raises(ValueError, match="view 0 of example 2"):
        checks.check_finite(values, mask)
    mask[2, 0] = False
    for allowed in (mask, mask.astype("int32")):
        assert checks.check_finite(values, allowed) is None
    assert checks.check_finite(values[:1]) is None


@pytest.mark.parametrize(
    "wrong",
    [
        lambda losses: (losses.max(1, keepdims=True), losses),
        lambda losses: losses.max(1),
        lambda losses: losses.max(),
        lambda losses: None,
    ],
)
def test_an_objective_gives_a_loss_for_each_group_and_weights(wrong):
    class Own(Objective):
        def value_and_weights(self, losses, mask=None, lambda_p=None):
            return wrong(losses)

    losses = np.arange(6.0).reshape(2, 3)
    with pytest.raises(TypeError, match=r"pair, the loss of each group"):
        checks.value_and_weights(Own(), losses, None, None)
    value, _ = checks.value_and_weights(Hard(0), losses, None, None)
    np.testing.assert_array_equal(value, [2, 5])


def test_labels_of_views_for_a_loss_of_ones_own_are_warned_of():
    def squared(label, prediction):
        return keras.ops.mean((label - prediction) ** 2, axis=-1)

    def check(label, prediction, of_views=None):
        output = compiled.Output(
            "the output",
            compiled.resolve(squared, label, prediction),
            1.0,
            tf.zeros((12, *label)),
            tf.zeros((12, *prediction)),
        )
        checks.check_label_shape(output, 3, of_views)

    for label, prediction in (((3,), (1,)), ((3, 8, 8), (8, 8, 1))):
        with pytest.warns(UserWarning, match='into {"views": y}. Received'):
            check(label, prediction)
    # As long by chance, or what they are said to be.
    check((3,), (3,))
    check((3, 2), (3, 8))
    check((3,), (1,), of_views=True)
    check((2,), (1,))
