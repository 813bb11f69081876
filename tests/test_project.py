"""What the project promises: names, files, and documents that run."""

import importlib.metadata
import importlib.util
import os
import pathlib
import re
import shlex
import tomllib

import keras
import numpy as np
import pytest
import tensorflow as tf
import yaml

import keras_mmel
import keras_mmel_cli
from experiments import report
from tests import cases
from tests.docs import blocks
from tests.text import tiny

ROOT = pathlib.Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PRESET = "hf://google-bert/bert-base-uncased"
PUBLIC = {
    "": ["MMELModel", "__version__", "callbacks", "data", "diagnostics"]
    + ["models", "objectives", "text"],
    "objectives": ["Hard", "Soft", "Uniform", "Objective"]
    + ["view_weights", "maximal_expected_loss"],
    "data": ["group_views", "crop_and_flip", "per_view"],
    "models": ["cifar_resnet", "resnet18", "resnet34", "resnet50"],
    "callbacks": ["LambdaSchedule"],
    "text": ["load_masked_lm", "load_text_classifier", "MaskedLMAugmenter"]
    + ["read_augmented", "Augmented"],
}


# Names


@pytest.mark.parametrize("module", PUBLIC)
def test_documented_names_are_there(module):
    found = getattr(keras_mmel, module) if module else keras_mmel
    listed = getattr(found, "__all__", PUBLIC[module])
    assert set(PUBLIC[module]) <= set(listed)
    assert len(set(listed)) == len(listed)
    for name in listed:
        assert getattr(found, name) is not None


def test_version_is_that_of_the_installed_distribution():
    assert keras_mmel.__version__ == importlib.metadata.version("keras-mmel")
    assert f"## [{keras_mmel.__version__}]" in (
        ROOT / "CHANGELOG.md"
    ).read_text("utf-8")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == keras_mmel.__version__
    address = PYPROJECT["project"]["urls"]["Paper"]
    assert citation["preferred-citation"]["url"] == address
    assert address in README


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 200


# Files


def test_ci_runs_the_test_command_of_the_readme():
    (command,) = [c for c in blocks.commands(README) if "/pytest" in c]
    parts = command.split(" && ")
    assert len(parts) == 3
    lines = (ROOT / ".ci/run").read_text().splitlines()
    assert [line for line in lines if line in parts] == parts
    slow = [line for line in lines if "-m slow" in line]
    assert slow == lines[-1:], "the slow tests come last, after the others"
    assert os.access(ROOT / ".ci/run", os.X_OK)


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_links_lead_to_files(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text)
    files = [link for link in links if not link.startswith("http")]
    assert files
    assert [file for file in files if not (ROOT / file).exists()] == []


# Documents


def test_tables_are_those_of_the_records():
    assert report.main(["--check"]) == 0, "run: python -m experiments.report"


def test_readme_code_runs(tmp_path, monkeypatch):
    """The quickstart, on few images and one epoch."""
    random = np.random.default_rng(0)

    def load_data():
        return tuple(
            (
                random.integers(0, 256, (size, 32, 32, 3), "uint8"),
                random.integers(0, 10, (size, 1), "uint8"),
            )
            for size in (128, 16)
        )

    monkeypatch.setattr(keras.datasets.cifar10, "load_data", load_data)
    monkeypatch.chdir(tmp_path)
    (block,) = (x for x in blocks.code(README, "python") if "cifar10" in x)
    names = {}
    code = re.sub(r"epochs=\d+", "epochs=1", block)
    exec(compile(code, "<README>", "exec"), names)
    x, y = next(iter(names["groups"]))
    weights = names["mmel"].view_weights(x, y)
    assert weights.shape == (128, 10)
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-5)
    assert (tmp_path / "model.keras").is_file()


@pytest.mark.slow
def test_readme_text_runs(tmp_path, monkeypatch):
    """The commands, then the code, with a small BERT for the preset."""
    bert = str(tiny.make_checkpoint(tmp_path / "bert", num_hidden_layers=1))
    monkeypatch.chdir(tmp_path)
    rows = "a very bad movie,0\na very good movie,1\n" * 16
    (tmp_path / "reviews.csv").write_text("text,label\n" + rows)
    keras_mmel.text.load_text_classifier(bert, 2).save("teacher.keras")
    section = README.partition("\n## Text\n")[2].partition("\n## ")[0]
    assert section.count(PRESET) == 2
    section = section.replace(PRESET, bert)
    for line in blocks.commands(section):
        program, *words = shlex.split(line)
        assert program == "keras-mmel"
        assert keras_mmel_cli.main(words) == 0
    (code,) = blocks.code(section, "python")
    code = re.sub(r"epochs=\d+", "epochs=1", code)
    names = {"keras": keras, "keras_mmel": keras_mmel}
    exec(compile(code, "<README text>", "exec"), names)
    served = tf.saved_model.load(str(tmp_path / "served"))
    found = served.signatures["serving_default"](
        text=tf.constant(["The movie was good"])
    )
    assert found["probabilities"].shape == (1, 2)


def contributing_names():
    """What the code of CONTRIBUTING.md defines."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    names = {"__name__": "contributing"}
    for block in blocks.code(text, "python"):
        exec(compile(block, "CONTRIBUTING.md", "exec"), names)
    return names


def test_the_importer_of_contributing_reads(tmp_path):
    names = contributing_names()
    path = tmp_path / "reviews.json"
    path.write_text(
        '[{"key": "a", "stars": 1, "said": "so", "also": ["so", "thus"]}]'
    )
    (record,) = names["from_reviews"](path).records
    assert record.label == 1 and [v.texts for v in record.views] == [("thus",)]


@pytest.mark.parametrize("sizes", ["eager", "static", "unknown"])
def test_the_objective_of_contributing_trains(sizes):
    mmel = contributing_names()["mmel"]
    mmel.compile(keras.optimizers.SGD(0.1), "mse", run_eagerly=sizes == "eager")
    random = np.random.default_rng(0)
    views = random.normal(size=(4, 3, 8)).astype("float32")
    labels = random.normal(size=(4, 1)).astype("float32")
    kernel, bias = [w.numpy() for w in mmel.model.weights]
    error = views[:, 0] @ kernel + bias - labels
    expected = kernel - 0.1 * 2 / 4 * views[:, 0].T @ error
    groups = [({"views": views}, labels)]
    if sizes == "unknown":
        groups = cases.of_unknown_sizes(groups)
    else:
        groups = cases.Batches(groups)
    mmel.fit(groups, verbose=0)
    np.testing.assert_allclose(
        mmel.model.weights[0].numpy(), expected, rtol=1e-4, atol=1e-6
    )
