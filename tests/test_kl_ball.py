"""The KL ball against its dual, minimized by scipy in float64."""

import math

import numpy as np
import pytest
import scipy.optimize
import tensorflow as tf
from numpy.testing import assert_allclose

from keras_mmel import kl_ball
from keras_mmel import objectives
from tests import oracle
from tests.test_objectives import MODES

# Each radius is a program of its own for XLA; one test has it by default.
MODES_OF_RADII = [
    pytest.param(mode, marks=pytest.mark.slow) if mode == "xla" else mode
    for mode in MODES
]
RADII = (1e-4, 0.01, 0.07, 0.1, 0.35, 0.7, 1.5)


def dual(losses, radius):
    """The value of one group, float64; its losses are not all alike."""
    losses = np.asarray(losses, np.float64)
    span = np.ptp(losses)
    scaled = (losses - losses.max()) / span

    def of_log_lambda(log_lambda):
        scale = math.exp(log_lambda)
        return scale * (radius + np.log(np.mean(np.exp(scaled / scale))))

    found = scipy.optimize.minimize_scalar(
        of_log_lambda,
        bounds=(math.log(1e-12), math.log(1e7)),
        method="bounded",
        options={"xatol": 1e-12},
    )
    return losses.max() + span * found.fun


def divergence(weights):
    """KL of float64 weights from the uniform ones."""
    positive = weights[weights > 0]
    return np.sum(positive * np.log(positive * len(weights)))


def random_losses(num_views):
    rng = np.random.default_rng(num_views)
    parts = [
        rng.exponential(size=(9, num_views)),
        rng.normal(size=(9, num_views)) ** 3,
        rng.uniform(size=(9, num_views)) ** 8,
    ]
    return np.concatenate(parts).astype("float32")


def step(losses, radius, mask=None):
    """Value, gradient and weights, as a training step sees them."""
    with tf.GradientTape() as tape:
        tape.watch(losses)
        value, weights = kl_ball.ball_loss_and_weights(losses, radius, mask)
    return value, tape.gradient(value, losses), weights


