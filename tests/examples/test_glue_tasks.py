import math

import numpy as np
import pytest
import scipy.stats

from examples import glue_tasks
from examples.glue_tasks import TASKS

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 2, 200)
LOGITS = RNG.normal(size=(200, 2)) + np.eye(2)[LABELS]


def test_classification_by_its_formulas():
    found = LOGITS[:, 1] > LOGITS[:, 0]
    tp = int((found & (LABELS == 1)).sum())
    fp = int((found & (LABELS == 0)).sum())
    fn = int((~found & (LABELS == 1)).sum())
    tn = 200 - tp - fp - fn
    root = math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    expected = {
        "accuracy": (tp + tn) / 200,
        "f1": 2 * tp / (2 * tp + fp + fn),
        "matthews": (tp * tn - fp * fn) / root,
    }
    found = {}
    for name in ("mrpc", "cola"):
        found |= glue_tasks.score(TASKS[name], LABELS, LOGITS)
    assert found == pytest.approx(expected)


def test_regression_by_its_formulas():
    labels = RNG.uniform(0, 5, 100)
    values = labels + RNG.normal(size=100)

    def correlation(x, y):
        x, y = x - x.mean(), y - y.mean()
        return x @ y / math.sqrt(x @ x * (y @ y))

    ranks = [np.argsort(np.argsort(v)) for v in (labels, values)]
    found = glue_tasks.score(TASKS["stsb"], labels, values[:, None])
    expected = {
        "spearman": correlation(*ranks),
        "pearson": correlation(labels, values),
    }
    assert found == pytest.approx(expected)
    spearman = scipy.stats.spearmanr(labels, values).statistic
    assert spearman == pytest.approx(found["spearman"])


def test_constant_predictions_count_as_no_correlation():
    ones = np.ones((5, 1))
    scores = glue_tasks.score(TASKS["stsb"], np.arange(5), ones)
    assert scores == {"spearman": 0.0, "pearson": 0.0}
    same = np.tile([1.0, 0.0], (6, 1))
    assert glue_tasks.score(TASKS["cola"], LABELS[:6], same)["matthews"] == 0
    assert glue_tasks.score(TASKS["mrpc"], LABELS[:6], same)["f1"] == 0


@pytest.mark.parametrize(
    ("labels", "outputs", "message"),
    [
        ([0, -1], np.zeros((2, 2)), "hidden"),
        ([], np.zeros((0, 2)), "hidden"),
        ([0, 1], np.full((2, 2), np.nan), "finite"),
    ],
)
def test_nothing_to_score(labels, outputs, message):
    with pytest.raises(ValueError, match=message):
        glue_tasks.score(TASKS["rte"], labels, outputs)


def test_the_epochs_that_are_reported():
    curves = {
        "loss": [3, 2, 1, 0],
        "val_accuracy": [0.5, 0.8, 0.8, 0.7],
        "val_f1": [0.9, 0.1, 0.2, 0.3],
        "val_epoch": [1, 2, 3, 4],
    }
    found = glue_tasks.reported(TASKS["mrpc"], curves)
    assert found["last"] == {"accuracy": 0.7, "f1": 0.3, "epoch": 4}
    # The first of the highest of the first metric.
    assert found["best"] == {"accuracy": 0.8, "f1": 0.1, "epoch": 2}


def test_a_split_that_is_not_there(monkeypatch):
    monkeypatch.setattr(glue_tasks, "splits", lambda *_: ("train",))
    with pytest.raises(ValueError, match="'validation'.*'train'"):
        glue_tasks.source(TASKS["rte"], "validation", None)
