"""The text quickstart at toy size: every step, its record, its answers."""

import csv
import json

import pytest
import tensorflow as tf

from examples import text_quickstart
from experiments import quickstarts
from keras_mmel.text import files
from tests.text.tiny import make_checkpoint

TOY = ["--epochs", "1", "--seeds", "1", "--num_views", "3"]
TOY += ["--batch_size", "8", "--max_length", "24"]


def run(folder, rows, *words):
    """The record of a run on these rows of a CSV."""
    preset = make_checkpoint(folder / "bert", num_hidden_layers=1)
    with open("mine.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    words = ["--masked_lm", str(preset), "--csv", "mine.csv", *TOY, *words]
    quickstarts.main(["text", "--record", "record.json", *words])
    return json.loads((folder / "record.json").read_text())


@pytest.mark.slow
def test_pairs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [("question", "answer", "verdict")] + [
        (f'a "good" film, {n}\nwas it?', "no, caf\u00e9", "bga"[n % 3])
        for n in range(24)
    ]
    words = ["--text", "question", "answer", "--label", "verdict"]
    record = run(tmp_path, rows, *words)
    methods = ["baseline", "uniform", "mmel-h"]
    assert [one["method"] for one in record["runs"]] == methods
    assert record["examples"] == {"train": 12, "test": 12}
    for one in record["runs"]:
        assert len(one["curves"]["loss"]) == 1
        correct = one["scores"]["accuracy"] * 12
        assert correct == pytest.approx(round(correct), abs=1e-4)
    command = "python -m experiments.quickstarts text --record record.json "
    command += "--masked_lm bert --csv mine"
    assert record["command"].startswith(command)
    # Views are of the training texts; the server takes strings.
    folder = tmp_path / "runs" / "text_quickstart"
    read = list(files.read_records(folder / "labelled"))
    assert len(read) == 12
    assert all(len(one.views) == 2 and one.teacher for one in read)
    served = tf.saved_model.load(str(folder / "served"))
    found = served.signatures["serving_default"](
        text_a=tf.constant(["was it?"]), text_b=tf.constant(["yes"])
    )
    best = found["probabilities"].numpy().argmax()
    assert found["label"].numpy()[0].decode() == "abg"[best]
    assert capsys.readouterr().out.count("was it? | ") == 3


@pytest.mark.slow
def test_regression_twice_in_the_same_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(f"a film of the year {n}", n / 3) for n in range(20)]
    for ratio in ("0.4", "0.2"):
        words = ["--mask_ratio", ratio]
        record = run(tmp_path, [("text", "label"), *rows], *words)
        assert record["command"].endswith(f"--mask_ratio {ratio}")
        assert list(record["runs"][-1]["scores"]) == ["loss"]


def test_made_reviews_and_their_split():
    source = text_quickstart.make_reviews(300, seed=1)
    assert len({one.texts for one in source.records}) == 300
    assert 100 < sum(one.label for one in source.records) < 200
    assert source.records == text_quickstart.make_reviews(300, 1).records
    assert source.records != text_quickstart.make_reviews(300, 2).records
    train, test = text_quickstart.split(source, 0.3)
    assert (len(train), len(test)) == (210, 90)
    found = sorted(
        train.records + test.records, key=lambda one: int(one.example_id)
    )
    assert found == source.records
    assert train.describe() != test.describe()
    with pytest.raises(ValueError, match="must be examples"):
        text_quickstart.split(source, 0.0)
