"""The quickstart at toy size: its table, its pictures and its record."""

import json
import re

import matplotlib.figure
import numpy as np
import pytest
import scipy.ndimage
from sklearn.datasets import load_digits

import keras_mmel
from examples import quickstart
from experiments import comparisons
from experiments import figures
from experiments import quickstarts
from experiments import records
from keras_mmel.comparison import Comparison

METHODS = ["uniform", "hard 1", "plain"]


@pytest.fixture
def toy(monkeypatch):
    shrink(monkeypatch)


def shrink(patch):
    """Few digits, steps, turns and methods."""
    objectives = {name: quickstart.METHODS[name] for name in METHODS[:-1]}
    patch.setattr(quickstart, "METHODS", objectives)
    patch.setattr(quickstart, "TRAINING_DIGITS", 40)
    patch.setattr(quickstart, "STEPS", 40)
    patch.setattr(quickstart, "ANGLES", (-30, 0))
    patch.setattr(quickstart, "SHIFTS", ((0, 0),))
    load = quickstart.load

    def few():
        train, (images, labels) = load()
        return train, (images[:20], labels[:20])

    patch.setattr(quickstart, "load", few)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the toy quickstart has written."""
    folder = tmp_path_factory.mktemp("quickstart")
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch)
        quickstart.main(["--seeds", "1", "--out", str(folder)])
    return folder


@pytest.fixture(scope="module")
def record(folder):
    path = folder / "record.json"
    words = ["--seeds", "1", "--out", str(folder)]
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch)
        quickstarts.main(["digits", "--record", str(path), *words])
    return json.loads(path.read_text())


@pytest.mark.usefixtures("toy")
def test_a_table_and_a_picture(folder, capsys, monkeypatch):
    picture = folder / "clean_against_worst.png"
    assert picture.stat().st_size > 10_000
    assert len(list((folder / "runs").glob("*.json"))) == len(METHODS)
    # Finished runs are not made again.
    monkeypatch.setattr(keras_mmel.MMELModel, "fit", None)
    quickstart.main(["--seeds", "1", "--out", str(folder)])
    lines = capsys.readouterr().out.splitlines()
    heading, *rows = lines[-3 - len(METHODS) : -2]
    assert heading.split() == ["method", *quickstart.SCORES]
    firsts = [row.partition("  ")[0] for row in rows]
    assert firsts == ["uniform"] + [f"{m} - uniform" for m in METHODS[1:]]
    assert lines[-2].startswith("In percent but for NLL; 1 seeds")


def test_what_it_expects_is_what_the_record_says():
    record = json.loads(
        (records.ROOT / quickstarts.RESULTS / "quickstart.json").read_text()
    )
    found = Comparison(record["runs"], record["baseline"])
    rows = found.table(quickstart.SCORES[:2])[:3]
    expected = quickstart.__doc__.split("Expected,")[1]
    for row in rows:
        line = r"\s{2,}".join(map(re.escape, row))
        assert re.search(rf"^ +{line}\s", expected, re.MULTILINE), row


@pytest.mark.slow
def test_every_method_runs_and_is_recorded(record):
    assert [run["method"] for run in record["runs"]] == METHODS
    for run in record["runs"]:
        right = run["scores"]["original_accuracy"] * 20
        assert right == pytest.approx(round(right))
        assert run["scores"]["worst_accuracy"] <= run["scores"]["mean_accuracy"]
    assert "| `plain` - `uniform` |" in comparisons.compared(record)
    command = "python -m experiments.quickstarts digits --record record.json"
    assert record["command"].startswith(command)


@pytest.mark.slow
def test_what_was_looked_at_are_digits_and_their_weights(record):
    views = record["views"]
    digits, pixels = load_digits(), np.array(views["pixels"])
    assert pixels.shape[1:] == (quickstart.NUM_VIEWS, 8, 8)
    for group, label in zip(pixels, views["labels"], strict=True):
        same = np.all(digits.images == group[0], axis=(1, 2))
        assert digits.target[same].tolist() == [label]
    np.testing.assert_allclose(np.sum(views["weights"], axis=1), 1, atol=1e-3)
    weights, result = figures.quickstart(record).subfigs
    assert len(weights.axes) == len(pixels) * quickstart.NUM_VIEWS
    names = [label.get_text() for label in result.axes[0].legend_.get_texts()]
    assert names == METHODS


@pytest.mark.slow
def test_methods_stand_where_their_scores_are(record):
    comparison = Comparison(record["runs"], "uniform")
    panel = matplotlib.figure.Figure().subplots()
    quickstart.clean_against_worst(comparison, panel)
    for line, run in zip(panel.lines[:1], record["runs"], strict=False):
        assert line.get_xydata()[0] == pytest.approx(place_of(run))
    for bars, run in zip(panel.containers, record["runs"][1:], strict=True):
        assert bars[0].get_xydata()[0] == pytest.approx(place_of(run))


def place_of(run):
    names = ("original_accuracy", "worst_accuracy")
    return [100 * run["scores"][name] for name in names]


def test_digits_are_split_by_class():
    (images, labels), (test_images, _) = quickstart.load()
    assert set(np.bincount(labels)) <= {19, 20, 21}
    assert (len(images), len(test_images)) == (200, 1797 - 200)


@pytest.mark.parametrize(
    ("degrees", "down", "right"), [(30, 1, 0), (-45, 0, 2), (60, -1, 1)]
)
def test_a_turn_and_a_shift_are_those_of_scipy(degrees, down, right):
    image = np.random.default_rng(0).random((9, 9, 1)).astype("float32")
    found = quickstart.turned(degrees, down, right)(image)
    turned = scipy.ndimage.rotate(
        image, degrees, order=1, reshape=False, mode="constant"
    )
    moved = scipy.ndimage.shift(turned, (down, right, 0), order=0)
    inside = (slice(3, -3), slice(3, -3))
    np.testing.assert_allclose(found[inside], moved[inside], atol=1e-4)


def test_every_angle_comes_with_every_shift():
    image = np.random.default_rng(0).random((8, 8, 1)).astype("float32")
    views = [f(image) for f in quickstart.turns((-9, 0, 9), ((0, 0), (1, 0)))]
    assert len(views) == 5
    for view, where in zip(
        views, [(-9, 0), (-9, 1), (0, 1), (9, 0), (9, 1)], strict=True
    ):
        np.testing.assert_array_equal(view, quickstart.turned(*where)(image))


def test_seeds_must_be_one_at_least(capsys):
    with pytest.raises(SystemExit):
        quickstart.parse_arguments(["--seeds", "0"])
    assert "--seeds must be at least 1" in capsys.readouterr().err
