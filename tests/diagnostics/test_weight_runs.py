"""Runs in memory and in files."""

import dataclasses
import json
import os

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
        classes=np.arange(6) - 1,
        class_names=["a", "b"],
        images=random.integers(0, 256, (4, 3, 2, 5, 1), "uint8"),
        texts=[["ä ‖ b", "x", ""]] * 6,
    )
    for step in range(records):
        losses = random.random((6, 3)).astype("float32")
        losses[0, 0] = np.nan
        losses[1, 1] = -np.inf
        run.add(
            random.random((6, 3)),
            losses,
            step=step,
            epoch=1,
            lambda_p=[np.inf, np.nan][step],
        )
    run.logs = [{"epoch": 1, "step": 2, "loss": np.nan, "top": np.inf}]
    return run


@pytest.mark.parametrize("ending", ["npz", "json"])
@pytest.mark.parametrize("records", [0, 2])
def test_a_saved_run_is_the_same(tmp_path, ending, records):
    run = a_run(records)
    path = tmp_path / f"run.{ending}"
    run.save(path)
    found = Run.load(path)
    for field in dataclasses.fields(Run):
        expected, value = getattr(run, field.name), getattr(found, field.name)
        if field.name in ("weights", "losses", "mask", "classes", "images"):
            assert_array_equal(np.array(value), np.array(expected))
            assert len(value) == len(expected)
        else:
            assert repr(value) == repr(expected), field.name
    assert repr(found.summaries) == repr(run.summaries)
    found.save(tmp_path / f"again.{ending}")
    assert (tmp_path / f"again.{ending}").read_bytes() == path.read_bytes()


def test_json_is_json_for_everybody(tmp_path):
    a_run().save(tmp_path / "run.json")

    def refuse(name):
        raise ValueError(name)

    text = (tmp_path / "run.json").read_text(encoding="utf-8")
    found = json.loads(text, parse_constant=refuse)
    assert found["lambda_p"] == ["inf", None]
    losses = a_run().losses
    assert found["losses"][1][0][0] is None
    assert found["losses"][1][1][1] == "-inf"
    assert np.float32(found["losses"][1][5][2]) == losses[1][5, 2]
    assert len(str(found["losses"][1][5][2])) < 12


def test_a_run_with_little_in_it(tmp_path):
    run = Run(mask=np.ones((0, 1), bool), logs=[{"epoch": 1, "loss": 2.0}])
    run.save(tmp_path / "run.npz")
    found = Run.load(tmp_path / "run.npz")
    assert found.logs == run.logs
    assert found.classes is None and found.images is None
    assert found.view_names == ["original"]


def test_a_failed_save_leaves_the_file_before(tmp_path, monkeypatch):
    path = tmp_path / "run.npz"
    a_run().save(path)
    before = path.read_bytes()

    def fail(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        a_run(1).save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]


@pytest.mark.parametrize("ending", ["npz", "json"])
def test_other_files_are_refused(tmp_path, ending):
    path = tmp_path / f"other.{ending}"
    if ending == "npz":
        np.savez(path, other=np.ones(3))
    else:
        path.write_text("[1, 2]", encoding="utf-8")
    with pytest.raises(ValueError, match="`Run.save` wrote. Received: path"):
        Run.load(path)


@pytest.mark.parametrize(
    "name, content",
    [
        ("cut.npz", b"PK\x03\x04 cut off"),
        ("empty.npz", b""),
        ("words.npz", b"no archive"),
        ("cut.json", b'{"mask": [['),
        ("part.json", b'{"mask": [[true, true]]}'),
    ],
)
def test_broken_files_are_named(name, content, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"`Run.save` wrote. .*{name}', w"):
        Run.load(path)


def test_records_must_fit_the_probe():
    run = a_run()
    good, bad = np.ones((6, 3)), np.ones((6, 2))
    with pytest.raises(ValueError, match="`losses` must have.*Received"):
        run.add(good, bad, step=1, epoch=1)
    with pytest.raises(ValueError, match="`weights` must have.*Received"):
        run.add(bad, good, step=1, epoch=1)
    assert len(run.weights) == len(run.losses) == len(run.steps) == 2


def test_names():
    run = a_run()
    assert run.view_names == ["original", "view 1", "view 2"]
    assert [run.class_name(i) for i in (0, 1, 2)] == ["a", "b", "2"]
    assert [run.class_name(i) for i in (-1,)] == ["unknown"]
