import numpy as np
import pytest

from examples import records
from examples.glue_tasks import TASKS
from experiments import glue_constant
from tests.examples import glue_fakes


def test_the_answer_is_the_most_common_one_of_training():
    found = glue_constant.constant_score(
        TASKS["mrpc"], [0, 1, 0, 0], [0, 1, 1, 1]
    )
    assert found == {"accuracy": 0.25, "f1": 0.0}


def test_a_constant_correlates_with_nothing():
    labels = np.linspace(0, 5, 7)
    found = glue_constant.constant_score(TASKS["stsb"], labels, labels)
    assert found == {"spearman": 0.0, "pearson": 0.0}
    found = glue_constant.constant_score(TASKS["cola"], [1, 1, 0], [0, 1, 1])
    assert found == {"matthews": 0.0, "accuracy": pytest.approx(2 / 3)}


def test_command(tmp_path, monkeypatch, capsys):
    glue_fakes.install(monkeypatch)
    path = tmp_path / "constant.json"
    words = ["--tasks", "rte", "stsb", "--out", str(path)]
    glue_constant.main(words)
    source = glue_fakes.Source(TASKS["rte"], "validation")
    labels = [example.label for example in source.read(0, len(source))]
    source = glue_fakes.Source(TASKS["rte"], "train")
    train = [example.label for example in source.read(0, len(source))]
    common = int(np.mean(train) > 0.5)
    record = records.read_record(path)
    assert record["scores"]["rte"]["accuracy"] == pytest.approx(
        np.mean([label == common for label in labels])
    )
    assert record["scores"]["stsb"]["spearman"] == 0.0
    assert "rte: accuracy" in capsys.readouterr().out
