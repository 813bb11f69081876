"""One loss per view from whatever is compiled, beside plain Keras."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_mmel
from keras_mmel.losses import compiled
from keras_mmel.losses import per_view
from tests.losses.loss_table import CASES
from tests.losses.loss_table import ROWS
from tests.losses.loss_table import TASKS
from tests.plain_fit import assert_same_step

layers = keras.layers
losses = keras.losses

# Trained in graph mode too, where batch sizes are unknown; the others eagerly.
IN_GRAPH = {
    "mse-vector",
    "kld-distribution",
    "crossentropy-class_prob",
    "sparse_categorical_crossentropy-tokens",
    "binary_function",
    "reduction_sum",
    "reduction_None",
    "categorical_logits_smooth",
    "binary_pixels",
    "ignore_class_tokens",
    "partial",
    "unregistered_subclass",
}

every_case = pytest.mark.parametrize("name", CASES)


def model_for(task):
    """A dense model with the outputs of a task."""

    def make():
        return keras.Sequential(
            [
                keras.Input((5,)),
                layers.Dense(
                    int(np.prod(task.shape)), bias_initializer="random_normal"
                ),
                layers.Reshape(task.shape),
                layers.Activation(task.activation),
            ]
        )

    return make


def features(rows=ROWS):
    rng = np.random.default_rng(1)
    return rng.normal(size=(rows, 5)).astype("float32")


def state_of(thing):
    """What `thing` holds: its attributes, one level down."""
    return dict(vars(thing)) if hasattr(thing, "__dict__") else {}


def rows_of(loss, label, prediction):
    resolved = compiled.resolve(loss, label, prediction)
    label, prediction = map(ops.convert_to_tensor, (label, prediction))
    return per_view.rows(resolved, label, prediction).losses


# Every spelling


def alone(loss, label, prediction):
    """The loss of every example in a batch of its own, in plain Keras."""
    plain = keras.Sequential([layers.Identity()])
    plain.compile(loss=loss)
    parts = zip(label[:, None], ops.expand_dims(prediction, 1), strict=True)
    # Without a reduction Keras would train on the sum.
    return np.array([ops.sum(plain.compute_loss(None, *one)) for one in parts])


@every_case
def test_each_row_has_the_loss_of_its_example(name):
    loss, task = CASES[name][0], TASKS[CASES[name][1]]
    before, prediction = state_of(loss), task.prediction()
    values = rows_of(loss, task.label, prediction)
    assert values.dtype == "float32"
    expected = alone(loss, task.label, prediction)
    rtol = 2e-2 if name == "bfloat16" else 1e-5
    np.testing.assert_allclose(values, expected, rtol=rtol)
    assert state_of(loss) == before


@every_case
def test_a_group_of_one_view_trains_as_plain_fit(name):
    loss, task = CASES[name][0], TASKS[CASES[name][1]]
    before = state_of(loss)
    assert_same_step(
        model_for(task),
        features(),
        task.label,
        loss=loss,
        # Plain Keras rounds the mean over the batch to eight bits.
        rtol=2e-2 if name == "bfloat16" else 1e-5,
        run_eagerly=name not in IN_GRAPH,
    )
    assert state_of(loss) == before


# What is refused


class OverridesCall(losses.Loss):
    def __call__(self, y_true, y_pred, sample_weight=None):
        return ops.mean(ops.abs(y_true - y_pred))


class WrapsReduced(losses.Loss):
    def __init__(self):
        super().__init__(name="wraps_reduced")
        self.inner = losses.MeanSquaredError()

    def call(self, y_true, y_pred):
        return self.inner(y_true, y_pred)


def gives_a_scalar(y_true, y_pred):
    return ops.mean(ops.abs(y_true - y_pred))


def gives_one_row(y_true, y_pred):
    return ops.mean(ops.abs(y_true - y_pred), axis=0)


class Broadcasts(losses.Loss):
    def call(self, y_true, y_pred):
        return (y_true - y_pred) ** 2


def test_a_loss_that_mixes_examples_is_refused():
    label, prediction = np.arange(4.0), np.ones((4, 1), "float32")
    with pytest.raises(ValueError, match=r"\(4, 4\).*shape of the predictions"):
        rows_of(Broadcasts(), label, prediction)
    values = rows_of(Broadcasts(), label[:, None], prediction)
    np.testing.assert_allclose(values, (label - 1) ** 2)


ONE_PER_VIEW = "gives a result of shape .* one loss per view.* Received: loss="
REFUSED = {
    "unknown": ("msee", "(?i)could not interpret loss.*msee"),
    "dice": (losses.Dice(), "'dice' " + ONE_PER_VIEW),
    "dice_name": ("Dice", ONE_PER_VIEW),
    "tversky": (losses.Tversky(), "'tversky' " + ONE_PER_VIEW),
    "scalar_function": (gives_a_scalar, "'gives_a_scalar' " + ONE_PER_VIEW),
    "another_axis": (gives_one_row, "'gives_one_row' " + ONE_PER_VIEW),
    "wraps_reduced": (WrapsReduced(), "'wraps_reduced' " + ONE_PER_VIEW),
    "depends_on_all_rows": (
        losses.Circle(),
        "one row depends on all rows.*one loss per view.*Received: loss=",
    ),
    "overrides_call": (
        OverridesCall(name="own"),
        "'own' overrides `__call__`.*override `call.*Received: loss=",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_loss_without_values_per_view_is_refused(name):
    loss, message = REFUSED[name]
    task = TASKS["vector"]
    with pytest.raises(ValueError, match=message):
        rows_of(loss, task.label, task.prediction())
    if name in ("scalar_function", "overrides_call"):
        mmel = keras_mmel.MMELModel(model_for(task)())
        mmel.compile("sgd", loss)
        with pytest.raises(ValueError, match=message):
            mmel.fit({"views": features()[:, None]}, task.label, verbose=0)


def test_a_dice_loss_over_the_axes_of_an_image_has_a_value_per_image():
    label = np.float32(np.random.default_rng(0).integers(0, 2, (3, 4, 4, 1)))
    prediction = np.random.default_rng(1).uniform(0, 1, label.shape)
    values = rows_of(losses.Dice(axis=(1, 2, 3)), label, np.float32(prediction))
    both = np.sum(label * prediction, (1, 2, 3))
    total = np.sum(label + prediction, (1, 2, 3))
    np.testing.assert_allclose(values, 1 - 2 * both / total, rtol=1e-5)


# The user's objects


def test_training_neither_copies_nor_changes_a_loss():
    calls = []

    class Recorded(losses.Loss):
        def call(self, y_true, y_pred):
            calls.append(self)
            return ops.mean((y_true - y_pred) ** 2, axis=-1)

        def __copy__(self):
            raise AssertionError("copied")

        def __deepcopy__(self, memo):
            raise AssertionError("copied")

        def __reduce__(self):
            raise AssertionError("serialised")

    task, loss, soft_loss = TASKS["vector"], Recorded(), Recorded()
    before, soft_before = state_of(loss), state_of(soft_loss)
    mmel = keras_mmel.MMELModel(model_for(task)(), "soft", soft_loss=soft_loss)
    mmel.compile("sgd", loss, run_eagerly=True)
    views = np.repeat(features()[:, None], 2, axis=1)
    mmel.fit({"views": views}, task.label, verbose=0)
    mmel.view_weights({"views": views}, task.label)
    assert {id(call) for call in calls} == {id(loss), id(soft_loss)}
    assert state_of(loss) == before
    assert state_of(soft_loss) == soft_before
