"""The example on GLUE at toy size."""

import keras
import numpy as np
import pytest
import scipy.stats
import sklearn.metrics

from examples import glue
from experiments.training.glue_tasks import TASKS
from keras_mmel import text
from keras_mmel.text import files
from tests.experiments.training import glue_fakes
from tests.text import tiny

TOY = ["--batch_size", "8", "--num_views", "3", "--epochs", "1"]
TOY += ["--learning_rate", "1e-2", "--max_length", "20"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs the example; gives the folder of the task."""
    bert = tmp_path_factory.mktemp("bert") / "tiny_bert"
    tiny.make_checkpoint(bert, num_hidden_layers=1)
    folder = tmp_path_factory.mktemp("glue")

    def read(args, split):
        return glue_fakes.source(TASKS[args.task], split)

    def run(task, *words):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(glue, "read", read)
            words = ["--task", task, "--bert", str(bert), *TOY, *words]
            glue.main([*words, "--work_dir", str(folder)])
        return folder / task

    return run


@pytest.mark.slow
def test_a_training_with_labels_of_a_teacher(run, capsys):
    folder = run("rte")
    name, value = capsys.readouterr().out.splitlines()[-1].rsplit(" ", 1)
    assert name == "rte, mmel-h: accuracy"
    right = float(value) * glue_fakes.SIZES["validation"]
    assert right == pytest.approx(round(right), abs=1e-2)
    classifier = keras.saving.load_model(folder / "mmel-h.keras", compile=False)
    assert isinstance(classifier, text.BertTextClassifier)
    records = list(files.read_records(folder / "labelled"))
    assert [len(record.views) for record in records] == [2] * 24
    assert all(len(record.teacher) == 2 for record in records)
    # The same command goes on from its files.
    before = {p: p.stat().st_mtime_ns for p in folder.rglob("*.tf*")}
    teacher = (folder / "teacher.keras").stat().st_mtime_ns
    run("rte")
    assert {p: p.stat().st_mtime_ns for p in folder.rglob("*.tf*")} == before
    assert (folder / "teacher.keras").stat().st_mtime_ns == teacher


@pytest.mark.slow
@pytest.mark.parametrize("method", ["baseline", "uniform", "mmel-s"])
def test_other_methods_with_labels_of_the_originals(run, method, capsys):
    folder = run("stsb", "--method", method, "--labels", "original")
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith(f"stsb, {method}: Spearman correlation ")
    assert (folder / f"{method}.keras").exists()
    assert not (folder / "teacher.keras").exists()


def test_scores_are_those_of_the_paper():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 200)
    logits = rng.normal(size=(200, 2)) + np.eye(2)[labels]
    classes = logits.argmax(axis=1)
    values = rng.normal(size=(200, 1)) + labels[:, None]
    matthews = sklearn.metrics.matthews_corrcoef(labels, classes)
    spearman = scipy.stats.spearmanr(labels, values[:, 0]).statistic
    for task, outputs, value in (
        ("cola", logits, matthews),
        ("stsb", values, spearman),
        ("mrpc", logits, np.mean(classes == labels)),
    ):
        assert glue.score(task, labels, outputs)[1] == pytest.approx(value)


# As the server's own samples have them: name, header, spelling, order.
SUBMISSION = {
    "RTE.tsv": "index\tprediction\n0\tnot_entailment\n1\tentailment\n",
    "MNLI-m.tsv": "index\tprediction\n0\tneutral\n1\tentailment\n",
    "MNLI-mm.tsv": "index\tprediction\n0\tneutral\n1\tentailment\n",
    "CoLA.tsv": "index\tprediction\n0\t1\n1\t0\n",
    "STS-B.tsv": "index\tprediction\n0\t5.000\n1\t3.250\n",
}


@pytest.mark.parametrize(
    ("task", "outputs"),
    [
        ("rte", [[2.0, 1.0], [0.0, 1.0]]),
        ("mnli", [[2.0, 1.0, 0.0], [0.0, 2.0, 1.0]]),
        ("cola", [[2.0, 1.0], [0.0, 1.0]]),
        ("stsb", [[3.25], [5.125]]),
    ],
)
def test_what_is_submitted(task, outputs, tmp_path, monkeypatch):
    # TFDS has them in another order.
    examples = [files.Record("1", ("b",)), files.Record("0", ("a",))]
    monkeypatch.setattr(glue, "read", lambda *_: files.InMemory(examples))
    outputs = np.array(outputs)
    monkeypatch.setattr(glue, "outputs_for", lambda *_: (outputs, None))
    words = ["--task", task, "--work_dir", str(tmp_path)]
    glue.write_submission(glue.parse_arguments(words), None)
    for path in (tmp_path / "submission").iterdir():
        assert path.read_text() == SUBMISSION[path.name]
    names = {name for name in SUBMISSION if name.startswith(glue.FILES[task])}
    assert {p.name for p in (tmp_path / "submission").iterdir()} == names


def test_epochs_are_those_of_the_paper():
    for task, epochs in {"rte": 10, "mnli": 3, "qqp": 3}.items():
        assert glue.parse_arguments(["--task", task]).epochs == epochs
    assert set(glue.TASKS) == set(TASKS)
    assert {name: task.epochs for name, task in TASKS.items()} == glue.TASKS


def test_one_view_is_no_group(capsys):
    with pytest.raises(SystemExit):
        glue.parse_arguments(["--num_views", "1"])
    assert "--num_views must be at least 2" in capsys.readouterr().err
