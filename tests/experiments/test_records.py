import json
import subprocess
import sys

import keras
import numpy as np
import pytest

import keras_mmel
from experiments import records

RECORD = {
    "command": "python -m examples.cifar --limit 10",
    "settings": {"lambda_p": 1.0, "views": [1, 2]},
    "curves": {"loss": [2.5, -2e-7]},
    "scores": {"accuracy": 0.5, "best": None, "done": True},
    "text": "[\n 1,\n 2\n ]",
}


class TestEnvironment:
    def test_versions_are_those_of_the_process(self, tmp_path):
        found = records.environment()
        assert found["keras"] == keras.__version__
        assert found["numpy"] == np.__version__
        assert found["keras_mmel"] == keras_mmel.__version__
        assert found["python"] == ".".join(map(str, sys.version_info[:3]))
        assert found["cores"] >= 1
        records.write_record(tmp_path / "a.json", found)

    def test_commit_and_dirty_flag(self, tmp_path, monkeypatch):
        def git(*words):
            settings = ["-c", "user.name=n", "-c", "user.email=e@localhost"]
            command = ["git", "-C", str(tmp_path), *settings, *words]
            done = subprocess.run(command, check=True, capture_output=True)
            return done.stdout.decode().strip()

        monkeypatch.setattr(records, "ROOT", tmp_path)
        monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
        found = records.environment()
        assert (found["commit"], found["dirty"]) == (None, None)
        code = tmp_path / "examples" / "a.py"
        code.parent.mkdir()
        code.write_text("1")
        git("init", "-q")
        git("add", ".")
        git("commit", "-q", "-m", "one")
        found = records.environment()
        assert found["commit"] == git("rev-parse", "HEAD")
        assert found["dirty"] is False
        (tmp_path / "notes.md").write_text("not code")
        record = tmp_path / "experiments" / "results" / "a.json"
        record.parent.mkdir(parents=True)
        record.write_text("{}")
        assert records.environment()["dirty"] is False
        code.write_text("2")
        assert records.environment()["dirty"] is True


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        # No path of the machine is left, of the script neither.
        (
            ["examples/cifar.py", "--images", "/disk/tfds", "--out=/tmp/o"],
            "-m examples.cifar --images tfds --out=o",
        ),
        (["/opt/bin/tool", "--out", "results/a"], "tool --out results/a"),
        # Nor places that no result depends on.
        (
            ["/opt/run.py", "--data_dir", "../tfds", "--depth", "8"]
            + ["--work_dir=/tmp/a=b", "--seeds", "0", "1", "--work_dir", "w"],
            "run.py --depth 8 --seeds 0 1",
        ),
        (["/opt/tool", "--work_dir"], "tool"),
    ],
)
def test_command_line(words, expected, monkeypatch):
    monkeypatch.chdir(records.ROOT)
    assert records.command_line(words) == f"python {expected}"


class TestWriteAndRead:
    def test_round_trip_in_the_order_of_files_and_folders(self, tmp_path):
        assert records.read_records(tmp_path / "none") == []
        for name in ("b/1", "a/2", "a/10"):
            path = tmp_path / f"{name}.json"
            records.write_record(path, RECORD | {"name": name})
        found = records.read_records(tmp_path)
        assert [record["name"] for record in found] == ["a/10", "a/2", "b/1"]
        assert found[0] == RECORD | {"name": "a/10"}

    @pytest.mark.parametrize("text", ["", '{"a": ', "[]", "{}", "null"])
    def test_what_is_no_record_is_named(self, tmp_path, text):
        (tmp_path / "broken.json").write_text(text)
        with pytest.raises(ValueError, match="must be.*broken.json"):
            records.read_records(tmp_path)

    def test_bytes_do_not_depend_on_the_order_of_keys(self, tmp_path):
        first, second = tmp_path / "a.json", tmp_path / "b.json"
        records.write_record(first, RECORD)
        records.write_record(second, dict(reversed(list(RECORD.items()))))
        assert first.read_bytes() == second.read_bytes()
        # A curve takes one line.
        assert '"loss": [2.5, -2e-07]' in first.read_text()

    def test_numpy_values_become_plain_ones(self, tmp_path):
        path = tmp_path / "a.json"
        values = [np.float32(0.5), np.int64(3), np.bool_(True)]
        records.write_record(path, {"a": values, "b": np.array([[1.5, 2.0]])})
        found = json.loads(path.read_text())
        assert found == {"a": [0.5, 3, True], "b": [[1.5, 2.0]]}

    @pytest.mark.parametrize(
        ("value", "error", "message"),
        [
            (float("nan"), ValueError, "JSON compliant"),
            (np.float32("inf"), ValueError, "JSON compliant"),
            ("/a/b", ValueError, "no absolute path. Received: '/a/b'"),
            ("run --data_dir=/a/b", ValueError, "no absolute path"),
            ("x '/a'", ValueError, "no absolute path"),
            (object(), TypeError, "of type object"),
        ],
    )
    def test_what_has_no_place_in_a_record(
        self, value, error, message, tmp_path
    ):
        path = tmp_path / "a.json"
        records.write_record(path, {"run": 1})
        with pytest.raises(error, match=message):
            records.write_record(path, {"run": 2, "a": [0.0, value]})
        assert json.loads(path.read_text()) == {"run": 1}
