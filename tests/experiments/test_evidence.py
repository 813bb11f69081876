"""The experiments on uneven views, at toy size."""

import json

import numpy as np
import pytest
import tensorflow as tf

from experiments import evidence
from experiments import few_labels_text
from experiments import rotated_cifar
from experiments import rotated_digits
from tests.experiments.training import glue_fakes
from tests.text import tiny


@pytest.fixture(autouse=True)
def _places(tmp_path, monkeypatch):
    monkeypatch.setattr(evidence, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(evidence, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(evidence, "one_thread", tf.data.Options)


@pytest.mark.slow
def test_digits(monkeypatch, tmp_path):
    monkeypatch.setattr(rotated_digits, "STEPS", 200)
    monkeypatch.setattr(rotated_digits, "ANGLES", (0, 30))
    monkeypatch.setattr(rotated_digits, "SHIFTS", ((0, 0),))
    monkeypatch.setattr("sys.argv", ["x", "--power", "4", "--seeds", "1"])
    rotated_digits.main()
    path = tmp_path / "results" / "digits-u4-alike.json"
    runs = json.loads(path.read_text())["runs"]
    assert [run["method"] for run in runs] == [*rotated_digits.METHODS, "plain"]
    assert (tmp_path / "results" / "digits-u4-original.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name, methods", [("p2", 6 + 1 + 3), ("p3", 2 + 1)])
def test_every_method_has_its_rate(name, methods, monkeypatch, tmp_path):
    rng = np.random.default_rng(0)

    def load(size, data_dir):
        def part(count):
            images = rng.uniform(0, 255, (count, 16, 16, 3)).astype("float32")
            return images, rng.integers(0, 10, count)

        return part(40), part(20), part(20)

    monkeypatch.setattr(rotated_cifar, "load", load)
    monkeypatch.setattr(rotated_cifar, "STEPS", {"p2": 20, "p3": 20})
    monkeypatch.setattr(rotated_cifar, "EPOCH", 20)
    monkeypatch.setattr(rotated_cifar, "RATES", (1e-3, 3e-3))
    monkeypatch.setattr("sys.argv", ["x", name, "--seeds", "1"])
    rotated_cifar.main()
    rates, runs = [], 0
    for path in (tmp_path / "results").glob("*.json"):
        record = json.loads(path.read_text())
        if path.stem.endswith("-rates"):
            rates += record["rates"].values()
        else:
            runs += len(record["runs"])
    assert len(rates) == runs == methods
    assert set(rates) <= {1e-3, 3e-3}


@pytest.mark.slow
def test_text(monkeypatch, tmp_path):
    glue_fakes.install(monkeypatch)
    preset = str(tiny.make_checkpoint(tmp_path / "bert", pooler=True))
    sizes = {"EXAMPLES": 16, "HELD_OUT": 6, "GROUPS": 4, "EPOCHS": 1}
    for name, size in sizes.items():
        monkeypatch.setattr(few_labels_text, name, size)
    words = f"x --encoder {preset} --masked_lm {preset} --task sst2 --seeds 1"
    monkeypatch.setattr("sys.argv", words.split())
    few_labels_text.main()
    found = {
        path.stem: json.loads(path.read_text())
        for path in (tmp_path / "results").glob("text-sst2*.json")
    }
    rates = found.pop("text-sst2-rates")["rates"]
    assert rates["uniform"] in few_labels_text.RATES
    for part, (*_, methods) in few_labels_text.PARTS["sst2"].items():
        runs = found.pop(f"text-sst2{part}")["runs"]
        plain = [] if part else ["plain"]
        assert [run["method"] for run in runs] == [*methods, *plain]
    assert not found
