"""The quickstart at toy size: its record, its table and its picture."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_digits

from examples import quickstart
from experiments import comparisons


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quickstart")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quickstart, "TRAINING_DIGITS", 40)
        patch.setattr(quickstart, "STEPS", 40)
        patch.setattr(quickstart, "ANGLES", (-30, 0))
        patch.setattr(quickstart, "SHIFTS", ((0, 0),))
        load = quickstart.load

        def few():
            train, (images, labels) = load()
            return train, (images[:20], labels[:20])

        patch.setattr(quickstart, "load", few)
        quickstart.main(["--seeds", "1", "--out", str(folder)])
    return folder, json.loads((folder / "quickstart.json").read_text())


def test_every_method_runs_and_is_recorded(written):
    folder, record = written
    methods = ["uniform", "hard 1", "hard 0.3", "soft", "plain"]
    assert [run["method"] for run in record["runs"]] == methods
    for run in record["runs"]:
        right = run["scores"]["original_accuracy"] * 20
        assert right == pytest.approx(round(right))
        assert run["scores"]["worst_accuracy"] <= run["scores"]["mean_accuracy"]
    assert (folder / "quickstart.png").stat().st_size > 10_000
    assert len(list((folder / "runs").glob("*.json"))) == 5
    assert "| `plain` - `uniform` |" in comparisons.compared(record)


def test_what_was_looked_at_are_digits_and_their_weights(written):
    views = written[1]["views"]
    digits, pixels = load_digits(), np.array(views["pixels"])
    assert pixels.shape[1:] == (quickstart.NUM_VIEWS, 8, 8)
    for group, label in zip(pixels, views["labels"], strict=True):
        same = np.all(digits.images == group[0], axis=(1, 2))
        assert digits.target[same].tolist() == [label]
    np.testing.assert_allclose(np.sum(views["weights"], axis=1), 1, atol=1e-3)


def test_digits_are_split_by_class():
    (images, labels), (test_images, _) = quickstart.load()
    assert set(np.bincount(labels)) <= {19, 20, 21}
    assert (len(images), len(test_images)) == (200, 1797 - 200)
