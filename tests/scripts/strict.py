"""Warnings in a process of its own, as `pyproject.toml` has them for pytest."""

import builtins
import pathlib
import tomllib
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]


def use():
    """Makes warnings errors, but for those of other packages listed there."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    options = tomllib.loads(text)["tool"]["pytest"]["ini_options"]
    for line in options["filterwarnings"]:
        action, message, category, module = (line + ":::").split(":")[:4]
        kind = getattr(builtins, category or "Warning")
        warnings.filterwarnings(action, message, kind, module)
