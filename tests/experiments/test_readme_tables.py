"""Tables from records that the test makes."""

import json

import numpy as np
import pytest
import scipy.stats

from examples import records
from experiments import readme_tables
from tests.experiments import cell_records


def around(name, content="old\n"):
    return (
        f"before\n<!-- table {name} -->\n{content}<!-- end {name} -->\nafter\n"
    )


def cells(text):
    """Cells of all table rows but the rulers, by their first cell."""
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    split = [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows]
    return {row[0]: row[1:] for row in split if row[0] != "---"}


def write_cifar(results, accuracy):
    """Records of few labels: accuracy by number of images and method."""

    def make(score, seed):
        return {
            "command": "python -m examples.cifar --method da",
            "seed": seed,
            "environment": cell_records.ENVIRONMENT,
            "hours": 0.1,
            "scores": {
                "accuracy": score,
                "nll": 1.5,
                "ece": 0.123,
                "accuracy_flipped": score,
                "accuracy_shifted": score / 2,
            },
            "settings": {
                "depth": 8,
                "limit": limit,
                "epochs": 60,
                "batch_size": 50,
            },
        }

    for limit, values in accuracy.items():
        cell_records.write(
            results / "small", "rivals", values, make, [f"-{limit}-"]
        )


def test_no_record_is_said_so(tmp_path):
    for name in readme_tables.TABLES:
        text = readme_tables.updated(around(name), tmp_path)
        assert text == around(name, "\nNo record yet.\n\n")
        assert readme_tables.updated(text, tmp_path) == text


def test_unknown_table_is_refused(tmp_path):
    with pytest.raises(ValueError, match="Received: 'other'"):
        readme_tables.updated(around("other"), tmp_path)


def test_text_outside_the_markers_stays(tmp_path):
    text = "# Title\n\n| a | b |\n| --- | ---: |\n"
    assert readme_tables.updated(text, tmp_path) == text


def test_cifar_against_numpy(tmp_path):
    accuracy = {
        "uniform": [0.5, 0.54, 0.52],
        "mmel-h": [0.51, 0.56, 0.5],
        "da": [0.4, 0.41],
    }
    write_cifar(tmp_path, {1000: accuracy})
    text = readme_tables.updated(around("cifar"), tmp_path)
    assert "ResNet-8 on CIFAR-10, 100 images a class" in text
    assert "`python -m experiments.reproduce rivals --scale small`: com" in text
    rows = cells(text)
    # In the order of the cells, without those that have not run.
    assert list(rows)[1:] == ["`da`", "`uniform`", "`mmel-h`"]
    for method, values in accuracy.items():
        row = rows[f"`{method}`"]
        assert row[0] == str(len(values))
        mean, deviation = 100 * np.mean(values), 100 * np.std(values, ddof=1)
        assert row[1] == f"{mean:.2f} ± {deviation:.2f}"
        gain = 100 * (np.mean(values) - np.mean(accuracy["uniform"]))
        assert row[2] == ("" if method == "uniform" else f"{gain:+.2f}")
        assert row[4:6] == ["1.500", "12.30"]
        assert row[7] == f"{mean / 2:.2f}"


def test_another_number_of_images_is_another_table(tmp_path):
    write_cifar(tmp_path, {1000: {"da": [0.4]}, 2500: {"da": [0.5]}})
    text = readme_tables.updated(around("cifar"), tmp_path)
    assert text.count("| --- |") == 2
    assert "250 images a class" in text


def test_quickstart_against_numpy(tmp_path):
    accuracy = {"da": [0.8, 0.9], "uniform": [0.9, 0.94], "mmel-h": [0.9, 0.9]}
    record = {
        "command": "python -m examples.quickstart",
        "environment": {**cell_records.ENVIRONMENT, "dirty": True},
        "settings": {"seeds": 2},
        "cpu_seconds": 99.6,
        "runs": [
            {
                "method": method,
                "seed": seed,
                "scores": {
                    "accuracy": value,
                    "accuracy_shifted": value / 2,
                    "test_loss": 0.25,
                    "cpu_seconds": 3.0,
                },
            }
            for method, values in accuracy.items()
            for seed, value in enumerate(values)
        ],
    }
    records.write_record(tmp_path / "quickstart.json", record)
    text = readme_tables.updated(around("quickstart"), tmp_path)
    assert "100 CPU seconds" in text
    assert "commit 0123456 with changes, 2 cores of an Made Up 1" in text
    rows = cells(text)
    assert rows["`da`"][:2] == ["85.00 ± 7.07", "-7.00 ± 3.00"]
    assert rows["`uniform`"][:3] == ["92.00 ± 2.83", "", "46.00 ± 1.41"]
    assert rows["`mmel-h`"][1] == "-2.00 ± 2.00"
    # Two seeds would have to agree far better than that.
    assert "No difference to `uniform` is significant" in text


