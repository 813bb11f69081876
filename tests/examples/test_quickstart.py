"""The quickstart at toy size: its record and its table."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_digits

from examples import quickstart
from tests.examples.toy_images import digits_network


def test_every_method_runs_and_is_recorded(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(quickstart, "TRAINING_DIGITS", 40)
    monkeypatch.setattr(quickstart, "PASSES", 1)
    monkeypatch.setattr(quickstart, "make_network", digits_network)
    monkeypatch.chdir(tmp_path)
    words = ["--seeds", "1", "--epochs", "1", "--out", "deep/record.json"]
    quickstart.main(words)
    record = json.loads((tmp_path / "deep/record.json").read_text())
    assert record["command"] == (
        f"python -m examples.quickstart {' '.join(words)}"
    )
    methods = ["da", "uniform", "mmel-h", "mmel-s"]
    assert [one["method"] for one in record["runs"]] == methods
    lines = capsys.readouterr().out.splitlines()
    for one, line in zip(record["runs"], lines[4:], strict=False):
        scores, (loss,) = one["scores"], one["curves"]["test_loss"]
        assert loss == pytest.approx(scores["test_loss"], abs=1e-4)
        correct = scores["accuracy"] * (1797 - 40)
        assert 0 < correct == pytest.approx(round(correct), abs=1e-6)
        assert f"accuracy {scores['accuracy']:.4f}" in line
    # What was looked at: real digits, shifted by a pixel at most.
    views = record["views"]
    digits, pixels = load_digits(), np.array(views["pixels"])
    assert pixels.shape[1:] == (quickstart.NUM_VIEWS, 8, 8)
    for group, label in zip(pixels, views["labels"], strict=True):
        same = np.all(digits.images == group[0], axis=(1, 2))
        assert digits.target[same].tolist() == [label]
        padded = np.pad(group[0], 1)
        shifts = [padded[r : r + 8, c : c + 8] for r, c in np.ndindex(3, 3)]
        for view in group[1:]:
            assert any(np.array_equal(view, shift) for shift in shifts)
    np.testing.assert_allclose(np.sum(views["weights"], axis=1), 1, atol=1e-3)


def test_digits_are_split_by_class_and_by_seed():
    images, test_images, labels, _ = quickstart.split_digits(3)
    assert set(np.bincount(labels)) <= {19, 20, 21}
    assert (len(images), len(test_images)) == (200, 1797 - 200)
    others = quickstart.split_digits(4)[0]
    assert not np.array_equal(images, others)


def test_arguments_must_be_positive(capsys):
    with pytest.raises(SystemExit):
        quickstart.parse_arguments(["--seeds", "0"])
    assert "must be at least 1" in capsys.readouterr().err
