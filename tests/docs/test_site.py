"""The site: it builds without a warning, and what it says is there."""

import importlib.util
import inspect
import os
import pathlib
import re
import subprocess
import sys

import pytest

import keras_mmel
from keras_mmel_cli import program
from tests.docs import blocks

pytest.importorskip("mkdocs")
pytest.importorskip("mkdocstrings_handlers.python")

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
MODULES = ("objectives", "callbacks", "data", "models", "diagnostics", "text")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Every page and link, by the strict `validation` of mkdocs.yml."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", folder],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr
    return folder


@pytest.mark.slow
def test_formulas_are_mathml_and_nothing_comes_from_the_network(site):
    for name in ("how_it_works", "api/objectives"):
        text = (site / f"{name}.html").read_text(encoding="utf-8")
        assert text.count("<math") > 5, name
        shown = re.sub(r"<(pre|code)\b.*?</\1>", "", text, flags=re.S)
        assert "arithmatex" not in shown and "$" not in shown, name
    assert not (site / "mathml.py").exists()
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        tags = re.findall(r"<(?:script|img|link)\b[^>]*>", text)
        assert [tag for tag in tags if '="http' in tag] == [], page


@pytest.mark.parametrize("module", MODULES)
def test_public_names_are_in_the_reference(site, module):
    pages = [p.read_text("utf-8") for p in (site / "api").glob("*.html")]
    ids = set(re.findall(r'\bid="([^"]*)"', "".join(pages)))
    found = getattr(keras_mmel, module)
    names = getattr(found, "__all__", ["LambdaSchedule", "ViewScores"])
    # A room has a page of its own.
    names = [n for n in names if not inspect.ismodule(getattr(found, n))]
    missing = {f"keras_mmel.{module}.{name}" for name in names} - ids
    assert missing == set()


def test_docstrings_are_shown(site):
    text = (site / "api" / "objectives.html").read_text(encoding="utf-8")
    assert "KL coefficient, a float from 0 to inf" in text
    assert "is negative or NaN" in text
    assert "1.6201146" in text


@pytest.mark.parametrize(
    "page",
    [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"],
    ids=lambda page: page.stem,
)
def test_named_tests_modules_and_files_exist(page):
    text = page.read_text(encoding="utf-8")
    for name, test in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text):
        source = (ROOT / name).read_text(encoding="utf-8")
        if test:
            assert f"def {test}(" in source, f"{name}::{test}"
    pattern = r"python -m ((?:examples|experiments)[\w.]*\w)"
    for module in re.findall(pattern, text):
        assert importlib.util.find_spec(module), module
    pattern = r"python (examples/\w+\.py)"
    for name in re.findall(pattern, text):
        assert (ROOT / name).exists(), name
    pattern = r"`((?:docs|examples|experiments|keras_mmel\w*)/[\w/]+\.\w+)`"
    for name in re.findall(pattern, text):
        assert (ROOT / name).exists(), name


def test_the_reference_of_the_command_is_its_help():
    page = (DOCS / "api" / "command_line.md").read_text(encoding="utf-8")
    shown = {}
    for block in blocks.code(page, "text"):
        prompt, _, text = block.partition("\n")
        _, _, command, _ = prompt.split()
        shown[command] = text
    assert [*shown] == [*program.COMMANDS]
    for command, text in shown.items():
        done = subprocess.run(
            [sys.executable, "-m", "keras_mmel_cli", command, "--help"],
            cwd=ROOT,
            env=os.environ | {"COLUMNS": "80", "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            encoding="utf-8",
        )
        # Words alone: versions of tyro may draw and break lines differently.
        box_drawing = "[\u2500-\u257f]"
        shown_words = re.sub(box_drawing, " ", text).split()
        assert shown_words == re.sub(box_drawing, " ", done.stdout).split()
