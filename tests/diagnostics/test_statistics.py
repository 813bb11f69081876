"""Numbers of a record beside a plain loop, and remarks on them."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from keras_mmel import objectives
from keras_mmel.diagnostics.report import remarks
from keras_mmel.diagnostics.weight_statistics import StepWeights
from tests.diagnostics.runs import run_of


def test_summary_equals_a_plain_loop():
    random = np.random.default_rng(0)
    mask = np.arange(5) < random.integers(1, 6, (30, 1))
    losses = random.gamma(2.0, size=(30, 5))
    weights = np.where(mask, np.exp(losses), 0.0)
    weights /= weights.sum(axis=1, keepdims=True)
    record = StepWeights(weights, losses, mask)
    expected = objectives.effective_views(weights)
    assert_allclose(record.effective, expected, rtol=1e-5)
    found = record.summary
    rows = []
    for group in range(30):
        w, x = weights[group, mask[group]], losses[group, mask[group]]
        effective = math.prod(v**-v for v in w)
        rows.append([effective, max(w), sum(x) / len(x), x.std()])
    names = ["effective_views", "heaviest_share", "loss", "spread"]
    means = [found[name] for name in names]
    assert_allclose(means, np.mean(rows, axis=0), rtol=1e-12)
    assert (found["groups"], found["not_finite"]) == (30, 0)
    for view in range(5):
        groups = np.flatnonzero(mask[:, view])
        share = weights[groups, view] * mask[groups].sum(axis=1)
        assert_allclose(found["relative_weight"][view], share.mean())
        assert_allclose(found["view_loss"][view], losses[groups, view].mean())
    order = losses[tuple(record.hardest.T)]
    assert len(order) == mask.sum() and (np.diff(order) <= 0).all()
    largest = (weights.max(axis=1) * mask.sum(axis=1))[record.uneven]
    assert (np.diff(largest) <= 0).all()


def test_the_original_of_the_soft_objective_has_no_part():
    run = run_of([[9, np.log(3), 0]], original_counts=False)
    found = run.summaries[0]
    assert np.isnan(found["relative_weight"][0])
    assert_allclose(found["relative_weight"][1:], [1.5, 0.5], rtol=1e-6)
    middle = np.log(3) / 2
    assert_allclose([found["loss"], found["spread"]], [middle] * 2, rtol=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_groups_that_are_not_finite_are_left_out(bad):
    weights = np.array([[0.75, 0.25], [np.nan, np.nan]])
    losses = np.array([[2.0, 1.0], [bad, 1.0]])
    record = StepWeights(weights, losses, np.ones((2, 2), bool))
    assert record.summary["not_finite"] == 1
    assert record.summary["heaviest_share"] == 0.75
    assert record.summary["view_loss"] == [2.0, 1.0]
    assert record.uneven.tolist() == [0, 1]
    only = StepWeights(weights[1:], losses[1:], np.ones((1, 2), bool))
    assert math.isnan(only.summary["effective_views"])
    # A loss of padding does not count.
    padded = StepWeights(weights[:1], np.array([[2.0, bad]]), losses[:1] == 2)
    assert padded.summary["not_finite"] == 0
    assert padded.summary["loss"] == 2.0


@pytest.mark.parametrize(
    "losses, said",
    [
        ([[1.0, 1.1, 0.9]], ["nearly equal: 2.99 of 3 views count"]),
        ([[1.0, 9.0, 0.5]], ["Nearly all the weight", "view 1 (3.00)"]),
        ([[1.0, 2.0, 0.5]], ["view 1 (1.89)"]),
        ([[1.0, 1.8, 1.5]], []),
        ([[1.0, np.nan, 1.5]], ["1 of 1 groups have a view loss"]),
    ],
)
def test_remarks_say_what_they_saw(losses, said):
    run = run_of(losses)
    run.logs = []
    found = remarks(run)
    assert len(found) == len(said)
    for text, part in zip(found, said, strict=True):
        assert part in text


PICTURE = np.arange(0, 240, 5, "uint8").reshape(4, 4, 3)


@pytest.mark.parametrize(
    "settings, said",
    [
        ({"images": PICTURE}, "2 of 2 views are identical"),
        ({"images": 0 * PICTURE}, "Views are from 0 to 0, their originals fr"),
        ({"images": PICTURE // 100}, "Views are from 0 to 2, their originals"),
        ({"texts": [["a", "a", "a"]]}, "2 of 2 views are identical"),
    ],
)
def test_remarks_say_that_views_are_wrong(settings, said):
    if "images" in settings:
        view = settings["images"]
        settings = {"images": np.stack([PICTURE, view, view])[None]}
    # And that is all they say: a smaller lambda_p would not help.
    (found,) = remarks(run_of([[1.0, 1.1, 0.9]], **settings))
    assert said in found


def test_a_log_that_says_otherwise_is_set_beside_the_probe():
    """As of a network whose BatchNormalization has not settled."""
    run = run_of([[1.0, 1.0, 1.0]])
    run.logs = [{"epoch": 1, "step": 1, "effective_views": 2.0}]
    (said,) = remarks(run)
    assert "In training 2.00 views counted, here, in inference, 3.00 of" in said
    assert "statistics of BatchNormalization" in said
    run.logs[0]["effective_views"] = 2.9
    assert "The weights are nearly equal" in remarks(run)[0]