@pytest.mark.parametrize("shift", [0.015, 0.025])
def test_verdict_against_a_paired_test(shift):
    uniform = np.array([0.5, 0.6, 0.55, 0.52])
    other = uniform + shift + np.array([0.01, -0.01, 0.02, 0.0])
    scores = {"uniform": uniform, "mmel-h": other}
    found = readme_tables.verdict(
        {name: dict(enumerate(values)) for name, values in scores.items()}
    )
    p = scipy.stats.ttest_rel(other, uniform).pvalue
    assert ("of `mmel-h` (+" in found) == (p < 0.05)
    assert (p < 0.05) == (shift == 0.025)


def test_verdict_without_a_clear_difference():
    scores = {"uniform": {0: 0.5, 1: 0.6}, "mmel-h": {0: 0.4, 1: 0.7}}
    assert readme_tables.verdict(scores).startswith("No difference")


def test_benchmarks(tmp_path):
    figures = {
        "cpu_ms_per_step": 2.345,
        "ratio_to_plain": {"q25": 0.9, "median": 1.01, "q75": 1.1},
    }
    case = {"examples": 4, "views": 10, "methods": {"hard": figures}}
    shared = {"command": "python -m x", "environment": cell_records.ENVIRONMENT}
    folder = tmp_path / "benchmarks"
    records.write_record(
        folder / "step.json",
        {**shared, "jit_compile": False, "cases": {"mlp": case}},
    )
    spread = {"q25": 9.123, "median": 9.876, "q75": 10.5}
    records.write_record(
        folder / "pipeline.json",
        {
            **shared,
            "views": 10,
            "batch_size": 128,
            "pipelines": {"group_views": {"cpu_us_per_view": spread}},
        },
    )
    rows = cells(readme_tables.updated(around("benchmarks"), tmp_path))
    assert rows["mlp, hard"] == ["4 x 10", "2.35", "1.010", "0.900 to 1.100"]
    assert rows["10 views, batches of 128"] == ["cpu us per view"]
    assert rows["group views"] == ["9.88 (9.12 to 10.50)"]


def test_diagnostics(tmp_path):
    case = {
        "cpu_ms_per_step": 12.345,
        "cpu_ms_per_look": 45.6,
        "looks_per_fit": 3.0,
        "epochs": 12,
        "steps_per_epoch": 200,
        "share_of_looks": 0.0123,
        "ratio_to_plain": {"q25": 0.9, "median": 1.01, "q75": 1.1},
    }
    records.write_record(
        tmp_path / "benchmarks" / "diagnostics.json",
        {
            "command": "python -m x",
            "environment": cell_records.ENVIRONMENT,
            "cases": {"convnet": case},
        },
    )
    rows = cells(readme_tables.updated(around("diagnostics"), tmp_path))
    looks = "3.0 in 12 epochs of 200 steps"
    ratio = "1.010 (0.900 to 1.100)"
    assert rows["convnet"] == ["12.35", "46", looks, "1.23", ratio]


def test_check_tells_and_changes_nothing(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(around("cifar"))
    write_cifar(tmp_path, {1000: {"da": [0.5]}})
    arguments = ["--readme", str(readme), "--results", str(tmp_path)]
    with pytest.raises(SystemExit, match="differ from the records"):
        readme_tables.main(["--check", *arguments])
    assert readme.read_text() == around("cifar")
    readme_tables.main(arguments)
    assert "`da`" in readme.read_text()
    readme_tables.main(["--check", *arguments])


def test_records_of_the_project_can_be_read():
    found = records.read_records(readme_tables.ROOT / "experiments" / "results")
    for record in found:
        assert json.dumps(record["environment"])
        assert readme_tables.origin(record).startswith("`python -m ")
