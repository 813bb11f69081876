import pathlib

import numpy as np
import pytest

from examples import glue
from examples import glue_settings
from examples import glue_steps
from examples import glue_training
from examples import glue_work
from examples import records
from examples.glue_tasks import TASKS
from keras_mmel.text import files
from tests.examples import glue_fakes
from tests.text import tiny

# Keras 3.15 hands variables to `numpy.array`, which NumPy 2 complains about.
pytestmark = pytest.mark.filterwarnings(
    "ignore:__array__ implementation doesn't accept a copy:DeprecationWarning"
)

TOY = ["--batch_size", "8", "--num_views", "3", "--epochs", "2"]
TOY += ["--learning_rate", "1e-2", "--max_length", "20"]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert") / "tiny_bert"
    return str(tiny.make_checkpoint(folder, pooler=True))


@pytest.fixture(autouse=True)
def _fakes(monkeypatch):
    glue_fakes.install(monkeypatch)


def run(folder, bert, *words):
    folder = pathlib.Path(folder)
    presets = [
        word
        for name in ("student", "teacher", "masked_lm")
        for word in (f"--{name}", bert)
    ]
    where = ["--out", str(folder / "out"), "--work_dir", str(folder / "work")]
    glue.main([words[0], *TOY, *presets, *where, *words[1:]])
    found = records.read_records(folder / "out")
    return {(r["method"], r["settings"]["labels"], r["seed"]): r for r in found}


ALL = ("all", "--method", "mmel-h", "--seeds", "0", "1")


@pytest.fixture(scope="module")
def whole(tmp_path_factory, bert):
    folder = tmp_path_factory.mktemp("glue")
    with pytest.MonkeyPatch.context() as patch:
        glue_fakes.install(patch)
        words = (*ALL, "--submissions", str(folder / "sent"))
        return folder, run(folder, bert, *words)


