"""What is said where an optional library is not installed."""

import sys

import pytest

from keras_mmel import extras


def test_need_returns_the_module():
    assert extras.need("json.decoder", "text") is sys.modules["json.decoder"]


def test_need_names_the_extra():
    with pytest.raises(
        ImportError,
        match=r"'no_such_library'.*pip install 'keras-mmel\[text\]'",
    ):
        extras.need("no_such_library.part", "text")


def test_other_import_errors_pass(tmp_path, monkeypatch):
    (tmp_path / "half_there.py").write_text("import its_missing_dependency")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="its_missing_dependency"):
        extras.need("half_there", "text")
