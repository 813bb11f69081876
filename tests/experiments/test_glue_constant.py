import numpy as np
import pytest

from experiments import glue_constant
from experiments import records
from experiments.training.glue_tasks import TASKS
from tests.experiments.training import glue_fakes


def test_the_answer_is_the_most_common_one_of_training():
    score = glue_constant.constant_score
    found = score(TASKS["mrpc"], [0, 1, 0, 0], [0, 1, 1, 1])
    assert found == {"accuracy": 0.25, "f1": 0.0}
    found = score(TASKS["cola"], [1, 1, 0], [0, 1, 1])
    assert found == {"matthews": 0.0, "accuracy": pytest.approx(2 / 3)}
    # A constant correlates with nothing.
    labels = np.linspace(0, 5, 7)
    found = score(TASKS["stsb"], labels, labels)
    assert found == {"spearman": 0.0, "pearson": 0.0}


def test_command(tmp_path, monkeypatch, capsys):
    glue_fakes.install(monkeypatch)
    path = tmp_path / "constant.json"
    glue_constant.main(["--tasks", "rte", "stsb", "--out", str(path)])
    scores = records.read_record(path)["scores"]
    assert scores["stsb"]["spearman"] == 0.0
    accuracy = scores["rte"]["accuracy"]
    assert f"rte: accuracy {accuracy:.4f}" in capsys.readouterr().out
