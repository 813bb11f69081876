"""Steps with a teacher, calculated by hand in the comments."""

import math

import keras
import numpy as np
import pytest

import keras_mmel
from keras_mmel import objectives

layers = keras.layers
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
    log = mmel.train_on_batch(x, y, return_dict=True)
    return float(model.get_weights()[0].item()), log["loss"]


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


@pytest.mark.parametrize("rubbish", [np.nan, 1e30])
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
