"""What a user copies: single files that stand on their own."""

import ast
import importlib
import inspect
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import examples
import keras_mmel

FOLDER = pathlib.Path(examples.__file__).parent
ROOT = FOLDER.parent
TRAININGS = ("quickstart", "text_quickstart", "cifar", "imagenet", "glue")
# It reads a file of another tool, and needs Python alone.
SCRIPTS = (*TRAININGS, "tinybert_to_csv")
# Each script in a folder with nothing else, and the package on the path without
# the rest of the clone; one process, for the imports take seconds.
ALONE = """
import os, runpy, sys
installed, root, *folders = sys.argv[1:]
others = [path for path in sys.path[1:] if path != root]
for folder in folders:
    os.chdir(folder)
    sys.path[:] = [folder, installed, *others]
    (script,) = os.listdir(folder)
    sys.argv = [script, "--help"]
    try:
        runpy.run_path(os.path.join(folder, script), run_name="__main__")
    except SystemExit as end:
        print(script, end.code)
assert not {"examples", "experiments"} & sys.modules.keys()
"""


@pytest.fixture(params=SCRIPTS)
def script(request):
    return request.param


@pytest.fixture
def code(script):
    return (FOLDER / f"{script}.py").read_text(encoding="utf-8")


def test_these_are_all():
    found = {path.stem for path in FOLDER.glob("*.py")}
    assert found == {"__init__", *SCRIPTS}


def test_a_script_is_short_and_says_how_it_is_run(script, code):
    assert len(code.splitlines()) <= 250
    header = ast.get_docstring(ast.parse(code))
    assert f"    python {script}.py" in header
    assert "With `keras-mmel[" in header
    assert re.search("([Mm]inutes|seconds) on two", header)
    assert "xpected" in header


@pytest.mark.slow
def test_each_runs_alone(tmp_path):
    installed = tmp_path / "installed"
    installed.mkdir()
    (installed / "keras_mmel").symlink_to(ROOT / "keras_mmel")
    folders = [tmp_path / script for script in SCRIPTS]
    for folder in folders:
        folder.mkdir()
        shutil.copy(FOLDER / f"{folder.name}.py", folder)
    done = subprocess.run(
        [sys.executable, "-c", ALONE, installed, ROOT, *folders],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    for script in SCRIPTS:
        assert f"usage: {script}.py " in done.stdout
        assert f"{script}.py 0\n" in done.stdout
    # Nothing is written before it is asked for.
    assert all(len(list(folder.iterdir())) == 1 for folder in folders)


def imported_names(tree):
    """Modules and what is taken from them; local names of our modules."""
    modules, aliases = [], {"keras_mmel": keras_mmel}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules.append(node.module)
            if node.module.partition(".")[0] == "keras_mmel":
                module = importlib.import_module(node.module)
                for alias in node.names:
                    assert alias.name in module.__all__, alias.name
                    aliases[alias.name] = getattr(module, alias.name)
    return modules, aliases


def test_no_example_needs_another_file_of_the_project(script, code):
    modules, _ = imported_names(ast.parse(code))
    roots = {module.partition(".")[0] for module in modules}
    assert ("keras_mmel" in roots) == (script in TRAININGS)
    assert script in TRAININGS or roots <= sys.stdlib_module_names
    assert not roots & {"examples", "experiments", "tests", "keras_mmel_cli"}


def test_only_public_names_are_used(script, code):
    tree = ast.parse(code)
    modules, aliases = imported_names(tree)
    ours = {m for m in modules if m.startswith("keras_mmel")}
    assert ours <= {"keras_mmel", "keras_mmel.text"}
    used = 0
    for node in ast.walk(tree):
        names, value = [], node
        while isinstance(value, ast.Attribute):
            names.insert(0, value.attr)
            value = value.value
        if not (names and isinstance(value, ast.Name) and value.id in aliases):
            continue
        place = aliases[value.id]
        for name in names:
            if inspect.ismodule(place):
                assert name in place.__all__, f"{place.__name__}.{name}"
            assert not name.startswith("_")
            place = getattr(place, name)
            used += 1
    assert used >= 2 or script not in TRAININGS
