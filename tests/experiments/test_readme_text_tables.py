import json

from experiments import readme_text_tables
from experiments.readme_tables import markdown
from experiments.readme_tables import origin
from experiments.readme_tables import spread
from tests.experiments import cell_records


def test_generation():
    quartiles = {"median": 20.04, "q25": 18.0, "q75": 22.0}
    arm = {"sentences_per_cpu_second": quartiles, "ours_to_this": quartiles}
    record = {"sizes": {"tiny": {"arms": {"nlpaug": arm}}}}
    text = readme_text_tables.generation(record, markdown)
    assert "| BERT-tiny: nlpaug | 20 | 20.0 | 18.0 to 22.0 |\n" in text


def test_glue(tmp_path):
    def write(table, values, labels):
        def make(score, seed):
            return {
                "command": "python -m examples.glue all",
                "environment": cell_records.ENVIRONMENT,
                "hours": 1.0,
                "method": next(iter(values)).split()[0],
                "seed": seed,
                "scores": {"last": {"accuracy": score}},
                "settings": {
                    "task": "mrpc",
                    "labels": labels,
                    "student": "small_bert",
                    "data": None,
                },
            }

        cell_records.write(tmp_path / "small", table, values, make, ["mrpc"])

    write("table3", {"baseline": [0.61]}, None)
    write("table3", {"mmel-h": [0.65]}, "teacher")
    write("table4", {"mmel-h original labels": [0.5, 0.7]}, "original")
    constant = {
        "command": "python -m experiments.glue_constant",
        "environment": cell_records.ENVIRONMENT,
        "scores": {"mrpc": {"accuracy": 0.684, "f1": 0.8}},
    }
    (tmp_path / "glue_constant.json").write_text(json.dumps(constant))
    text = readme_text_tables.glue(tmp_path, markdown, spread, origin)
    lines = text.splitlines()
    assert lines[0] == "| method | mrpc accuracy |"
    # The run that both tables have counts once.
    assert lines[2:6] == [
        "| `constant` | 68.4 |",
        "| `baseline` | 61.0 (1) |",
        "| `mmel-h`, teacher labels | 65.0 (1) |",
        "| `mmel-h`, original labels | 60.0 ± 14.1 (2) |",
    ]
    assert "`python -m examples.glue all`: commit 0123456," in text
    assert "`python -m experiments.glue_constant`: commit 0123456," in text
    assert text.count("commit 0123456,") == 2


def test_no_records(tmp_path):
    assert readme_text_tables.glue(tmp_path, markdown, spread, origin) == ""
    found = readme_text_tables.quickstart(tmp_path, markdown, spread, origin)
    assert found == ""


def test_quickstart(tmp_path):
    runs = [
        {"method": method, "scores": {"accuracy": accuracy, "loss": 0.25}}
        for method, accuracy in [("uniform", 0.8), ("uniform", 0.9), ("x", 1)]
    ]
    record = {
        "command": "c",
        "environment": cell_records.ENVIRONMENT,
        "runs": runs,
    }
    (tmp_path / "text_quickstart.json").write_text(json.dumps(record))
    text = readme_text_tables.quickstart(tmp_path, markdown, spread, origin)
    assert "| `uniform` | 2 | 85.0 ± 7.1 | 0.250 ± 0.000 |\n" in text
    assert "| `x` | 1 | 100.0 | 0.250 |\n" in text