class TestEveryStep:
    def test_a_record_for_each_run(self, whole):
        folder, found = whole
        assert set(found) == {
            ("teacher", None, 0),
            ("mmel-h", "teacher", 0),
            ("mmel-h", "teacher", 1),
        }
        for record in found.values():
            curves = record["curves"]
            assert len(curves["loss"]) == len(curves["val_accuracy"]) == 2
            assert curves["val_epoch"] == [1, 2]
            last = record["scores"]["last"]
            assert last == {"accuracy": curves["val_accuracy"][1], "epoch": 2}
            best = record["scores"]["best"]
            assert best["accuracy"] == max(curves["val_accuracy"])
            assert record["command"].startswith("python -m examples.glue all")
        weights = found["mmel-h", "teacher", 0]["curves"]["effective_views"]
        assert all(1 < one <= 3 for one in weights)
        assert not list((folder / "work").rglob("*.npz"))

    def test_no_path_of_the_machine_in_a_record(self, whole):
        folder, _ = whole
        for path in (folder / "out").iterdir():
            assert str(folder.parent) not in path.read_text()

    def test_the_files_are_labelled_by_the_teacher(self, whole):
        folder, found = whole
        (data,) = (folder / "work" / "labelled").iterdir()
        read = list(files.read_records(data))
        assert len(read) == 24
        assert all(len(record.views) == 2 for record in read)
        (path,) = (folder / "work" / "teacher").iterdir()
        assert path.suffix == ".keras"
        right = np.mean([np.argmax(r.teacher) == r.label for r in read])
        scores = found["mmel-h", "teacher", 0]["scores"]
        assert scores["teacher_agreement"]["originals"] == right

    def test_nothing_is_done_twice(self, whole, bert, monkeypatch, capsys):
        folder, found = whole
        monkeypatch.setattr(glue_training, "Student", None)
        before = {p: p.stat().st_mtime_ns for p in folder.rglob("*.tf*")}
        words = (*ALL, "--submissions", str(folder / "sent"))
        assert run(folder, bert, *words) == found
        assert capsys.readouterr().out.count("finished before") == 3
        after = {p: p.stat().st_mtime_ns for p in folder.rglob("*.tf*")}
        assert before == after

    def test_table(self, whole, bert, capsys):
        folder, found = whole
        glue.main(["table", "--out", str(folder / "out")])
        last = capsys.readouterr().out
        glue.main(["table", "--out", str(folder / "out"), "--report", "best"])
        best = capsys.readouterr().out
        for rule, text in (("last", last), ("best", best)):
            (line,) = [t for t in text.splitlines() if "mmel-h" in t]
            scores = [
                100
                * found["mmel-h", "teacher", seed]["scores"][rule]["accuracy"]
                for seed in (0, 1)
            ]
            mean, spread = np.mean(scores), np.std(scores, ddof=1)
            assert f"{mean:.1f} +- {spread:.1f} (2)" in line
            assert len(text.splitlines()) == 2

    def test_submissions(self, whole):
        folder, found = whole
        paths = list((folder / "sent").rglob("*.tsv"))
        assert len(paths) == 2
        for path in paths:
            assert path.name == "RTE.tsv"
            head, *lines = path.read_text().splitlines()
            assert head == "index\tprediction"
            numbers, answers = zip(
                *(line.split("\t") for line in lines), strict=True
            )
            assert numbers == tuple(map(str, range(9)))
            assert set(answers) <= {"entailment", "not_entailment"}

    @pytest.mark.slow
    def test_a_seed_does_not_depend_on_those_before(
        self, whole, bert, tmp_path
    ):
        folder, found = whole
        (tmp_path / "work").symlink_to(folder / "work")
        words = ("train", "--method", "mmel-h", "--seeds", "1")
        alone = run(tmp_path, bert, *words)["mmel-h", "teacher", 1]
        together = found["mmel-h", "teacher", 1]
        for name, curve in together["curves"].items():
            np.testing.assert_allclose(
                alone["curves"][name], curve, rtol=1e-4, err_msg=name
            )

    @pytest.mark.slow
    def test_a_run_that_was_stopped_goes_on(
        self, whole, bert, tmp_path, monkeypatch, capsys
    ):
        folder, found = whole
        (tmp_path / "work").symlink_to(folder / "work")
        words = ("train", "--method", "mmel-h", "--seeds", "0")
        begin = glue_training.Evaluation.on_epoch_begin

        def stop(self, epoch, logs=None):
            if epoch == 1:
                raise KeyboardInterrupt
            begin(self, epoch, logs)

        monkeypatch.setattr(glue_training, "SECONDS_BETWEEN_FILES", 0)
        with monkeypatch.context() as patch:
            patch.setattr(glue_training.Evaluation, "on_epoch_begin", stop)
            with pytest.raises(KeyboardInterrupt):
                run(tmp_path, bert, *words)
        capsys.readouterr()
        parts = run(tmp_path, bert, *words)["mmel-h", "teacher", 0]
        assert "continues after epoch 1" in capsys.readouterr().out
        together = found["mmel-h", "teacher", 0]
        assert parts["settings"] == together["settings"]
        for name, curve in together["curves"].items():
            np.testing.assert_allclose(
                parts["curves"][name], curve, rtol=1e-4, err_msg=name
            )


@pytest.mark.slow
class TestVariants:
    @pytest.mark.parametrize("task", ["cola", "stsb", "mrpc"])
    def test_every_method_with_both_labels(self, task, bert, tmp_path):
        words = ["all", "--tasks", task, "--method", "all", "--labels"]
        words += ["teacher", "original", "--epochs", "1"]
        words += ["--submissions", str(tmp_path / "sent")]
        found = run(tmp_path, bert, *words)
        assert len(found) == 2 + 4 * 2
        metric = TASKS[task].metrics[0]
        for (method, _, _), record in found.items():
            epochs = 3 if method == "da-long" else 1
            assert len(record["curves"]["loss"]) == epochs
            assert record["curves"]["val_epoch"] == [epochs]
            assert np.isfinite(record["curves"]["loss"]).all()
            assert -1 <= record["scores"]["last"][metric] <= 1

    def test_real_sentences(self, tmp_path, shared_dir, monkeypatch):
        monkeypatch.undo()
        preset = str(shared_dir / "models" / "bert_tiny_mlm")
        words = ["all", "--limit", "64", "--eval_limit", "32"]
        words += ["--data_dir", str(shared_dir / "data" / "tfds")]
        found = run(tmp_path, preset, *words, "--method", "mmel-s")
        record = found["mmel-s", "teacher", 0]
        assert "--data_dir" not in record["command"]
        assert 0 <= record["scores"]["last"]["accuracy"] <= 1


