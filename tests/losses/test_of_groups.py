"""View losses of small groups, calculated by hand in the comments."""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_mmel import objectives
from keras_mmel.contract import Sizes
from keras_mmel.losses.of_groups import group_losses

losses = keras.losses
log = math.log

HARD, SOFT = objectives.Hard(), objectives.Soft()


def arrays(values, dtype=None):
    """Lists of numbers to tensors, in dicts and tuples, which become lists."""
    if values is None:
        return None
    if isinstance(values, dict):
        return {key: arrays(part, dtype) for key, part in values.items()}
    if isinstance(values, tuple):
        return [arrays(part, dtype) for part in values]
    return ops.convert_to_tensor(np.array(values), dtype=dtype)


def find(objective, y, prediction, loss, **others):
    """`group_losses` on predictions alone: the views only have a shape."""
    prediction = arrays(prediction, "float32")
    sizes = Sizes(1, keras.tree.flatten(prediction)[0].shape[0])
    others = {"sizes": sizes, "loss": loss, **others}
    return group_losses(objective, y=arrays(y), prediction=prediction, **others)


def check(expected, *arguments, **others):
    """View losses, and the loss of the original beside them."""
    found = find(*arguments, **others)
    expected = np.atleast_2d(expected)
    np.testing.assert_allclose(found.losses, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        found.original, expected[:, 0], rtol=1e-5, atol=1e-6
    )
    assert found.losses.dtype == found.original.dtype == "float32"


# Classification

# One group of three views and three classes; the label is class 0.
CLASSES = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.2, 0.2, 0.6]]
# The teacher puts the original and the second augmented view in class 2, the
# first augmented view in class 1. It never agrees with the model's class 0 of
# the original: whether a view changes class is the teacher's own business.
TEACHER = [[[0.1, 0.2, 0.7], [0.0, 1.0, 0.0], [0.4, 0.0, 0.6]]]


@pytest.mark.parametrize("from_logits", [False, True])
@pytest.mark.parametrize("label", ["sparse", "one_hot"])
def test_classification(from_logits, label):
    y, loss = [0], losses.SparseCategoricalCrossentropy
    if label == "one_hot":
        y, loss = [[1.0, 0.0, 0.0]], losses.CategoricalCrossentropy
    taught = {"label": y, "teacher": TEACHER}
    prediction = np.log(CLASSES) + 1.7 if from_logits else CLASSES
    # -log of the probability of class 0.
    hard = [log(2), log(4), log(5)]
    # Views 1 and 2 against the teacher: 1 * -log 0.5, then 0.4 * -log 0.2 +
    # 0.6 * -log 0.6. View 0 keeps its label.
    hard_taught = [log(2), log(2), 0.4 * log(5) - 0.6 * log(0.6)]
    # Target (0.5, 0.25, 0.25). View 1: 0.5 log 4 + 0.25 log 2 + 0.25 log 4;
    # view 2: 0.5 log 5 + 0.25 log 5 + 0.25 log(1 / 0.6).
    second = 0.75 * log(5) - 0.25 * log(0.6)
    soft = [log(2), 0.75 * log(4) + 0.25 * log(2), second]
    # The teacher sees view 1 in another class than the original: its
    # prediction is the target, -log 0.5. It sees view 2 in the same class:
    # the prediction for the original stays the target.
    soft_taught = [log(2), log(2), second]
    for objective, given, expected in (
        (HARD, y, hard),
        (objectives.Uniform(), y, hard),
        (HARD, taught, hard_taught),
        (objectives.Uniform(), taught, hard_taught),
        (SOFT, y, soft),
        (SOFT, taught, soft_taught),
    ):
        check(expected, objective, given, prediction, loss(from_logits))


def test_groups_keep_to_themselves():
    # Two groups of two views; labels 0 and 1. Soft targets are (0.5, 0.5) and
    # (0.2, 0.8); only in the second group the teacher changes its mind.
    prediction = [[0.5, 0.5], [0.25, 0.75], [0.2, 0.8], [0.4, 0.6]]
    teacher = [[[0.9, 0.1], [0.6, 0.4]], [[0.3, 0.7], [1.0, 0.0]]]
    expected = [
        [log(2), -0.5 * log(0.25) - 0.5 * log(0.75)],
        [-log(0.8), -log(0.4)],
    ]
    taught = {"label": [0, 1], "teacher": teacher}
    sizes = Sizes(2, 2)
    check(expected, SOFT, taught, prediction, "crossentropy", sizes=sizes)


