import json

import numpy as np
import pytest

from experiments import records
from experiments.training import fine_tuning
from experiments.training import glue
from keras_mmel import text
from keras_mmel.text import files
from tests.experiments.training import glue_fakes
from tests.experiments.training import stopping
from tests.text import tiny

TOY = ["--batch_size", "8", "--num_views", "3", "--epochs", "2"]
TOY += ["--learning_rate", "1e-2", "--max_length", "20"]
ALL = ("all", "--method", "mmel-h")
STUDENT = ("mmel-h", "teacher")


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert") / "tiny_bert"
    return str(tiny.make_checkpoint(folder, num_hidden_layers=1))


@pytest.fixture(autouse=True)
def _fakes(monkeypatch):
    glue_fakes.install(monkeypatch)


def run(folder, bert, step, *words):
    """The records, by method and kind of labels."""
    for name in ("student", "teacher", "masked_lm"):
        words = (f"--{name}", bert, *words)
    where = ["--out", str(folder / "out"), "--work_dir", str(folder / "work")]
    glue.main([step, *TOY, *where, *words])
    found = records.read_records(folder / "out")
    return {(r["method"], r["settings"]["labels"]): r for r in found}


@pytest.fixture(scope="module")
def whole(tmp_path_factory, bert):
    folder = tmp_path_factory.mktemp("glue")
    with pytest.MonkeyPatch.context() as patch:
        glue_fakes.install(patch)
        return folder, run(folder, bert, *ALL)


@pytest.mark.slow
class TestEveryStep:
    def test_a_record_for_each_run(self, whole):
        folder, found = whole
        assert set(found) == {("teacher", None), STUDENT}
        for record in found.values():
            curves, scores = record["curves"], record["scores"]
            accuracy = curves["val_accuracy"]
            assert len(curves["loss"]) == len(accuracy) == 2
            assert curves["val_epoch"] == [1, 2]
            assert scores["last"] == {"accuracy": accuracy[1], "epoch": 2}
            assert scores["best"]["accuracy"] == max(accuracy)
            command = "python -m experiments.training.glue all"
            assert record["command"].startswith(command)
            assert str(folder.parent) not in json.dumps(record)
        weights = found[STUDENT]["curves"]["effective_views"]
        assert all(1 < one <= 3 for one in weights)
        assert not list((folder / "work").rglob("*.npz"))
        (path,) = (folder / "work" / "teacher").iterdir()
        assert path.suffix == ".keras"
        (data,) = (folder / "work" / "labelled").iterdir()
        read = list(files.read_records(data))
        assert [len(record.views) for record in read] == [2] * 24
        assert all(len(record.teacher) == 2 for record in read)

    def test_nothing_is_done_twice(self, whole, bert, monkeypatch, capsys):
        folder, found = whole
        monkeypatch.setattr(glue, "train", None)
        before = {p: p.stat().st_mtime_ns for p in folder.rglob("*.tf*")}
        assert run(folder, bert, *ALL) == found
        assert capsys.readouterr().out.count("finished before") == 2
        after = {p: p.stat().st_mtime_ns for p in folder.rglob("*.tf*")}
        assert before == after

    @pytest.mark.parametrize("rule", ["last", "best"])
    def test_table(self, rule, whole, capsys):
        folder, found = whole
        glue.main(["table", "--out", str(folder / "out"), "--report", rule])
        lines = capsys.readouterr().out.splitlines()
        (line,) = [line for line in lines if "mmel-h" in line]
        accuracy = found[STUDENT]["scores"][rule]["accuracy"]
        assert f"  accuracy {accuracy:.4f}  " in line

    def test_a_run_that_was_stopped_goes_on(
        self, whole, bert, tmp_path, monkeypatch, capsys
    ):
        folder, found = whole
        (tmp_path / "work").symlink_to(folder / "work")
        stopping.check_goes_on(
            lambda: run(tmp_path, bert, "train", *ALL[1:])[STUDENT],
            found[STUDENT],
            1,
            monkeypatch,
            capsys,
        )


@pytest.mark.slow
def test_every_method_with_both_labels_of_a_regression(bert, tmp_path):
    words = ["--tasks", "stsb", "--method", "all", "--epochs", "1"]
    found = run(
        tmp_path, bert, "all", *words, "--labels", "teacher", "original"
    )
    assert len(found) == 2 + 4 * 2
    for (method, _), record in found.items():
        epochs = 3 if method == "da-long" else 1
        assert len(record["curves"]["loss"]) == epochs
        assert record["curves"]["val_epoch"] == [epochs]
        assert np.isfinite(record["curves"]["loss"]).all()
        assert -1 <= record["scores"]["last"]["spearman"] <= 1


@pytest.mark.slow
def test_real_sentences(tmp_path, shared_dir, monkeypatch):
    monkeypatch.undo()
    preset = str(shared_dir / "models" / "bert_tiny_mlm")
    words = ["--limit", "64", "--eval_limit", "32", "--method", "mmel-s"]
    words += ["--data_dir", str(shared_dir / "data" / "tfds")]
    record = run(tmp_path, preset, "all", *words)["mmel-s", "teacher"]
    assert "--data_dir" not in record["command"]
    assert 0 <= record["scores"]["last"]["accuracy"] <= 1


def test_data_that_are_not_there(tmp_path, monkeypatch):
    """At once and by name, without the network that a download wants."""
    monkeypatch.undo()
    pytest.importorskip("tensorflow_datasets")
    words = ["--data_dir", str(tmp_path / "empty"), "--out", str(tmp_path)]
    with pytest.raises(FileNotFoundError, match="Received: .*empty"):
        glue.main(["all", "--tasks", "rte", *words])


def test_students_without_what_comes_first(bert, tmp_path):
    with pytest.raises(FileNotFoundError, match="labelled"):
        run(tmp_path, bert, "train", *ALL[1:])


def test_the_recipe_of_fine_tuning(bert):
    """Linear decay without warm-up; biases and norms are not decayed."""
    model, loss = text.load_text_classifier(bert, 2), fine_tuning.loss_of(2)
    fine_tuning.compile_model(model, 4e-4, 70, loss, weight_decay=0.1)
    schedule = model.optimizer._learning_rate
    rates = [float(schedule(step)) for step in (0, 35, 69, 70)]
    expected = [4e-4, 2e-4, 4e-4 / 70, 0]
    np.testing.assert_allclose(rates, expected, rtol=1e-4, atol=1e-9)
    decayed = {
        weight.name: model.optimizer._use_weight_decay(weight)
        for weight in model.trainable_weights
    }
    expected = dict.fromkeys(("bias", "gamma", "beta"), False)
    expected |= dict.fromkeys(("kernel", "embeddings"), True)
    assert decayed == expected
