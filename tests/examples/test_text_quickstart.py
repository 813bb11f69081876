"""The text quickstart at toy size: every step, its record, its answers."""

import csv
import json

import numpy as np
import pytest
import tensorflow as tf

from examples import text_quickstart
from examples import text_quickstart_data
from examples import text_quickstart_steps
from keras_mmel.text.files import Example
from tests.text.tiny import make_checkpoint

TOY = ["--epochs", "1", "--seeds", "1", "--num_views", "3"]
TOY += ["--batch_size", "8", "--max_length", "24"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Record and working folder of a run on a CSV of pairs."""
    folder = tmp_path_factory.mktemp("text_quickstart")
    preset = make_checkpoint(folder / "bert")
    with (folder / "mine.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["question", "answer", "verdict"])
        for number in range(24):
            question = f'a "good" film, {number}\nwas it?'
            answer = ["yes", "no", "caf\u00e9"][number % 3] + " it was"
            writer.writerow([question, answer, "bga"[number % 3]])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        text_quickstart.main(
            ["--masked_lm", str(preset), "--csv", "mine.csv"]
            + ["--text", "question", "answer", "--label", "verdict"]
            + [*TOY, "--work_dir", "work", "--out", "deep/record.json"]
        )
    record = json.loads((folder / "deep" / "record.json").read_text())
    return record, folder / "work"


@pytest.mark.slow
def test_every_method_is_recorded(run):
    record, _ = run
    methods = ["baseline", "uniform", "mmel-h"]
    assert [one["method"] for one in record["runs"]] == methods
    assert sorted(record["scores"]) == sorted(methods)
    assert record["examples"] == {"train": 12, "test": 12}
    for one in record["runs"]:
        assert len(one["curves"]["loss"]) == 1
        correct = one["scores"]["accuracy"] * 12
        assert correct == pytest.approx(round(correct), abs=1e-6)
        summary = record["scores"][one["method"]]["loss"]
        assert summary == {"mean": one["scores"]["loss"], "deviation": None}
    assert record["settings"]["masked_lm"] == "bert"
    assert record["command"].startswith(
        "python -m examples.text_quickstart --masked_lm bert --csv mine.csv"
    )


@pytest.mark.slow
def test_views_are_of_the_training_texts(run):
    record, work = run
    with (work / "train.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row, found in zip(rows, record["views"], strict=False):
        assert found["original"] == [row["text_a"], row["text_b"]]
        assert len(found["views"]) == 2
        assert found["original"] not in found["views"]


@pytest.mark.slow
def test_served_model_answers_as_the_trained_one(run):
    record, work = run
    assert record["served"]["largest_difference"] < 1e-5
    loaded = tf.saved_model.load(str(work / "served"))
    serve = loaded.signatures["serving_default"]
    answers = record["served"]["answers"]
    assert len(answers) == text_quickstart_steps.SHOW
    sides = zip(*(one["texts"] for one in answers), strict=True)
    first, second = map(list, sides)
    found = serve(text_a=tf.constant(first), text_b=tf.constant(second))
    for row, one in enumerate(answers):
        probabilities = found["probabilities"][row].numpy()
        np.testing.assert_allclose(probabilities, one["outputs"], atol=1e-4)
        assert one["label"] == "abg"[probabilities.argmax()]


@pytest.mark.slow
def test_regression_and_a_second_run_in_the_same_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    preset = make_checkpoint(tmp_path / "bert")
    lines = [f"a film of the year {n},{n / 3}" for n in range(20)]
    (tmp_path / "mine.csv").write_text("\n".join(["text,label", *lines]))
    words = ["--masked_lm", str(preset), "--csv", "mine.csv", *TOY]
    text_quickstart.main(words)
    text_quickstart.main([*words, "--mask_ratio", "0.2"])
    record = json.loads((tmp_path / "runs/text_quickstart.json").read_text())
    assert record["settings"]["mask_ratio"] == 0.2
    assert list(record["scores"]["mmel-h"]) == ["loss"]
    assert record["served"]["largest_difference"] < 1e-5


def test_reviews_are_different_and_of_both_classes():
    reviews = text_quickstart_data.make_reviews(300, seed=1)
    assert len({one.texts for one in reviews}) == 300
    assert 100 < sum(one.label for one in reviews) < 200
    assert reviews == text_quickstart_data.make_reviews(300, seed=1)
    assert reviews != text_quickstart_data.make_reviews(300, seed=2)


def test_split_keeps_every_example_once():
    examples = [Example(str(n), (f"text {n}",), n % 2) for n in range(10)]
    train, test = text_quickstart_data.split(examples, 0.3, seed=0)
    assert (len(train), len(test)) == (7, 3)
    assert sorted(train + test, key=lambda one: int(one.example_id)) == examples
    with pytest.raises(ValueError, match="test_fraction=0.0, 10 examples"):
        text_quickstart_data.split(examples, 0.0, seed=0)


@pytest.mark.parametrize("names", [None, ["so, so", 'very "good"']])
def test_csv_comes_back(tmp_path, names):
    texts = ["plain", 'a "quote", and\na line', " spaces ", "caf\u00e9 \u6f22"]
    examples = [Example(str(n), (t,), n % 2) for n, t in enumerate(texts)]
    path = tmp_path / "deep" / "mine.csv"
    text_quickstart_data.write_csv(path, examples, names)
    found, found_names = text_quickstart_data.read_examples(
        path, ["text"], "label", label_names=names
    )
    assert found == examples
    assert (found_names and list(found_names)) == names


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--seeds", "0"], "--seeds must be at least 1"),
        (["--num_views", "1"], "--num_views must be at least 2"),
        (["--text", "a", "b", "c"], "one column, or the two of a pair"),
    ],
)
def test_wrong_arguments(words, message, capsys):
    with pytest.raises(SystemExit):
        text_quickstart.parse_arguments(words)
    assert message in capsys.readouterr().err
