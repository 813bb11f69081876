"""Runs in memory and in files."""

import dataclasses
import os
import unittest.mock

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from keras_mmel.diagnostics import Run


def a_run(records=2):
    random = np.random.default_rng(0)
    run = Run(
        mask=random.random((6, 3)) > 0.2,
        objective={"name": "Hard", "lambda_p": np.inf},
        original_counts=False,
        classes=np.arange(6) % 4,
        class_names=["a", "b"],
        images=random.integers(0, 256, (6, 3, 2, 5, 1), "uint8"),
        texts=[["ä ‖ b", "x", ""]] * 6,
    )
    for step, lambda_p in list(enumerate([np.inf, np.nan]))[:records]:
        losses = random.random((6, 3)).astype("float32")
        losses[0, 0], losses[1, 1] = np.nan, -np.inf
        weights = random.random((6, 3))
        run.add(weights, losses, step=step, epoch=1, lambda_p=lambda_p)
    run.logs = [{"epoch": 1, "step": 2, "loss": np.nan, "top": np.inf}]
    return run


def check_equal(found, run):
    for field in dataclasses.fields(Run):
        expected, value = getattr(run, field.name), getattr(found, field.name)
        if isinstance(value, np.ndarray) or field.name in ("weights", "losses"):
            assert_array_equal(np.array(value), np.array(expected))
            assert len(value) == len(expected)
        else:
            assert repr(value) == repr(expected), field.name
    assert repr(found.summaries) == repr(run.summaries)


LITTLE = Run(mask=np.ones((2, 1), bool), logs=[{"epoch": 1, "loss": 2.0}])


@pytest.mark.parametrize("run", [a_run(0), a_run(2), LITTLE])
def test_a_saved_run_is_the_same(tmp_path, run):
    path = tmp_path / "new" / "run.npz"
    run.save(path)
    found = Run.load(path)
    check_equal(found, run)
    found.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == path.read_bytes()


def test_a_failed_save_leaves_the_file_before(tmp_path, monkeypatch):
    path = tmp_path / "run.npz"
    a_run().save(path)
    before = path.read_bytes()

    failing = unittest.mock.Mock(side_effect=OSError("disk full"))
    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(OSError, match="disk full"):
        a_run(1).save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]


@pytest.mark.parametrize("content", [b"PK\x03\x04 cut off", b"", b"none"])
def test_other_files_are_refused(content, tmp_path):
    path = tmp_path / "other.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="`Run.save` wrote. .*other.npz', w"):
        Run.load(path)
    np.savez(path, other=np.ones(3))
    with pytest.raises(ValueError, match="`Run.save` wrote. .*other.npz', w"):
        Run.load(path)


def test_nonsense_is_refused(tmp_path):
    """Whatever byte is another one, and arrays of other shapes."""
    path = tmp_path / "run.npz"
    LITTLE.save(path)
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(
            whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :]
        )
        try:
            check_equal(Run.load(path), LITTLE)
        except ValueError as error:
            assert "`Run.save` wrote" in str(error)
    fields = np.frombuffer(b"{}", "uint8")
    for shape in ((), (3,)):
        np.savez(
            path, fields=fields, mask=np.ones(shape), weights=[], losses=[]
        )
        with pytest.raises(ValueError, match="`Run.save` wrote"):
            Run.load(path)
    for place in (tmp_path, tmp_path / "none.npz"):
        with pytest.raises(OSError, match=place.name):
            Run.load(place)


def test_names():
    run = a_run()
    assert run.view_names == ["original", "view 1", "view 2"]
    names = ["group 0, a", "group 1, b", "group 2, class 2", "group 3, class 3"]
    assert [run.group_name(group) for group in range(4)] == names
    assert Run(mask=run.mask).group_name(1) == "group 1"


def test_a_notebook_shows_a_line_and_a_table():
    run = a_run(2)
    assert repr(run) == "<Run: 2 records of 6 groups, 3 views>"
    shown = run._repr_html_()
    assert shown.count("<tr>") == 3 and len(shown) < 2000
    effective = run.records[1].summary["effective_views"]
    assert f"<td>{effective:.3g}</td>" in shown
