"""Numbers of a record beside a plain loop, and remarks on them."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from keras_mmel import objectives
from keras_mmel.diagnostics import Run
from keras_mmel.diagnostics import statistics
from keras_mmel.diagnostics.remarks import remarks


@pytest.fixture
def record():
    """Weights, losses, mask and classes of random groups."""
    random = np.random.default_rng(0)
    mask = np.arange(5) < random.integers(1, 6, (30, 1))
    losses = random.gamma(2.0, size=(30, 5))
    weights = np.where(mask, np.exp(losses), 0.0)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights, losses, mask, random.integers(-1, 3, 30)


def test_summary_equals_a_plain_loop(record):
    weights, losses, mask, classes = record
    found = statistics.summarize(weights, losses, mask, classes)
    rows = []
    for group in range(30):
        real = [view for view in range(5) if mask[group, view]]
        w = [float(weights[group, view]) for view in real]
        x = [float(losses[group, view]) for view in real]
        middle = sum(x) / len(x)
        rows.append(
            {
                "entropy": -sum(v * math.log(v) for v in w),
                "effective_views": math.prod(v**-v for v in w),
                "heaviest_share": max(w),
                "loss": middle,
                "spread": math.sqrt(sum((v - middle) ** 2 for v in x) / len(x)),
            }
        )

    def average(name, groups):
        return sum(rows[group][name] for group in groups) / len(groups)

    for name in rows[0]:
        assert_allclose(found[name], average(name, range(30)), rtol=1e-12)
    assert (found["groups"], found["not_finite"]) == (30, 0)
    for view in range(5):
        groups = [group for group in range(30) if mask[group, view]]
        share = [weights[g, view] * mask[g].sum() for g in groups]
        heaviest = [weights[g].argmax() == view for g in groups]
        for name, values in (
            ("relative_weight", share),
            ("heaviest", heaviest),
            ("view_loss", [losses[g, view] for g in groups]),
        ):
            assert_allclose(found[name][view], np.mean(values), rtol=1e-12)
    assert sorted(found["per_class"]) == [0, 1, 2]
    for index, values in found["per_class"].items():
        groups = np.flatnonzero(classes == index)
        assert values["groups"] == len(groups)
        for name in ("effective_views", "heaviest_share", "loss"):
            assert_allclose(values[name], average(name, groups), rtol=1e-12)


def test_effective_views_are_those_of_the_log(record):
    weights = record[0]
    assert_allclose(
        np.exp(statistics.entropy(weights)),
        objectives.effective_views(weights),
        rtol=1e-5,
    )


def test_the_original_of_the_soft_objective_has_no_part():
    counted = statistics.counted_views(np.ones((1, 3), bool), False)
    found = statistics.summarize([[0, 0.75, 0.25]], [[9, 3, 1]], counted)
    assert np.isnan(found["relative_weight"][0])
    assert found["relative_weight"][1:] == [1.5, 0.5]
    assert (found["loss"], found["spread"]) == (2.0, 1.0)


def test_ties_share_the_first_place():
    found = statistics.summarize(
        np.full((1, 4), 0.25), np.ones((1, 4)), np.ones((1, 4), bool)
    )
    assert found["heaviest"] == [0.25] * 4


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_groups_that_are_not_finite_are_left_out(bad):
    weights = np.array([[0.75, 0.25], [np.nan, np.nan]])
    losses = np.array([[2.0, 1.0], [bad, 1.0]])
    found = statistics.summarize(weights, losses, np.ones((2, 2), bool))
    assert found["not_finite"] == 1
    assert found["heaviest_share"] == 0.75
    assert found["view_loss"] == [2.0, 1.0]
    only_bad = statistics.summarize(
        weights[1:], losses[1:], np.ones((1, 2), bool), [0]
    )
    assert math.isnan(only_bad["effective_views"])
    assert only_bad["per_class"][0]["groups"] == 1


def test_a_loss_of_padding_does_not_count():
    found = statistics.summarize([[1.0, 0.0]], [[2.0, np.nan]], [[True, False]])
    assert (found["not_finite"], found["loss"]) == (0, 2.0)


def one_record(losses, lambda_p, **settings):
    losses = np.asarray(losses, dtype="float32")
    run = Run(mask=np.ones(losses.shape, bool), **settings)
    weights = np.exp(losses / lambda_p)
    weights /= weights.sum(axis=1, keepdims=True)
    run.add(weights, losses, step=1, epoch=1, lambda_p=lambda_p)
    return run


@pytest.mark.parametrize(
    "losses, lambda_p, said",
    [
        ([[1.0, 1.1, 0.9]], 1.0, ["nearly equal: 2.99 of 3 views count"]),
        ([[1.0, 9.0, 0.5]], 1.0, ["Nearly all the weight", "view 1 (3.00)"]),
        ([[1.0, 2.0, 0.5]], 1.0, ["view 1 (1.89)"]),
        ([[1.0, 1.8, 1.5]], 1.0, []),
        ([[1.0, np.nan, 1.5]], 1.0, ["1 of 1 groups have a view loss"]),
    ],
)
def test_remarks_say_what_they_saw(losses, lambda_p, said):
    found = remarks(one_record(losses, lambda_p))
    assert len(found) == len(said)
    for text, part in zip(found, said, strict=True):
        assert part in text


def test_a_run_without_records_has_no_remarks():
    assert remarks(Run(mask=np.ones((2, 2), bool))) == []
