"""Steps with a teacher, calculated by hand in the comments."""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_mmel
from keras_mmel import objectives

layers = keras.layers
losses = keras.losses
log = math.log


def linear_step(objective, x, y, loss="mse", rate=0.1):
    """Kernel after one step of a model without bias that starts at 1."""
    model = keras.Sequential(
        [
            keras.Input((1,)),
            layers.Dense(1, use_bias=False, kernel_initializer="ones"),
        ]
    )
    mmel = keras_mmel.MMELModel(model, objective)
    mmel.compile(keras.optimizers.SGD(rate), loss, run_eagerly=True)
    history = mmel.fit(x, y, verbose=0).history
    return float(model.get_weights()[0].item()), history["loss"][0]


def test_a_hard_step_with_a_teacher_by_hand():
    # Views 1 and 3, label 0, teacher 5 for view 1. Losses (1 - 0)^2 = 1 and
    # (3 - 5)^2 = 4; d/dw: 2 * 1 * 1 = 2 and 2 * (3 - 5) * 3 = -12.
    # lambda 3 / log 2 gives weights 1 : 2, so that R = lambda log 1.5 e^(1/l)
    # = 1 + 3 log2(1.5) and the gradient is (2 - 24) / 3.
    kernel, loss = linear_step(
        objectives.Hard(3 / log(2)),
        {"views": np.float32([[[1], [3]]])},
        {"label": np.float32([[0]]), "teacher": np.float32([[[8], [5]]])},
    )
    assert kernel == pytest.approx(1 + 0.1 * 22 / 3, rel=1e-6)
    assert loss == pytest.approx(1 + 3 * math.log2(1.5), rel=1e-6)


@pytest.mark.parametrize("stop_gradient", [True, False])
def test_a_soft_step_by_hand(stop_gradient):
    # Views 1 and 3, label 0: loss 1 with gradient 2. Target f(x) = 1, soft
    # loss (3 - 1)^2 = 4 with gradient 2 * 2 * 3 = 12, or, through the target,
    # 2 * 2 * (3 - 1) = 8. lambda_t = 0.5.
    kernel, loss = linear_step(
        objectives.Soft(1.0, 0.5, stop_gradient=stop_gradient),
        {"views": np.float32([[[1], [3]]])},
        np.float32([[0]]),
    )
    gradient = 2 + 0.5 * (12 if stop_gradient else 8)
    assert kernel == pytest.approx(1 - 0.1 * gradient, rel=1e-6)
    assert loss == pytest.approx(1 + 0.5 * 4, rel=1e-6)


RUBBISH = (np.nan, np.inf, 1e30, 0.0)


@pytest.mark.parametrize("rubbish", RUBBISH)
@pytest.mark.parametrize("name", ["hard", "soft", "uniform"])
def test_padding_and_its_teacher_change_nothing(name, rubbish):
    # The same groups with and without a padding view, whatever is in it.
    views = np.float32([[[1], [3]], [[2], [-1]]])
    label = np.float32([[0], [1]])
    teacher = np.float32([[[1], [5]], [[1], [7]]])

    def padded(values):
        filling = np.full_like(values[:, :1], rubbish)
        return np.concatenate([values, filling], 1)

    mask = np.array([[True, True, False]] * 2)
    for taught in (False, True):
        y = {"label": label, "teacher": teacher} if taught else label
        expected = linear_step(name, {"views": views}, y)
        if taught:
            y = {"label": label, "teacher": padded(teacher)}
        found = linear_step(name, {"views": padded(views), "mask": mask}, y)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("kind", ["softmax", "logits"])
def test_rubbish_from_the_teacher_of_a_padding_view_has_no_gradient(kind):
    loss = losses.SparseCategoricalCrossentropy(from_logits=kind == "logits")
    activation = "softmax" if kind == "softmax" else None
    model = keras.Sequential(
        [keras.Input((2,)), layers.Dense(2, activation=activation)]
    )
    before = model.get_weights()
    mmel = keras_mmel.MMELModel(model, "hard")
    mmel.compile("sgd", loss)
    teacher = np.full((1, 3, 2), 0.5, "float32")
    teacher[0, 2] = np.nan
    x = {
        "views": np.ones((1, 3, 2), "float32"),
        "mask": np.array([[True, True, False]]),
    }
    history = mmel.fit(
        x, {"label": np.array([1]), "teacher": teacher}, verbose=0
    ).history
    assert np.isfinite(history["loss"][0])
    after = model.get_weights()
    assert all(np.isfinite(weight).all() for weight in after)
    assert any((a != b).any() for a, b in zip(before, after, strict=True))


def test_view_losses_of_a_dataset_with_unknown_batch_size():
    views = np.float32([[[1], [3]], [[2], [-1]], [[0], [1]]])
    label = np.float32([[0], [1], [0]])
    data = tf.data.Dataset.from_tensor_slices(({"views": views}, label))
    spec = data.batch(3).element_spec
    assert spec[1].shape[0] is None
    model = keras.Sequential(
        [
            keras.Input((1,)),
            layers.Dense(1, use_bias=False, kernel_initializer="ones"),
        ]
    )
    mmel = keras_mmel.MMELModel(model, "uniform")
    mmel.compile(keras.optimizers.SGD(0.0), "mse")
    history = mmel.fit(data.batch(3), shuffle=False, verbose=0).history
    # (1 - 0)^2, 3^2 | (2 - 1)^2, (-2)^2 | 0, 1.
    assert history["loss"][0] == pytest.approx((5 + 2.5 + 0.5) / 3)
    assert history["original_loss"][0] == pytest.approx(2 / 3)


def steps_of_unknown_sizes(views, label, teacher):
    """One soft step on a generator that tells no size but the last."""

    def generate():
        yield {"views": views}, {"label": label, "teacher": teacher}

    unknown = tf.TensorSpec((None, None, 1), tf.float32)
    data = tf.data.Dataset.from_generator(
        generate,
        output_signature=(
            {"views": unknown},
            {"label": tf.TensorSpec((None, 1)), "teacher": unknown},
        ),
    )
    model = keras.Sequential(
        [
            keras.Input((1,)),
            layers.Dense(1, use_bias=False, kernel_initializer="ones"),
        ]
    )
    mmel = keras_mmel.MMELModel(model, "soft")
    mmel.compile(keras.optimizers.SGD(0.1), "mse")
    history = mmel.fit(data, shuffle=False, verbose=0).history
    return float(model.get_weights()[0].item()), history["loss"][0]


# Keras says so of every generator whose length it does not know.
@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_sizes_that_only_the_step_knows():
    views = np.float32([[[1], [3], [2]], [[2], [-1], [0]]])
    label = np.float32([[0], [1]])
    teacher = np.float32([[[1], [5], [2]], [[1], [7], [2.25]]])
    expected = linear_step(
        "soft", {"views": views}, {"label": label, "teacher": teacher}
    )
    found = steps_of_unknown_sizes(views, label, teacher)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    for bad in (
        (views, label, teacher[:, :1]),
        (views, label, teacher[:, :2]),
        (views, label[:1], teacher),
    ):
        with pytest.raises(Exception, match="must agree in their sizes"):
            steps_of_unknown_sizes(*bad)