@pytest.mark.parametrize("mode", MODES_OF_RADII)
@pytest.mark.parametrize("radius", RADII)
def test_value_is_the_minimum_of_the_dual(radius, mode):
    run = MODES[mode](lambda losses: step(losses, radius))
    for num_views in (2, 5, 20):
        losses = random_losses(num_views)
        value, gradient, weights = (x.numpy() for x in run(tf.constant(losses)))
        expected = [dual(group, radius) for group in losses]
        scale = np.abs(losses).max(axis=1)
        assert np.all(np.abs(value - expected) <= 1e-5 * scale)
        assert_allclose(gradient, weights, rtol=0, atol=0)
        assert_allclose(weights.sum(axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("radius", RADII)
def test_the_ball_is_just_reached(radius):
    for num_views in (5, 20):
        losses = random_losses(num_views)
        weights = kl_ball.ball_loss_and_weights(losses, radius)[1].numpy()
        for group in weights.astype("float64"):
            found = divergence(group / group.sum())
            assert_allclose(found, radius, rtol=1e-3, atol=1e-5)


def test_the_weights_are_a_softmax_of_the_losses():
    losses = random_losses(6)
    weights = kl_ball.ball_loss_and_weights(losses, 0.2)[1].numpy()
    for group, found in zip(losses, np.log(weights), strict=True):
        ratios = np.diff(found) / np.diff(group)
        assert_allclose(ratios, ratios[0], rtol=1e-2)


@pytest.mark.parametrize("radius", [0.0, 0.07, 0.7, 9.0])
def test_scale_and_shift(radius):
    # Such that adding 8 rounds nothing.
    losses = np.round(random_losses(5) * 2**14) / np.float32(2**14)
    ball = objectives.KLBall(radius)
    value, weights = ball.value_and_weights(losses)
    for factor, shift in ((4.0, 0.0), (2.0**-20, 0.0), (0.5, 8.0)):
        moved = factor * losses + shift
        found, moved_weights = ball.value_and_weights(moved)
        allowed = 1e-6 * np.abs(moved).max()
        assert_allclose(found, factor * value + shift, atol=allowed)
        assert_allclose(moved_weights, weights, atol=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_from_the_mean_to_the_maximum(mode):
    losses = random_losses(5)
    run = MODES[mode](kl_ball.ball_loss_and_weights)
    value, weights = run(losses, tf.constant(0.0))
    assert_allclose(value, losses.mean(axis=1), rtol=1e-5, atol=1e-6)
    assert_allclose(weights, np.full(losses.shape, 0.2), rtol=1e-5)
    for radius in (math.log(5), 2.0, 1e6):
        value, weights = run(losses, tf.constant(radius, tf.float32))
        assert_allclose(value, losses.max(axis=1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", MODES_OF_RADII)
@pytest.mark.parametrize("radius", [0.0, 0.1, 0.7, math.log(4), 3.0])
def test_ties_share_and_equal_losses_weigh_the_same(mode, radius):
    losses = np.float32(
        [[1, 3, 3, 2], [7, 7, 7, 7], [0, 0, 0, 0], [5, 5, 5, 1]]
    )
    run = MODES[mode](lambda losses: step(losses, radius))
    value, _, weights = (x.numpy() for x in run(tf.constant(losses)))
    assert weights[0, 1] == weights[0, 2]
    assert_allclose(weights[1:3], 0.25, rtol=1e-6)
    assert_allclose(value[1:3], [7, 0], rtol=1e-6)
    if radius >= math.log(2):
        # The ball has room for all of the weight on the two largest.
        assert_allclose(weights[0], [0, 0.5, 0.5, 0], atol=1e-6)
    assert_allclose(weights[3, :3], weights[3, :1].repeat(3), rtol=1e-6)


@pytest.mark.parametrize("mode", MODES_OF_RADII)
@pytest.mark.parametrize("radius", RADII[1::3])
def test_padding_is_as_if_it_were_not_there(mode, radius):
    run = MODES[mode](lambda losses, mask: step(losses, radius, mask))
    for num_views in (1, 5, 20):
        losses, mask = oracle.masked_loss_groups(num_views, seed=3)
        found = run(tf.constant(losses), tf.constant(mask))
        value, gradient, weights = (x.numpy() for x in found)
        assert_allclose(gradient, weights, rtol=0, atol=0)
        assert not weights[~mask].any()
        for group, real, of_group, inside in zip(
            losses, mask, value, weights, strict=True
        ):
            if not real.any():
                assert of_group == 0 and not inside.any()
                continue
            alone = kl_ball.ball_loss_and_weights(group[real][None], radius)
            allowed = 1e-6 * np.abs(group[real]).max()
            assert_allclose(of_group, alone[0][0], rtol=1e-5, atol=allowed)
            assert_allclose(inside[real], alone[1][0], atol=1e-4)


@pytest.mark.parametrize("mode", MODES_OF_RADII)
def test_a_bad_real_view_marks_its_own_group_only(mode):
    losses = np.random.default_rng(13).uniform(0, 3, (6, 4)).astype(np.float32)
    losses[[1, 2, 3], [0, 1, 2]] = np.nan, np.inf, -np.inf
    losses[4] = np.inf
    mask = np.array([[True, True, True, False]] * 6)
    for radius in (0.0, 0.1, 5.0):
        run = MODES[mode](lambda losses, of=radius: step(losses, of, mask))
        value, gradient, weights = (x.numpy() for x in run(tf.constant(losses)))
        assert np.isnan(value[1:5]).all()
        assert np.isnan(weights[1:5, :3]).all()
        assert not gradient[~mask].any() and not weights[~mask].any()
        assert np.isfinite(value[[0, 5]]).all()


def test_other_precisions_give_float32():
    for dtype in ("float16", "bfloat16", "float64"):
        losses = tf.cast(random_losses(5), dtype)
        value, gradient, weights = step(losses, 0.1)
        assert value.dtype == weights.dtype == tf.float32
        assert gradient.dtype == losses.dtype
        rounded = tf.cast(losses, "float32")
        assert_allclose(weights, step(rounded, 0.1)[2], atol=1e-6)


def test_wrong_settings():
    for radius in (-0.1, math.nan, "1", None, True):
        with pytest.raises(ValueError, match="`radius` must be.*Received"):
            objectives.KLBall(radius)
    with pytest.raises(ValueError, match="losses.*Received"):
        objectives.KLBall()(np.ones(3, "float32"))
    with pytest.raises(ValueError, match="mask.*Received"):
        objectives.KLBall()(np.ones((2, 3), "float32"), np.ones((2, 2), bool))
