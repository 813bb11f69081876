import pytest

from experiments.reproduce import __main__ as command_line
from experiments.reproduce import registry
from experiments.reproduce.cells import Cell


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A table of two cells; seed 1 of one fails."""
    name = "tests.experiments.reproduce.toy_script"

    def cell(column, seeds, *words):
        arguments = ("--out", str(tmp_path), "--method", column, *words)
        first = (name, "prepare", str(tmp_path)) if words else None
        return Cell(
            *("toy", "row", column, column, name, arguments, seeds, ("s",)),
            first=first,
        )

    cells = [cell("a", (0, 1), "--needs"), cell("b", (2,))]
    monkeypatch.setitem(registry.TABLES, "toy", lambda scale, places: cells)
    return tmp_path


def test_runs_what_has_no_record(toy, capfd):
    assert command_line.main(["toy", "--jobs", "2"]) == 1
    names = sorted(path.name for path in toy.iterdir())
    assert names == ["0.json", "2.json", "prepared"]
    captured = capfd.readouterr()
    assert "# 0 of 3 runs are done" in captured.out
    (line,) = [x for x in captured.err.splitlines() if x.startswith("failed")]
    assert line.endswith("--seeds 1")
    kept = (toy / "0.json").stat().st_mtime_ns
    assert command_line.main(["toy"]) == 1
    assert "# 2 of 3 runs are done" in capfd.readouterr().out
    assert (toy / "0.json").stat().st_mtime_ns == kept
    # Once for both seeds, and again for what was left.
    assert (toy / "prepared").read_text() == "xx"


def test_nothing_runs_after_a_failed_preparation(toy, capfd):
    (toy / "prepared").mkdir()
    assert command_line.main(["toy", "--only", "a"]) == 1
    assert [path.name for path in toy.iterdir()] == ["prepared"]
    assert "failed: python -m " in capfd.readouterr().err


@pytest.mark.parametrize("words", [[], ["--dry-run"]])
def test_a_broken_record_is_named(words, toy, capfd):
    (toy / "1.json").write_text("[]")
    assert command_line.main(["toy", *words]) == 1
    assert "1.json" in capfd.readouterr().err
    assert not (toy / "prepared").exists()


def test_list(capsys):
    # A method is no part of another.
    words = ["rivals", "rivals", "--only", "da", "--list"]
    assert command_line.main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["rivals/cifar10-resnet20-da  5 seeds", "1 cells, 5 runs"]


def test_dry_run(toy, capsys):
    assert command_line.main(["toy", "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(f"prepare {toy}")
    assert lines[-1] == "# 0 of 3 runs are done"
    assert len(lines) == 1 + 3 + 1
    assert list(toy.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["table9"], "invalid choice: 'table9'"),
        (["table1", "--only", "resnet99"], "Received: resnet99"),
        (["table1", "--jobs", "0"], "--jobs must be at least 1"),
    ],
)
def test_wrong_arguments(words, message, capsys):
    with pytest.raises(SystemExit) as stop:
        command_line.main(words)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
