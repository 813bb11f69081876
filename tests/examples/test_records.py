import json
import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest

import keras_mmel
from examples import records

RECORD = {
    "command": "python -m examples.cifar --limit 10",
    "method": "mmel-h",
    "seed": 0,
    "settings": {"lambda_p": 1.0, "views": [1, 2]},
    "curves": {"loss": [2.5, 1.25]},
    "scores": {"accuracy": 0.5, "best": None, "done": True},
}


class TestEnvironment:
    def test_versions_are_those_of_the_process(self):
        found = records.environment()
        assert found["keras"] == keras.__version__
        assert found["numpy"] == np.__version__
        assert found["keras_mmel"] == keras_mmel.__version__
        assert found["python"] == ".".join(map(str, sys.version_info[:3]))
        assert found["cores"] >= 1

    def test_commit_and_dirty_flag(self, tmp_path, monkeypatch):
        def git(*words):
            settings = ["-c", "user.name=n", "-c", "user.email=e@localhost"]
            done = subprocess.run(
                ["git", "-C", str(tmp_path), *settings, *words],
                check=True,
                capture_output=True,
                text=True,
            )
            return done.stdout.strip()

        monkeypatch.setattr(records, "ROOT", tmp_path)
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
        assert records.environment()["dirty"] is False
        code.write_text("2")
        assert records.environment()["dirty"] is True

    def test_outside_a_checkout_there_is_no_commit(self, tmp_path, monkeypatch):
        monkeypatch.setattr(records, "ROOT", tmp_path)
        monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
        found = records.environment()
        assert found["commit"] is None
        assert found["dirty"] is None

    def test_fits_a_record(self, tmp_path):
        records.write_record(tmp_path / "a.json", records.environment())
        assert len(records.read_records(tmp_path)) == 1


class TestCommandLine:
    def test_no_path_of_the_machine_is_left(self):
        script = records.ROOT / "examples" / "cifar.py"
        words = ["--images", "/disk/me/tfds", "--out=/tmp/out", "--depth"]
        assert records.command_line([str(script), *words]) == (
            "python -m examples.cifar --images tfds --out=out --depth"
        )

    def test_places_that_no_result_depends_on_are_left_out(self):
        words = ["/opt/run.py", "--data_dir", "../tfds", "--depth", "8"]
        words += ["--work_dir=/tmp/a=b", "--seeds", "0", "1", "--work_dir", "w"]
        assert records.command_line(words) == (
            "python run.py --depth 8 --seeds 0 1"
        )
        assert records.command_line(["/opt/tool", "--work_dir"]) == (
            "python tool"
        )

    def test_relative_paths_stay(self):
        assert records.command_line(["run.py", "--out", "results/a"]).endswith(
            "--out results/a"
        )

    def test_a_script_elsewhere_keeps_its_name_only(self):
        assert records.command_line(["/opt/bin/tool"]) == "python tool"


class TestWriteAndRead:
    def test_round_trip(self, tmp_path):
        records.write_record(tmp_path / "new" / "a.json", RECORD)
        assert records.read_records(tmp_path) == [RECORD]

    def test_order_of_files_and_folders(self, tmp_path):
        for name in ("b/1", "a/2", "a/10"):
            records.write_record(tmp_path / f"{name}.json", {"name": name})
        names = [record["name"] for record in records.read_records(tmp_path)]
        assert names == ["a/10", "a/2", "b/1"]

    def test_missing_folder_has_no_records(self, tmp_path):
        assert records.read_records(tmp_path / "none") == []

    @pytest.mark.parametrize("text", ["", '{"a": ', "[]", "{}", "null"])
    def test_what_is_no_record_is_named(self, tmp_path, text):
        (tmp_path / "broken.json").write_text(text)
        with pytest.raises(ValueError, match="must be.*broken.json"):
            records.read_records(tmp_path)

    def test_bytes_do_not_depend_on_the_order_of_keys(self, tmp_path):
        records.write_record(tmp_path / "a.json", RECORD)
        backwards = dict(reversed(list(RECORD.items())))
        records.write_record(tmp_path / "b.json", backwards)
        first, second = (tmp_path / f"{n}.json" for n in "ab")
        assert first.read_bytes() == second.read_bytes()

    def test_numpy_values_become_plain_ones(self, tmp_path):
        path = tmp_path / "a.json"
        record = {
            "mean": np.float32(0.5),
            "count": np.int64(3),
            "good": np.bool_(True),
            "curve": np.array([[1.5, 2.0]]),
        }
        records.write_record(path, record)
        assert json.loads(path.read_text()) == {
            "mean": 0.5,
            "count": 3,
            "good": True,
            "curve": [[1.5, 2.0]],
        }

    def test_curves_take_one_line_and_strings_are_untouched(self, tmp_path):
        path = tmp_path / "a.json"
        record = {"curve": [1.0, -2e-7, 3], "text": "[\n 1,\n 2\n ]"}
        records.write_record(path, record)
        assert json.loads(path.read_text()) == record
        assert '"curve": [1.0, -2e-07, 3]' in path.read_text()

    @pytest.mark.parametrize("value", [float("nan"), np.float32("inf")])
    def test_numbers_that_are_not_finite(self, value, tmp_path):
        with pytest.raises(ValueError, match="JSON compliant"):
            records.write_record(tmp_path / "a.json", {"a": [0.0, value]})

    @pytest.mark.parametrize("value", ["/a/b", "run --data_dir=/a/b", "x '/a'"])
    def test_absolute_paths(self, value, tmp_path):
        with pytest.raises(ValueError, match="no absolute path. Received"):
            records.write_record(tmp_path / "a.json", {"a": value})

    def test_what_json_cannot_hold(self, tmp_path):
        with pytest.raises(TypeError, match="of type object"):
            records.write_record(tmp_path / "a.json", {"a": object()})

    def test_a_failed_write_keeps_the_old_record(self, tmp_path, monkeypatch):
        path = tmp_path / "a.json"
        records.write_record(path, {"run": 1})

        def fail(*_):
            raise OSError("disk full")

        monkeypatch.setattr(records.os, "replace", fail)
        with pytest.raises(OSError, match="disk full"):
            records.write_record(path, {"run": 2})
        assert json.loads(path.read_text()) == {"run": 1}
        assert [p.name for p in pathlib.Path(tmp_path).iterdir()] == ["a.json"]