class TestSettings:
    def settings(self, method, *words, task="rte", labels="teacher"):
        args = glue.parse_arguments(["train", *words])
        return glue_settings.train_settings(args, task, method, labels, 0)

    def test_defaults_are_those_of_the_paper(self):
        found = self.settings("mmel-s")
        expected = {
            "epochs": 10,
            "batch_size": 32,
            "learning_rate": 3e-5,
            "weight_decay": 0.0,
            "dropout": 0.1,
            "num_views": 5,
            "lambda_p": 1.0,
            "lambda_t": 1.0,
            "student": "hf://google-bert/bert-base-uncased",
        }
        assert expected.items() <= found.items()
        data = found["data"]
        assert data["mask_ratio"] == 0.4 and data["search"] == "greedy"
        assert data["num_augmented"] == 4 and data["pairs"] == "separate"
        for task in TASKS:
            epochs = self.settings("baseline", task=task)["epochs"]
            assert epochs == (3 if task in ("mnli", "qqp") else 10)

    def test_the_long_baseline_shows_each_view_once_an_epoch(self):
        found = self.settings("da-long")
        assert (found["epochs"], found["eval_every"]) == (50, 5)

    def test_what_does_not_concern_a_run_does_not_rename_it(self):
        def names(method, *options, labels="teacher"):
            return {
                glue_settings.run_name(
                    self.settings(method, *words, labels=labels)
                )
                for words in options
            }

        others = [(), ("--lambda_t", "2"), ("--mask_ratio", "0.2")]
        assert len(names("mmel-s", *others)) == 3
        assert len(names("mmel-h", *others)) == 2
        assert len(names("baseline", *others, labels=None)) == 1
        teacher = [(), ("--teacher_seed", "1")]
        assert len(names("mmel-h", *teacher)) == 2
        assert len(names("mmel-h", *teacher, labels="original")) == 1

    def test_linear_decay_without_warm_up(self, bert):
        words = ["--student", bert, "--learning_rate", "4e-4"]
        settings = self.settings("baseline", *words)
        student = glue_training.Student(bert, settings, steps_per_epoch=7)
        schedule = student.model.optimizer._learning_rate
        rates = [float(schedule(step)) for step in (0, 35, 69, 70)]
        expected = [4e-4, 2e-4, 4e-4 / 70, 0]
        np.testing.assert_allclose(rates, expected, rtol=1e-4, atol=1e-9)

    def test_what_is_not_decayed(self, bert):
        words = ["--student", bert, "--weight_decay", "0.1"]
        settings = self.settings("baseline", *words)
        student = glue_training.Student(bert, settings, steps_per_epoch=7)
        optimizer = student.model.optimizer
        decayed = {
            weight.name: optimizer._use_weight_decay(weight)
            for weight in student.classifier.trainable_weights
        }
        expected = dict.fromkeys(("bias", "gamma", "beta"), False)
        expected |= dict.fromkeys(("kernel", "embeddings"), True)
        assert decayed == expected

    @pytest.mark.parametrize(
        "words, message",
        [
            (["--epochs", "0"], "--epochs must be at least 1"),
            (["--num_views", "1"], "--num_views must be at least 2"),
            (["--tasks", "wnli"], "invalid choice"),
        ],
    )
    def test_wrong_arguments(self, words, message, capsys):
        with pytest.raises(SystemExit):
            glue.parse_arguments(["all", *words])
        assert message in capsys.readouterr().err

    def test_labels_without_a_teacher(self, bert, tmp_path):
        with pytest.raises(FileNotFoundError, match="step `teacher`"):
            run(tmp_path, bert, "label")

    def test_a_development_set_that_is_not_there(self, bert, tmp_path):
        with pytest.raises(ValueError, match="validation_matched"):
            run(tmp_path, bert, "teacher", "--tasks", "mnli")

    def test_threads(self, monkeypatch):
        import tensorflow as tf

        seen = []
        threading = tf.config.threading
        for name in ("intra", "inter"):
            function = f"set_{name}_op_parallelism_threads"
            monkeypatch.setattr(threading, function, seen.append)
        glue_steps.bound_threads(3)
        assert seen == [3, 3]


def test_the_time_of_a_preset_elsewhere_is_that_of_its_size():
    name = "hf://google/bert_uncased_L-2_H-128_A-2"
    backbone = glue_work._classifier(name).backbone
    assert (backbone.num_layers, backbone.hidden_dim) == (2, 128)
    # Google's count of this size, with its pooler.
    assert backbone.count_params() == 4_385_920
