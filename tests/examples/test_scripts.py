"""What a user copies: single files that stand on their own."""

import ast
import pathlib

import pytest

import examples

FOLDER = pathlib.Path(examples.__file__).parent
SCRIPTS = ("quickstart", "text_quickstart", "cifar", "imagenet", "glue")


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_is_short_and_says_how_it_is_run(script):
    text = (FOLDER / f"{script}.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 250
    header = ast.get_docstring(ast.parse(text))
    assert f"    python -m examples.{script}" in header
    assert "minute" in header


def test_no_example_needs_an_experiment():
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [alias.name for alias in getattr(node, "names", [])]
            modules.append(getattr(node, "module", None) or "")
            assert not any(m.startswith("experiments") for m in modules), path
