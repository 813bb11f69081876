"""Bad labels, weights and losses: an error, never a silently other loss."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_mmel
from keras_mmel.groups import Sizes
from keras_mmel.losses import checks
from keras_mmel.losses import compiled

losses = keras.losses
X = {"views": np.zeros((4, 3, 5), "float32")}


def message(*parts):
    """Pattern that finds all parts in order."""
    return "(?s)" + ".*".join(map(re.escape, parts))


# --- labels ------------------------------------------------------------------


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
            ("shape (batch, ...) with batch=4", "Received: y.shape=(3,)"),
        ),
        (
            np.zeros((12, 2)),
            ("shared by the views", "batch=4", "y.shape=(12, 2)"),
        ),
        (np.float32(1), ("with batch=4", "y.shape=()")),
        ([np.zeros(4), np.zeros(5)], ("with batch=4", "y.shape=(5,)")),
    ],
)
def test_labels_that_no_loss_can_take_are_refused(label, parts):
    with pytest.raises(ValueError, match=message(*parts)):
        checks.check_labels(label, Sizes(4, 3))


@pytest.mark.parametrize(
    "label", [np.zeros(4), {"a": np.zeros((4, 2)), "b": [np.zeros((4, 1))]}]
)
def test_labels_of_the_batch_are_accepted(label):
    assert checks.check_labels(label, Sizes(4, 3)) is None


def test_labels_of_unknown_batch_size_are_accepted():
    @tf.function(input_signature=[tf.TensorSpec((None,))] * 1)
    def run(label):
        checks.check_labels(label, Sizes(4, 3))
        return label

    assert run(tf.zeros(4)).shape == (4,)


SHAPES = {
    # loss, label, prediction, the shape that is asked for
    "a_row_for_a_column": ("mse", (4, 3), (4, 1), "(batch, 1)"),
    "a_column_for_a_row": ("mse", (4, 1), (4, 3), "(batch, 3)"),
    "flat_for_a_vector": ("mae", (4,), (4, 3), "(batch, 3)"),
    "label_per_view": ("mse", (4, 3, 1), (4, 1), "(batch, 1)"),
    "one_hot_for_sparse": (
        "sparse_categorical_crossentropy",
        (4, 3),
        (4, 3),
        "(batch)",
    ),
    "sparse_per_view": (
        "sparse_categorical_crossentropy",
        (4, 3),
        (4, 6),
        "(batch)",
    ),
    "sparse_for_one_hot": (
        "categorical_crossentropy",
        (4, 1),
        (4, 3),
        "(batch, 3)",
    ),
    "one_bit_for_many": ("binary_crossentropy", (4, 1), (4, 3), "(batch, 3)"),
    "many_bits_for_one": ("binary_crossentropy", (4, 3), (4, 1), "(batch, 1)"),
    "too_few_tokens": (
        "sparse_categorical_crossentropy",
        (4, 1),
        (4, 7, 3),
        "(batch, 7)",
    ),
    "a_picture_without_channels": (
        losses.Huber(),
        (4, 8, 1),
        (4, 8, 8),
        "(batch, 8, 8)",
    ),
    "divergence": ("kld", (4, 1), (4, 3), "(batch, 3)"),
    "focal": (
        losses.CategoricalFocalCrossentropy(),
        (4,),
        (4, 3),
        "(batch, 3)",
    ),
    "hinge": ("hinge", (4, 3), (4, 1), "(batch, 1)"),
    "squared_hinge": (losses.SquaredHinge(), (4, 1), (4, 3), "(batch, 3)"),
    "categorical_hinge": ("categorical_hinge", (4, 1), (4, 3), "(batch, 3)"),
    "generalized": (
        losses.CategoricalGeneralizedCrossEntropy(),
        (4, 3),
        (4, 3),
        "(batch)",
    ),
    "ignore_class": (
        losses.SparseCategoricalCrossentropy(ignore_class=0),
        (4, 3),
        (4, 3),
        "(batch)",
    ),
}


def output_of(loss, label, prediction):
    label, prediction = np.zeros(label), np.zeros(prediction)
    loss = compiled.resolve(loss, label, prediction)
    return compiled.Output("kind", loss, None, label, prediction, ())


@pytest.mark.parametrize("name", SHAPES)
def test_labels_that_would_broadcast_are_refused(name):
    loss, label, prediction, expected = SHAPES[name]
    output = output_of(loss, label, prediction)
    given = ", ".join(map(str, ("batch", *label[1:])))
    with pytest.raises(
        ValueError,
        match=message(
            f"Labels of kind must have shape {expected}",
            output.loss.name,
            "one label for each example",
            "3 views",
            f"Received: y.shape=({given})",
        ),
    ):
        checks.check_label_shape(output, 3)


@pytest.mark.parametrize(
    ("loss", "label", "prediction"),
    [
        ("mse", (4,), (4, 1)),
        ("mse", (4, 1), (4, 1)),
        ("mse", (4, 1), (4,)),
        ("mse", (4, 2, 3), (4, 2, 3)),
        ("mse", (4, 8, 8), (4, 8, 8, 1)),
        ("sparse_categorical_crossentropy", (4,), (4, 3)),
        ("sparse_categorical_crossentropy", (4, 1), (4, 3)),
        ("sparse_categorical_crossentropy", (4, 7), (4, 7, 3)),
        ("sparse_categorical_crossentropy", (4, 7, 1), (4, 7, 3)),
        ("categorical_crossentropy", (4, 3), (4, 3)),
        ("binary_crossentropy", (4,), (4, 1)),
        ("binary_crossentropy", (4, 8, 8, 1), (4, 8, 8, 1)),
    ],
)
def test_labels_in_the_spellings_of_keras_are_accepted(loss, label, prediction):
    output = output_of(loss, label, prediction)
    assert checks.check_label_shape(output, 3) is None


def test_losses_of_ones_own_take_any_labels():
    output = output_of(lambda y, p: p, (4, 9, 9), (4, 3))
    assert checks.check_label_shape(output, 3) is None


# --- through fit -------------------------------------------------------------


def fit(y, loss="mse", x=X["views"], units=1, objective="hard", **others):
    model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(units)])
    mmel = keras_mmel.MMELModel(model, objective)
    mmel.compile("sgd", loss, run_eagerly=others.pop("run_eagerly", False))
    return mmel.fit({"views": x}, y, verbose=0, **others).history


@pytest.mark.parametrize(
    ("y", "settings", "parts"),
    [
        (None, {}, ("Training needs labels", "y=None")),
        (np.array(["a", "b", "c", "d"]), {}, ("Labels must be numbers",)),
        (np.zeros((4, 3)), {}, ("shape (batch, 1)", "y.shape=(batch, 3)")),
        (
            np.zeros((4, 3)),
            {"loss": "sparse_categorical_crossentropy", "units": 4},
            ("shape (batch) for the loss", "y.shape=(batch, 3)"),
        ),
        (
            {"label": np.zeros(4), "teacher": np.zeros((4, 2, 1))},
            {},
            ("Teacher predictions", "(batch, num_views, 1)"),
        ),
        (
            {"label": np.zeros(4), "teacher": np.zeros((4, 3, 2))},
            {},
            ("Teacher predictions", "teacher.shape=", "3, 2)"),
        ),
        (
            {"label": np.zeros(4), "teacher": np.zeros(4)},
            {},
            ("Teacher predictions", "one for each view"),
        ),
        (
            np.zeros(4),
            {"objective": "soft", "x": X["views"][:, :1]},
            ("groups of at least 2 views", "Received: losses.shape="),
        ),
    ],
)
def test_fit_refuses_bad_labels_at_the_first_batch(y, settings, parts):
    for run_eagerly in (False, True):
        with pytest.raises(ValueError, match=message(*parts)):
            fit(y, **settings, run_eagerly=run_eagerly)


def test_a_teacher_for_one_view_is_not_spread_over_all():
    y = {"label": np.zeros(1), "teacher": np.zeros((1, 1, 1))}
    for run_eagerly in (False, True):
        with pytest.raises(ValueError, match="Teacher predictions"):
            fit(y, x=X["views"][:1], run_eagerly=run_eagerly)


def test_fit_without_a_loss_or_compile_is_refused():
    model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(1)])
    mmel = keras_mmel.MMELModel(model)
    with pytest.raises(ValueError, match=r"compile\(\)"):
        mmel.fit(X, np.zeros(4), verbose=0)
    with pytest.raises(ValueError, match=r"compile\(\)"):
        mmel.view_weights(X, np.zeros(4))
    mmel.compile("sgd")
    with pytest.raises(ValueError, match="No loss to compute"):
        mmel.fit(X, np.zeros(4), verbose=0)


def test_view_weights_checks_as_fit_does():
    model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(1)])
    mmel = keras_mmel.MMELModel(model)
    mmel.compile("sgd", "mse")
    for x, y, parts in (
        (X["views"], np.zeros(4), ("`fit` takes groups",)),
        (X, None, ("Training needs labels",)),
        (X, np.zeros((4, 3)), ("shape (batch, 1)",)),
        (X, np.zeros(3), ("batch=4", "y.shape=(3,)")),
    ):
        with pytest.raises(ValueError, match=message(*parts)):
            mmel.view_weights(x, y)


# --- sample weights ----------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "int32", "bool"])
def test_sample_weights_become_one_number_per_example(dtype):
    weight = np.array([1, 0, 1, 1]).astype(dtype)
    for shape in ((4,), (4, 1)):
        found = checks.per_example(weight.reshape(shape))
        assert found.dtype == "float32"
        np.testing.assert_array_equal(found, [1, 0, 1, 1])


@pytest.mark.parametrize(
    ("weight", "parts"),
    [
        (np.ones((4, 3)), ("shape (batch,)", "sample_weight.shape=(4, 3)")),
        (np.float32(1), ("shape (batch,)", "sample_weight.shape=()")),
        (np.ones((4, 1, 1)), ("(4, 1, 1)",)),
        (
            [np.ones(4), np.ones((4, 3))],
            ("same for all outputs", "Received: shapes (4,) and (4, 3)"),
        ),
    ],
)
def test_sample_weights_of_another_shape_are_refused(weight, parts):
    with pytest.raises(ValueError, match=message("`sample_weight`", *parts)):
        checks.per_example(weight)


def test_copies_for_every_part_of_the_labels_are_one_weight():
    """Keras copies an array of weights to each part of a nest of labels."""
    weight = np.float32([1, 0, 2, 1])
    found = checks.per_example({"a": weight, "b": [weight.copy()]})
    np.testing.assert_array_equal(found, weight)
    with pytest.raises(Exception, match="same for all outputs"):
        checks.per_example({"a": weight, "b": weight + 1})


@pytest.mark.parametrize("kind", [dict, list, tuple])
def test_fit_refuses_sample_weights_for_each_output(kind):
    weight = np.ones(4, "float32")
    weights = {"a": weight} if kind is dict else kind([weight, weight])
    with pytest.raises(
        ValueError, match=message("one array", f"Received: a {kind.__name__}")
    ):
        fit(np.zeros(4), sample_weight=weights)


def test_fit_refuses_a_sample_weight_per_view():
    with pytest.raises(ValueError, match=message("shape (batch,)", "3)")):
        fit(np.zeros(4), sample_weight=np.ones((4, 3)))


# --- losses that are not finite ----------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_loss_that_is_not_finite_is_named(bad):
    values = tf.constant([[1, 2, 3], [4, 5, bad], [bad, 8, 9]])
    with pytest.raises(
        ValueError,
        match=message(
            "view 2 of example 1", "not finite", "Received: view losses [4.0, 5"
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


def test_fit_names_the_view_eagerly_and_logs_nan_in_a_graph():
    x = np.ones((4, 3, 5), "float32")
    x[2, 1, 0] = np.inf
    with pytest.raises(ValueError, match="view 1 of example 2"):
        fit(np.zeros(4), x=x, run_eagerly=True, shuffle=False)
    assert np.isnan(fit(np.zeros(4), x=x)["loss"][0])
