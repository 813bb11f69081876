import pytest

from experiments.reproduce import runner
from experiments.reproduce.cells import Cell

SCRIPT = "tests.experiments.reproduce.toy_script"


@pytest.fixture
def cell(tmp_path):
    def make(name, seeds=(0,), **settings):
        words = ("--name", name, "--out", str(tmp_path))
        return Cell(
            "toy", name, SCRIPT, words, seeds, ("s",), "r", "c", **settings
        )

    return make


@pytest.fixture
def run(tmp_path):
    def call(*cells, jobs=2):
        lines = []
        runs = runner.runs_of(cells)
        done = runner.Runner(tmp_path / "logs", jobs, lines.append).run(runs)
        return done, lines

    return call


def test_each_seed_leaves_a_record(cell, run, tmp_path):
    failed, lines = run(cell("a", (0, 1)), cell("b"))
    assert failed == []
    names = {path.name for path in tmp_path.glob("*.json")}
    assert names == {"a-0.json", "a-1.json", "b-0.json"}
    assert lines[0] == "0 of 3 runs are done"
    assert lines[-1].startswith("[3/3] toy/")


def test_a_failure_does_not_stop_the_others(cell, run, tmp_path):
    failed, lines = run(cell("bad", (0, 1)), cell("b"), jobs=1)
    assert [r.name for r in failed] == ["toy/bad seed 0", "toy/bad seed 1"]
    assert (tmp_path / "b-0.json").exists()
    (line,) = [line for line in lines if "toy/bad seed 1" in line]
    assert "FAILED: exit code 1, toy-bad-seed-1.log" in line
    assert "ValueError: this one is bad" in line
    log = (tmp_path / "logs" / "toy-bad-seed-1.log").read_text()
    assert "Traceback" in log


def test_a_run_without_its_record_has_failed(cell, run):
    failed, lines = run(cell("lost"))
    assert len(failed) == 1
    assert "ended without its record" in lines[-1]


def test_what_has_a_record_is_not_run_again(cell, run, tmp_path):
    run(cell("a"))
    kept = (tmp_path / "a-0.json").stat().st_mtime_ns
    failed, lines = run(cell("a", (0, 1)))
    assert failed == []
    assert lines[0] == "1 of 2 runs are done"
    assert (tmp_path / "a-0.json").stat().st_mtime_ns == kept
    assert (tmp_path / "a-1.json").exists()


def test_a_broken_record_is_named_before_anything_runs(cell, run, tmp_path):
    (tmp_path / "b-0.json").write_text('{"method": "mm')
    with pytest.raises(ValueError, match="Delete this file.*b-0.json"):
        run(cell("a"), cell("b"))
    assert not (tmp_path / "a-0.json").exists()


def test_paths_are_relative_to_where_the_command_was_given(
    run, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    words = ("--name", "a", "--out", ".")
    here = Cell("toy", "a", SCRIPT, words, (0,), ("s",), "r", "c")
    failed, _ = run(here)
    assert failed == []
    assert (tmp_path / "a-0.json").exists()


def test_a_run_of_two_tables_comes_once(cell):
    assert len(runner.runs_of([cell("a"), cell("a"), cell("b")])) == 2


def test_what_comes_first_runs_once(cell, run, tmp_path):
    first = ((SCRIPT, "--name", "prepare", "--out", str(tmp_path)),)
    failed, _ = run(cell("a", (0, 1), first=first), cell("b", first=first))
    assert failed == []
    assert (tmp_path / "prepared").read_text() == "x"


def test_nothing_runs_after_a_failed_preparation(cell, run, tmp_path):
    first = ((SCRIPT, "--name", "bad", "--out", str(tmp_path)),)
    failed, lines = run(cell("a", first=first), cell("b"))
    assert [r.cell.name for r in failed] == ["a"]
    assert any("what comes first failed: exit code 1" in line for line in lines)
    assert not (tmp_path / "a-0.json").exists()
