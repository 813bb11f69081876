"""The text quickstart at toy size: every step, its record, its answers."""

import csv
import json

import numpy as np
import pytest
import tensorflow as tf

from examples import text_quickstart
from keras_mmel.text import files
from tests.text.tiny import make_checkpoint

TOY = ["--epochs", "1", "--seeds", "1", "--num_views", "3"]
TOY += ["--batch_size", "8", "--max_length", "24"]


@pytest.mark.slow
def test_pairs_of_a_csv(tmp_path, monkeypatch, capsys):
    preset = make_checkpoint(tmp_path / "bert")
    with (tmp_path / "mine.csv").open("w", encoding="utf-8", newline="") as f:
        rows = [
            (f'a "good" film, {n}\nwas it?', "no, caf\u00e9", "bga"[n % 3])
            for n in range(24)
        ]
        csv.writer(f).writerows([("question", "answer", "verdict"), *rows])
    monkeypatch.chdir(tmp_path)
    text_quickstart.main(
        ["--masked_lm", str(preset), "--csv", "mine.csv"]
        + ["--text", "question", "answer", "--label", "verdict"]
        + [*TOY, "--work_dir", "work", "--out", "deep/record.json"]
    )
    record = json.loads((tmp_path / "deep" / "record.json").read_text())
    methods = ["baseline", "uniform", "mmel-h"]
    assert [one["method"] for one in record["runs"]] == methods
    assert record["examples"] == {"train": 12, "test": 12}
    for one in record["runs"]:
        assert len(one["curves"]["loss"]) == 1
        correct = one["scores"]["accuracy"] * 12
        assert correct == pytest.approx(round(correct), abs=1e-4)
    assert record["command"].startswith(
        "python -m examples.text_quickstart --masked_lm bert --csv mine.csv"
    )
    # Views are of the training texts; the server takes strings.
    read = list(files.read_records(tmp_path / "work" / "labelled"))
    assert len(read) == 12
    assert all(len(one.views) == 2 and one.teacher for one in read)
    loaded = tf.saved_model.load(str(tmp_path / "work" / "served"))
    found = loaded.signatures["serving_default"](
        text_a=tf.constant(["was it?"]), text_b=tf.constant(["yes"])
    )
    p = found["probabilities"].numpy()
    np.testing.assert_allclose(p.sum(), 1, rtol=1e-5)
    assert found["label"].numpy()[0].decode() == "abg"[p.argmax()]
    assert capsys.readouterr().out.count("was it? | ") == 3


@pytest.mark.slow
def test_regression_twice_in_the_same_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    preset = make_checkpoint(tmp_path / "bert")
    lines = [f"a film of the year {n},{n / 3}" for n in range(20)]
    (tmp_path / "mine.csv").write_text("\n".join(["text,label", *lines]))
    words = ["--masked_lm", str(preset), "--csv", "mine.csv", *TOY]
    text_quickstart.main(words)
    text_quickstart.main([*words, "--mask_ratio", "0.2"])
    record = json.loads((tmp_path / "runs/text_quickstart.json").read_text())
    assert record["command"].endswith("--mask_ratio 0.2")
    assert list(record["runs"][-1]["scores"]) == ["loss"]


def test_reviews_are_different_and_of_both_classes():
    reviews = text_quickstart.make_reviews(300, seed=1).records
    assert len({one.texts for one in reviews}) == 300
    assert 100 < sum(one.label for one in reviews) < 200
    assert reviews == text_quickstart.make_reviews(300, seed=1).records
    assert reviews != text_quickstart.make_reviews(300, seed=2).records


def test_split_keeps_every_example_once():
    source = text_quickstart.make_reviews(10, seed=0)
    train, test = text_quickstart.split(source, 0.3)
    assert (len(train), len(test)) == (7, 3)
    found = sorted(
        train.records + test.records, key=lambda one: int(one.example_id)
    )
    assert found == source.records
    assert train.describe() != test.describe()
    with pytest.raises(ValueError, match="must be examples"):
        text_quickstart.split(source, 0.0)
