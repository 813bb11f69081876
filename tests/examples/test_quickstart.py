"""The quickstart at toy size: its record and its table."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_digits

from examples import quickstart


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Record of one run of one epoch."""
    folder = tmp_path_factory.mktemp("quickstart")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quickstart, "TRAINING_DIGITS", 40)
        patch.setattr(quickstart, "PASSES", 1)
        patch.chdir(folder)
        quickstart.main(
            ["--seeds", "1", "--epochs", "1"] + ["--out", "deep/record.json"]
        )
    record = json.loads((folder / "deep/record.json").read_text())
    return record


def test_every_method_runs_and_is_recorded(run):
    record = run
    methods = ["da", "uniform", "mmel-h", "mmel-s"]
    assert [one["method"] for one in record["runs"]] == methods
    assert record["command"] == (
        "python -m examples.quickstart --seeds 1 --epochs 1 --out "
        "deep/record.json"
    )
    for one in record["runs"]:
        assert len(one["curves"]["test_loss"]) == 1
        assert one["curves"]["test_loss"][-1] == pytest.approx(
            one["scores"]["test_loss"], abs=1e-4
        )
        correct = one["scores"]["accuracy"] * (1797 - 40)
        assert 0 < correct == pytest.approx(round(correct), abs=1e-6)


def test_picture_shows_shifts_of_real_digits(run):
    views = run["views"]
    digits = load_digits()
    pixels = np.array(views["pixels"])
    assert pixels.shape[1:] == (quickstart.NUM_VIEWS, 8, 8)
    for group, label in zip(pixels, views["labels"], strict=True):
        same = np.all(digits.images == group[0], axis=(1, 2))
        assert digits.target[same].tolist() == [label]
        padded = np.pad(group[0], 1)
        shifts = [padded[r : r + 8, c : c + 8] for r, c in np.ndindex(3, 3)]
        for view in group[1:]:
            assert any(np.array_equal(view, shift) for shift in shifts)
    np.testing.assert_allclose(np.sum(views["weights"], axis=1), 1, atol=1e-3)


def test_shifted_holds_the_eight_neighbours():
    image = np.zeros((1, 8, 8, 1), "uint8")
    image[0, 0, 3, 0] = 7
    moved = quickstart.shifted(image)
    assert moved.shape == (8, 8, 8, 1)
    found = {tuple(np.argwhere(one)[0][:2]) for one in moved if one.any()}
    # Up, the pixel leaves the picture: three of the eight are empty.
    assert found == {(0, 2), (0, 4), (1, 2), (1, 3), (1, 4)}
    assert moved.sum() == 5 * 7


def test_digits_are_split_by_class_and_by_seed():
    images, test_images, labels, test_labels = quickstart.split_digits(3)
    assert len(labels) == 200
    assert set(np.bincount(labels)) <= {19, 20, 21}
    assert len(test_images) == len(test_labels) == 1797 - 200
    assert images.dtype == np.uint8
    assert images.max() == 16
    others = quickstart.split_digits(4)[0]
    assert not np.array_equal(images, others)


@pytest.mark.parametrize("words", [["--seeds", "0"], ["--epochs", "-1"]])
def test_arguments_must_be_positive(words, capsys):
    with pytest.raises(SystemExit):
        quickstart.parse_arguments(words)
    assert "must be at least 1" in capsys.readouterr().err


def test_help_names_the_defaults(capsys):
    with pytest.raises(SystemExit) as stopped:
        quickstart.parse_arguments(["--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    assert "runs/quickstart.json" in text
