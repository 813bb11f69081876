import math

import numpy as np
import pytest
import scipy.stats

from examples import glue_scores
from examples import glue_submission
from examples import glue_training
from examples.glue_tasks import TASKS
from keras_mmel.text import TokenTable

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 2, 200)
LOGITS = RNG.normal(size=(200, 2)) + np.eye(2)[LABELS]


def counts():
    found = LOGITS[:, 1] > LOGITS[:, 0]
    tp = int((found & (LABELS == 1)).sum())
    fp = int((found & (LABELS == 0)).sum())
    fn = int((~found & (LABELS == 1)).sum())
    return tp, 200 - tp - fp - fn, fp, fn


def test_classification_by_its_formulas():
    tp, tn, fp, fn = counts()
    root = math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    expected = {
        "accuracy": (tp + tn) / 200,
        "f1": 2 * tp / (2 * tp + fp + fn),
        "matthews": (tp * tn - fp * fn) / root,
    }
    found = {}
    for name in ("mrpc", "cola"):
        found |= glue_scores.score(TASKS[name], LABELS, LOGITS)
    assert found == pytest.approx(expected)


def test_regression_by_its_formulas():
    labels = RNG.uniform(0, 5, 100)
    values = labels + RNG.normal(size=100)

    def correlation(x, y):
        x, y = x - x.mean(), y - y.mean()
        return x @ y / math.sqrt(x @ x * (y @ y))

    ranks = [np.argsort(np.argsort(v)) for v in (labels, values)]
    found = glue_scores.score(TASKS["stsb"], labels, values[:, None])
    assert found == pytest.approx(
        {
            "spearman": correlation(*ranks),
            "pearson": correlation(labels, values),
        }
    )
    assert scipy.stats.spearmanr(labels, values).statistic == pytest.approx(
        found["spearman"]
    )


def test_constant_predictions_count_as_no_correlation():
    ones = np.ones((5, 1))
    scores = glue_scores.score(TASKS["stsb"], np.arange(5), ones)
    assert scores == {"spearman": 0.0, "pearson": 0.0}
    same = np.tile([1.0, 0.0], (6, 1))
    assert glue_scores.score(TASKS["cola"], LABELS[:6], same)["matthews"] == 0
    assert glue_scores.score(TASKS["mrpc"], LABELS[:6], same)["f1"] == 0


@pytest.mark.parametrize(
    "labels, outputs, message",
    [
        ([0, -1], np.zeros((2, 2)), "hidden"),
        ([], np.zeros((0, 2)), "hidden"),
        ([0, 1], np.full((2, 2), np.nan), "finite"),
    ],
)
def test_nothing_to_score(labels, outputs, message):
    with pytest.raises(ValueError, match=message):
        glue_scores.score(TASKS["rte"], labels, outputs)


class TestEpoch:
    curves = {
        "loss": [3, 2, 1, 0],
        "val_accuracy": [0.5, 0.8, 0.8, 0.7],
        "val_f1": [0.9, 0.1, 0.2, 0.3],
        "val_epoch": [1, 2, 3, 4],
    }

    def test_last(self):
        found = glue_scores.reported(TASKS["mrpc"], self.curves, "last")
        assert found == {"accuracy": 0.7, "f1": 0.3, "epoch": 4}

    def test_best_is_the_first_of_the_highest_of_the_first_metric(self):
        found = glue_scores.reported(TASKS["mrpc"], self.curves, "best")
        assert found == {"accuracy": 0.8, "f1": 0.1, "epoch": 2}


class TestSubmission:
    def lines(self, path, task, ids, outputs):
        glue_submission.write_submission(path, TASKS[task], ids, outputs)
        return path.read_text().splitlines()

    def test_numbers(self, tmp_path):
        outputs = np.array([[0, 1], [1, 0], [0, 2]])
        path = tmp_path / "new" / "CoLA.tsv"
        found = self.lines(path, "cola", ["2", "0", "1"], outputs)
        assert found == ["index\tprediction", "0\t0", "1\t1", "2\t1"]

    def test_words(self, tmp_path):
        path = tmp_path / "MNLI-m.tsv"
        found = self.lines(path, "mnli", "012", np.eye(3)[[2, 0, 1]])
        assert [line.split("\t")[1] for line in found[1:]] == [
            "contradiction",
            "entailment",
            "neutral",
        ]

    def test_values(self, tmp_path):
        outputs = np.array([[2.34567], [-0.2], [6.0]])
        found = self.lines(tmp_path / "STS-B.tsv", "stsb", "012", outputs)
        assert found[1:] == ["0\t2.346", "1\t0.000", "2\t5.000"]

    @pytest.mark.parametrize("ids", [["0", "2"], ["0", "0"], ["1", "2"]])
    def test_a_part_of_a_test_set(self, ids, tmp_path):
        with pytest.raises(ValueError, match="whole test set"):
            self.lines(tmp_path / "RTE.tsv", "rte", ids, np.zeros((2, 2)))
        assert not list(tmp_path.iterdir())


def test_agreement_of_a_teacher():
    first = np.array([0, 2, 5])
    teacher = np.array([[0.9, 0.1], [0.2, 0.8], [0, 1], [0, 1], [1, 0]])
    table = TokenTable(
        *(None,) * 3, first, np.array([0, 1]), teacher, None, ("a", "b")
    )
    found = glue_training.agreement(table, TASKS["rte"])
    assert found == {"originals": 1.0, "views": pytest.approx(1 / 3)}