def test_tokens_change_class_one_by_one():
    # One group of two views, two tokens, two classes, labels (0, 1). The
    # teacher changes the class of the second token only, to (1, 0).
    prediction = [[[0.5, 0.5], [0.25, 0.75]], [[0.4, 0.6], [0.2, 0.8]]]
    teacher = [[[[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [1.0, 0.0]]]]
    first = -0.5 * log(0.4) - 0.5 * log(0.6)
    expected = [(log(2) - log(0.75)) / 2, (first - log(0.2)) / 2]
    taught = {"label": [[0, 1]], "teacher": teacher}
    check(expected, SOFT, taught, prediction, "crossentropy")


# Binary


@pytest.mark.parametrize("from_logits", [False, True])
def test_binary(from_logits):
    # Label 1. The teacher's original is 0.8 (positive); view 1 has 0.3 and is
    # another class, view 2 has 0.6 and is not, view 3 has 0.5, which is not
    # positive. Predictions 0.5, 0.25, 0.75, 0.2.
    probabilities = np.array([[0.5], [0.25], [0.75], [0.2]])
    prediction = probabilities
    if from_logits:
        prediction = np.log(probabilities / (1 - probabilities))
    loss = losses.BinaryCrossentropy(from_logits=from_logits)
    teacher = [[[0.8], [0.3], [0.6], [0.5]]]

    def entropy(t, p):
        return -t * log(p) - (1 - t) * log(1 - p)

    taught = {"label": [[1]], "teacher": teacher}
    flat = {"label": [1], "teacher": np.squeeze(teacher, -1)}
    hard, hard_teacher, soft, soft_teacher = (
        [entropy(t, p) for t, p in zip(of, (0.25, 0.75, 0.2), strict=True)]
        for of in ((1, 1, 1), (0.3, 0.6, 0.5), (0.5,) * 3, (0.3, 0.5, 0.5))
    )
    for objective, y, expected in (
        (HARD, [[1]], hard),
        (HARD, [1], hard),
        (HARD, taught, hard_teacher),
        (HARD, flat, hard_teacher),
        (SOFT, [[1]], soft),
        (SOFT, taught, soft_teacher),
        (SOFT, flat, soft_teacher),
    ):
        check([log(2), *expected], objective, y, prediction, loss)


def test_several_labels_change_class_one_by_one():
    # Two labels per example, (1, 0); the teacher changes only the second.
    prediction = [[0.5, 0.25], [0.2, 0.4]]
    teacher = [[[0.9, 0.1], [0.7, 1.0]]]
    # Entry 1 against 0.5, entry 2 against the teacher's 1.
    first = -0.5 * log(0.2) - 0.5 * log(0.8)
    expected = [(log(2) - log(0.75)) / 2, (first - log(0.4)) / 2]
    taught = {"label": [[1, 0]], "teacher": teacher}
    check(expected, SOFT, taught, prediction, "binary_crossentropy")


# Regression


@pytest.mark.parametrize("shape", ["column", "flat"])
def test_regression(shape):
    # Label 1.5, predictions 2, 1, 5, 4. The teacher says 2.5 for view 1, which
    # is exactly 0.5 from the prediction for the original (not more: it stays
    # 2), 3 for view 2 (1 away: 3 it is), 1.48 for view 3 (0.52 away: enough).
    prediction = [[2.0], [1.0], [5.0], [4.0]]
    label, teacher = [1.5], [[9.0, 2.5, 3.0, 1.48]]
    if shape == "column":
        label, teacher = [label], np.array(teacher)[..., None]
    taught = {"label": label, "teacher": teacher}
    for objective, y, expected in (
        (HARD, label, [0.25, 0.25, 12.25, 6.25]),
        (HARD, taught, [0.25, 2.25, 4, 6.3504]),
        (SOFT, label, [0.25, 1, 9, 4]),
        (SOFT, taught, [0.25, 1, 4, 6.3504]),
    ):
        check(expected, objective, y, prediction, "mse")


def test_values_of_a_vector_are_replaced_one_by_one():
    # Target of view 1: 0 stays (teacher 0.4), 1 becomes the teacher's -1.
    taught = {"label": [[0.0, 0.0]], "teacher": [[[0.0, 0.0], [0.4, -1.0]]]}
    prediction = [[0.0, 1.0], [2.0, 2.0]]
    check([0.5, (2 + 3) / 2], SOFT, taught, prediction, "mae")


# Reductions


def test_a_weight_counts_once_however_many_tokens_it_weighs():
    # Three examples of four tokens, of which each has a loss; groups of one
    # view, whose loss must be that of plain Keras: the sum over all tokens,
    # weighted by example, divided by the sum of the three weights.
    random = np.random.default_rng(0)
    label, prediction = random.normal(size=(2, 3, 4, 2)).astype("float32")
    weight = np.array([0.5, 2.0, 1.25], "float32")
    loss = losses.MeanSquaredError(reduction="mean_with_sample_weight")
    total = 0.0
    for i, j in np.ndindex(3, 4):
        error = label[i, j].astype("float64") - prediction[i, j]
        total += weight[i] * np.mean(error**2)
    plain = loss(label, prediction, sample_weight=weight[:, None])
    np.testing.assert_allclose(plain, total / 3.75, rtol=1e-5)
    found = find(
        HARD, label, prediction, loss, sizes=Sizes(3, 1), sample_weight=weight
    )
    numerator, size = found.reduce(found.original)
    np.testing.assert_allclose(numerator / size, plain, rtol=1e-5)
    # The view losses themselves are means over the tokens.
    expected = np.mean((label - prediction) ** 2, axis=(1, 2))
    np.testing.assert_allclose(found.losses[:, 0], expected, rtol=1e-5)


@pytest.mark.parametrize("reduction", ["mean_with_sample_weight", "none"])
def test_the_number_of_tokens_may_be_known_to_the_step_alone(reduction):
    label, prediction = np.random.default_rng(0).normal(size=(2, 3, 4, 2))
    weight = np.array([0.5, 2.0, 1.25], "float32")

    def reduce(label, prediction):
        found = group_losses(
            HARD,
            Sizes(3, 1),
            label,
            prediction,
            weight,
            loss=losses.MeanSquaredError(reduction=reduction),
        )
        return found.reduce(found.original)

    unknown = tf.TensorSpec((3, None, 2), tf.float32)
    traced = tf.function(reduce, input_signature=[unknown, unknown])
    arrays = label.astype("float32"), prediction.astype("float32")
    (values, size), (expected, expected_size) = traced(*arrays), reduce(*arrays)
    np.testing.assert_allclose(values, expected, rtol=1e-6)
    assert (size is None) == (expected_size is None)
    if size is not None:
        np.testing.assert_allclose(size, expected_size, rtol=1e-6)


TOKENS_AND_VECTOR = {"tokens": (3, 4, 2), "vector": (3, 2)}
BOTH_OF_TOKENS = {"first": (3, 4, 2), "second": (3, 4, 2)}


def of_outputs(shapes, reduction, mask=None, sample_weight=None):
    """The loss of a batch of groups of one view, as numerator and size."""
    random = np.random.default_rng(0)
    label, prediction = (
        {name: ops.array(random.normal(size=s)) for name, s in shapes.items()}
        for _ in range(2)
    )
    if mask is not None:
        prediction["first"]._keras_mask = ops.array(mask)
    loss = losses.MeanSquaredError(reduction=reduction)
    found = group_losses(
        HARD, Sizes(3, 1), label, prediction, sample_weight, loss=loss
    )
    numerator, size = found.reduce(found.original)
    plain = 0.0
    for name, values in prediction.items():
        weight = sample_weight
        if weight is not None:
            weight = np.reshape(weight, (3, *[1] * (len(shapes[name]) - 2)))
        plain += loss(label[name], values, sample_weight=weight)
    return np.mean(numerator if size is None else numerator / size), plain


WEIGHT = np.array([0.5, 2.0, 1.25], "float32")
MEAN_OF_WEIGHTS = "mean_with_sample_weight"
HALF = np.array([[True, True, False, False]] * 3)


@pytest.mark.parametrize(
    ("shapes", "reduction", "mask", "weight"),
    [
        (TOKENS_AND_VECTOR, MEAN_OF_WEIGHTS, None, WEIGHT),
        (TOKENS_AND_VECTOR, "none", None, None),
        (BOTH_OF_TOKENS, MEAN_OF_WEIGHTS, HALF, WEIGHT),
    ],
)
def test_outputs_that_need_denominators_of_their_own_are_refused(
    shapes, reduction, mask, weight
):
    message = "as many values .*sum_over_batch_size.*Received: .*: 4, "
    with pytest.raises(ValueError, match=message):
        of_outputs(shapes, reduction, mask, weight)


@pytest.mark.parametrize(
    ("shapes", "reduction", "mask", "weight"),
    [
        (TOKENS_AND_VECTOR, MEAN_OF_WEIGHTS, None, None),
        (TOKENS_AND_VECTOR, "sum_over_batch_size", None, WEIGHT),
        (BOTH_OF_TOKENS, MEAN_OF_WEIGHTS, None, WEIGHT),
        (BOTH_OF_TOKENS, MEAN_OF_WEIGHTS, HALF, None),
        (BOTH_OF_TOKENS, "none", None, None),
    ],
)
def test_other_outputs_reduce_as_plain_keras(shapes, reduction, mask, weight):
    found, plain = of_outputs(shapes, reduction, mask, weight)
    np.testing.assert_allclose(found, np.mean(plain), rtol=1e-5)


# Settings


def quartic(y_true, y_pred):
    return ops.mean((y_true - y_pred) ** 4, axis=-1)


def test_a_soft_loss_takes_the_teacher_where_the_compiled_loss_cannot():
    y = {"label": [[1.0]], "teacher": [[[7.0], [2.0]]]}
    hard, soft = ((x, y, [[3.0], [5.0]], quartic) for x in (HARD, SOFT))
    check([16, 3], *hard, soft_loss="mae")
    # "mae" says that the task is a regression, where 2 is 1 away from 3.
    check([16, 3], *soft, soft_loss="mae")
    check([16, 81], *hard, soft_loss=quartic)
    with pytest.raises(ValueError, match="soft_loss=function"):
        find(*hard)
    with pytest.raises(
        ValueError,
        match="must tell .* classification or regress.*Received: loss=",
    ):
        find(*soft, soft_loss=quartic)


def test_several_outputs_take_a_nest_of_soft_losses():
    # a: (1 - 2)^4, then |2 - 5|; b: (1 - 3)^2, then (3 - 4)^2.
    check(
        [1 + 4, 3 + 1],
        SOFT,
        {"a": [[1.0]], "b": [[1.0]]},
        {"a": [[2.0], [5.0]], "b": [[3.0], [4.0]]},
        {"a": quartic, "b": "mse"},
        soft_loss={"a": "mae", "b": None},
    )


# Outputs a and b, whose losses against the label 0 and 1 are 1, 4 and 4, 9.
OUTPUTS = {"a": [[1.0], [2.0]], "b": [[3.0], [4.0]]}
LABEL_LIST, LABEL_DICT = ([[0.0]], [[1.0]]), {"a": [[0.0]], "b": [[1.0]]}
TEACHER_LIST = ([[[9.0], [5.0]]], [[[9.0], [6.0]]])
TEACHER_DICT = {"a": TEACHER_LIST[0], "b": TEACHER_LIST[1]}


@pytest.mark.parametrize("label", [LABEL_LIST, LABEL_DICT])
@pytest.mark.parametrize("teacher", [TEACHER_LIST, TEACHER_DICT])
def test_labels_and_teacher_of_named_outputs_in_lists_and_dicts(label, teacher):
    # a: 1, (2 - 5)^2 = 9; b: 4, (4 - 6)^2 = 4.
    found = group_losses(
        HARD,
        Sizes(1, 2),
        {"label": arrays(label), "teacher": arrays(teacher)},
        arrays((*OUTPUTS.values(),)),
        loss=["mse", "mse"],
        output_names=["a", "b"],
    )
    np.testing.assert_allclose(found.losses, [[5, 13]])


def test_a_teacher_may_know_only_some_outputs():
    # a: 1, (2 - 5)^2 = 9; b: 4, 9 against the label.
    taught = {"label": LABEL_DICT, "teacher": {**TEACHER_DICT, "b": None}}
    check([5, 18], HARD, taught, OUTPUTS, "mse")


@pytest.mark.parametrize("teacher", [{"a": TEACHER_LIST[0]}, TEACHER_LIST[0]])
def test_a_teacher_that_leaves_an_output_out_is_refused(teacher):
    with pytest.raises(ValueError, match="No entry for the output .* in y"):
        find(HARD, {"label": LABEL_DICT, "teacher": teacher}, OUTPUTS, "mse")
