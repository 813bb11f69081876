import numpy as np
import pytest
import scipy.stats
import sklearn.metrics

from experiments.training import glue_tasks
from experiments.training.glue_tasks import TASKS


def test_scores_of_the_tasks():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 200)
    logits = rng.normal(size=(200, 2)) + np.eye(2)[labels]
    found = logits.argmax(axis=1)
    expected = {
        "accuracy": np.mean(found == labels),
        "f1": sklearn.metrics.f1_score(labels, found),
    }
    scores = glue_tasks.score(TASKS["mrpc"], labels, logits)
    assert scores == pytest.approx(expected)
    scores = glue_tasks.score(TASKS["cola"], labels, logits)
    matthews = sklearn.metrics.matthews_corrcoef(labels, found)
    assert scores["matthews"] == pytest.approx(matthews)
    values = labels + rng.normal(size=200)
    expected = {
        "spearman": scipy.stats.spearmanr(labels, values).statistic,
        "pearson": np.corrcoef(labels, values)[0, 1],
    }
    scores = glue_tasks.score(TASKS["stsb"], labels, values[:, None])
    assert scores == pytest.approx(expected)


@pytest.mark.parametrize(
    ("task", "labels", "outputs", "message"),
    [
        ("rte", [0, -1], np.zeros((2, 2)), "hidden"),
        ("stsb", [-1.0, -1.0], np.zeros((2, 1)), "hidden"),
        ("rte", [], np.zeros((0, 2)), "hidden"),
        ("rte", [0, 1], np.full((2, 2), np.nan), "finite"),
    ],
)
def test_nothing_to_score(task, labels, outputs, message):
    with pytest.raises(ValueError, match=message):
        glue_tasks.score(TASKS[task], labels, outputs)


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
