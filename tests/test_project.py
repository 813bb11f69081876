"""What the project promises: names, files, and documents that run."""

import importlib.metadata
import importlib.util
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tomllib

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_mmel
from experiments import report
from tests.text import tiny

ROOT = pathlib.Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
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


def code_blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def commands(text):
    """Lines of the shell blocks."""
    blocks = code_blocks(text, "bash")
    return [line for block in blocks for line in block.splitlines() if line]


# Names


@pytest.mark.parametrize("module", PUBLIC)
def test_documented_names_are_there(module):
    found = getattr(keras_mmel, module) if module else keras_mmel
    listed = getattr(found, "__all__", PUBLIC[module])
    assert set(PUBLIC[module]) <= set(listed)
    assert len(set(listed)) == len(listed)
    for name in listed:
        assert getattr(found, name) is not None


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'text_models'"):
        _ = keras_mmel.text_models


def test_version_is_that_of_the_installed_distribution():
    assert keras_mmel.__version__ == importlib.metadata.version("keras-mmel")
    assert f": {keras_mmel.__version__}" in (ROOT / "CHANGELOG.md").read_text()


# Files


def test_wheel_holds_the_package_with_its_type_marker():
    wheel = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["packages"] == ["keras_mmel", "keras_mmel_cli"]
    assert not {"exclude", "only-include", "artifacts"} & set(wheel)
    assert (ROOT / "keras_mmel/py.typed").is_file()


@pytest.mark.parametrize(
    "folder", ["keras_mmel", "keras_mmel_cli", "examples", "experiments"]
)
def test_files_are_short(folder):
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text().splitlines())
        for path in (ROOT / folder).rglob("*.py")
    }
    assert lengths
    assert {p: n for p, n in lengths.items() if n > 400} == {}


def test_ci_runs_the_test_command_of_the_readme():
    (command,) = [c for c in commands(README) if "/pytest" in c]
    parts = command.split(" && ")
    assert len(parts) == 3
    lines = (ROOT / ".ci/run").read_text().splitlines()
    assert [line for line in lines if line in parts] == parts
    assert lines[-1] == parts[-1]
    assert os.access(ROOT / ".ci/run", os.X_OK)


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_named_modules_and_files_exist(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    modules = set(
        re.findall(r"python -m ((?:examples|experiments)(?:\.\w+)+)", text)
    )
    assert modules
    missing = {m for m in modules if importlib.util.find_spec(m) is None}
    assert missing == set()
    links = re.findall(r"\]\(([^)#]+)\)", text)
    files = [link for link in links if not link.startswith("http")]
    assert [file for file in files if not (ROOT / file).exists()] == []


# Documents


def test_tables_are_those_of_the_records():
    assert report.main(["--check"]) == 0, "run: python -m experiments.report"


# Keras 3.15 on NumPy 2 warns of its own variables when it saves them.
@pytest.mark.filterwarnings(
    "ignore:__array__ implementation:DeprecationWarning"
)
@pytest.mark.own_process
def test_readme_code_runs(tmp_path, monkeypatch):
    """The blocks in order, as a reader would, on few images and one epoch."""
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
    blocks = code_blocks(README, "python")
    assert len(blocks) > 5
    names = {}
    for number, block in enumerate(blocks, start=1):
        if "KERAS_BACKEND" in block or "text" in block:
            continue
        code = re.sub(r"epochs=\d+", "epochs=1", block)
        exec(compile(code, f"<README block {number}>", "exec"), names)
    weights = names["weights"]
    assert weights.shape == (128, 10)
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-5)
    assert (tmp_path / "serving" / "saved_model.pb").is_file()
    assert (tmp_path / "model.keras").is_file()


@pytest.mark.filterwarnings(
    "ignore:__array__ implementation:DeprecationWarning"
)
def test_readme_text_runs(tmp_path, monkeypatch):
    """Commands and code on text in order, with a small BERT for the preset."""
    import keras_mmel_cli

    section = README.partition("\n## Text\n")[2].partition("\n## ")[0]
    preset = "hf://google-bert/bert-base-uncased"
    assert section.count(preset) == 2
    bert = tiny.make_checkpoint(tmp_path / "bert", max_position_embeddings=128)
    monkeypatch.chdir(tmp_path)
    rows = [
        f"the movie was very {w},{i}" for i, w in enumerate(("bad", "good"))
    ]
    (tmp_path / "reviews.csv").write_text(
        "text,label\n" + "\n".join(rows * 20) + "\n"
    )
    names = {"keras": keras, "keras_mmel": keras_mmel}
    for kind, block in re.findall(
        r"^```(python|bash)\n(.*?)^```$", section, re.M | re.S
    ):
        block = block.replace(preset, str(bert))
        if kind == "python":
            code = re.sub(r"epochs=\d+", "epochs=1", block)
            exec(compile(code, "<README text>", "exec"), names)
            continue
        for line in block.splitlines():
            program, *words = shlex.split(line)
            assert program == "keras-mmel"
            assert keras_mmel_cli.main(words) == 0
    assert len({sample.text for sample in names["samples"]}) == 4
    assert (tmp_path / "labelled.html").is_file()
    served = tf.saved_model.load(str(tmp_path / "served"))
    found = served.signatures["serving_default"](
        text=tf.constant(["The movie was good"])
    )
    assert found["label"].numpy()[0] in (b"bad", b"good")


def test_readme_code_for_another_backend_runs(tmp_path):
    pytest.importorskip("jax")
    (block,) = [
        block
        for block in code_blocks(README, "python")
        if "KERAS_BACKEND" in block
    ]
    code = block + "\nprint('backend', keras.config.backend())\n"
    environment = dict(os.environ, JAX_PLATFORMS="cpu")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "backend jax" in done.stdout


def test_contributing_code_runs():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    names = {"__name__": "contributing"}
    for block in code_blocks(text, "python"):
        exec(compile(block, "CONTRIBUTING.md", "exec"), names)
    mmel = names["mmel"]
    mmel.compile(keras.optimizers.SGD(0.1), "mse", run_eagerly=True)
    random = np.random.default_rng(0)
    views = random.normal(size=(4, 3, 8)).astype("float32")
    labels = random.normal(size=(4, 1)).astype("float32")
    kernel, bias = [w.numpy() for w in mmel.model.weights]
    error = views[:, 0] @ kernel + bias - labels
    expected = kernel - 0.1 * 2 / 4 * views[:, 0].T @ error
    mmel.fit({"views": views}, labels, batch_size=4, verbose=0)
    np.testing.assert_allclose(
        mmel.model.weights[0].numpy(), expected, rtol=1e-4, atol=1e-6
    )
