"""Tables and figures, from records that the test makes."""

import numpy as np
import pytest
import scipy.stats

from experiments import RESULTS
from experiments import comparisons
from experiments import figures
from experiments import markdown
from experiments import paper_tables
from experiments import records
from experiments import report
from experiments import tables
from experiments.reproduce.cells import Cell
from experiments.reproduce.paper import PaperValue
from experiments.reproduce.paper import read

ENVIRONMENT = {
    "accelerators": [],
    "cores": 2,
    "cpu": "Made Up 1",
    "commit": "0123456789",
    "dirty": False,
    "keras": "3.15.1",
    "backend": "tensorflow",
}
MADE = {
    "command": "python -m experiments.made_up",
    "environment": ENVIRONMENT,
    "hours": 0.5,
}
ACCURACY = {
    "da": [0.4, 0.41],
    "uniform": [0.5, 0.54, 0.52],
    "mmel-h": [0.51, 0.56, 0.55],
}


def around(name, content="old\n"):
    return (
        f"before\n<!-- table {name} -->\n{content}<!-- end {name} -->\nafter\n"
    )


def cells(text):
    """Cells of all rows but the rulers, by the first that is not empty."""
    found = {}
    for line in text.splitlines():
        if line.startswith("| ") and "---" not in line:
            row = [cell.strip() for cell in line.split("|")[1:-1]]
            found[row[0] or row[1]] = row
    return found


def p_of(one, other):
    return f"{scipy.stats.ttest_rel(one, other).pvalue:.3f}"


def write_rivals(results):
    """Made-up records in the places where some cells have theirs."""
    found = {
        line.cell.column: line.cell
        for line in paper_tables.lines_of("rivals", "small", results)
        if "1000" in line.cell.row
    }
    for column, values in ACCURACY.items():
        for seed, value in enumerate(values):
            record = MADE | {
                "seed": seed,
                "scores": {"accuracy": value, "nll": 1.5, "ece": 0.123},
                "curves": {"effective_views": [5.0, 4.5]},
            }
            records.write_record(found[column].record_path(seed), record)


class TestPages:
    def test_no_record_is_said_so(self, tmp_path):
        names = [name for name in tables.TABLES if "-" not in name]
        for name in {*names, "small-rivals", "small-table4"} - {"averages"}:
            text = tables.updated(around(name), tmp_path)
            assert text == around(name, "\nNo record yet.\n\n"), name
            assert tables.updated(text, tmp_path) == text

    def test_what_is_no_table(self, tmp_path):
        text = "# Title\n\n| a | b |\n| --- | ---: |\n<!-- table helps -->\n"
        assert tables.updated(text, tmp_path) == text
        with pytest.raises(ValueError, match="Received: 'other'"):
            tables.updated(around("other"), tmp_path)

    def test_check_tells_and_changes_nothing(self, tmp_path, capsys):
        write_rivals(tmp_path / "results")
        page = tmp_path / "docs" / "deep" / "page.md"
        page.parent.mkdir(parents=True)
        page.write_text(around("small-rivals"))
        (tmp_path / "README.md").write_text("none")
        words = ["--root", str(tmp_path)]
        words += ["--results", str(tmp_path / "results")]
        assert report.main(["--check", *words]) == 1
        assert "docs/deep/page.md" in capsys.readouterr().err
        assert page.read_text() == around("small-rivals")
        assert report.main(["--figures", *words]) == 0
        assert "| uniform | 3 |" in page.read_text()
        drawn = {path.name for path in (tmp_path / "docs/images").iterdir()}
        assert drawn == {"small-rivals.png", "small-lambda_p.png"}
        assert report.main(["--check", *words]) == 0


class TestPaperTables:
    def test_small_against_numpy(self, tmp_path):
        write_rivals(tmp_path)
        text = paper_tables.table_of("rivals", "small", tmp_path)
        assert "reproduce rivals --scale small`, commit 0123456," in text
        assert "Reference: `uniform` of the same row" in text
        _, *rows = cells(text).values()
        # In the order of the cells, without those that have not run.
        assert [row[1] for row in rows] == [*ACCURACY]
        uniform = ACCURACY["uniform"]
        for row, values in zip(rows, ACCURACY.values(), strict=True):
            assert row[2] == str(len(values))
            assert row[3] == markdown.spread(100 * np.array(values))
            assert row[6:] == ["1.500", "12.30", "4.50", "0.500"]
            if values is uniform:
                assert row[4:6] == ["", ""]
                continue
            same = uniform[: len(values)]
            gain = 100 * (np.mean(values) - np.mean(same))
            assert row[4] == f"{gain:+.2f}"
            assert row[5].startswith(f"{p_of(values, same)} (")

    def test_beside_the_paper(self, monkeypatch, tmp_path):
        paper = PaperValue((92.0, 80.0), (0.1, 0.2))

        def line(column, *scores):
            names = ("a", "b.c")
            cell = Cell("t", "row", column, "n", "m", (), (0,), names, paper)
            made = [
                MADE | {"seed": seed, "scores": {"a": a, "b": {"c": c}}}
                for seed, (a, c) in enumerate(scores)
            ]
            return paper_tables.Line(cell, tuple(made))

        lines = [
            line("uniform", (0.9, 0.7), (0.91, 0.71)),
            line("mmel-h", (0.92, 0.75), (0.94, 0.77)),
            line("mmel-s"),
        ]
        monkeypatch.setattr(paper_tables, "lines_of", lambda *_: lines)
        rows = cells(paper_tables.table_of("table1", "paper", tmp_path))
        printed = "92.00 ± 0.10 / 80.00 ± 0.20"
        assert rows["row"][3] == "90.50 ± 0.71 / 70.50 ± 0.71"
        assert rows["mmel-h"][4:7] == [
            *(printed, "+1.00 / -4.00", "+2.50 / +5.50")
        ]
        # A cell without a record stands there for the paper's number.
        assert rows["mmel-s"][2:7] == ["0", "", printed, "", ""]


def test_a_comparison_says_what_was_asked(tmp_path):
    def scores(nll):
        of_views = {"mean_accuracy": 0.5, "worst_accuracy": 0.5, "mean_ece": 0}
        of_all = {"original_accuracy": 0.5, "worst_nll": 0, "original_ece": 0}
        return of_views | of_all | {"original_nll": nll}

    log = {"accuracy": 1.0, "effective_views": 4.0}
    runs = [
        {"method": method, "seed": seed, "scores": scores(nll), "log": log}
        for method, values in (("uniform", (2, 3)), ("hard 1", (1.5, 2.0)))
        for seed, nll in enumerate(values)
    ]
    record = MADE | {"baseline": "uniform", "runs": runs, "rates": {"x": 3e-3}}
    changed = {"dirty": True, "accelerators": ["GPU X"]}
    record["environment"] = ENVIRONMENT | changed
    text = comparisons.compared(record, ("original_nll", "hard 1"))
    # The differences are -0.5 and -1, and t is -3 with one degree of freedom.
    assert "hard 1 minus uniform, is -0.75 (95 %: -3.93 to +2.43)" in text
    assert "p = 0.2," in text and "Rates, chosen on held-out examples" in text
    assert "is +0.00 points (95 %: +0.00 to +0.00).\n" in text
    assert "commit 0123456 with changes, GPU X, Keras 3.15.1" in text
    text = comparisons.compared(record, ("original_nll", "hard 1"), 1.0)
    assert "a loss of 1 point or more is excluded" in text
    runs.append(runs[0] | {"method": "maxup"})
    text = comparisons.compared(record)
    assert "over 2 seeds (1 of them for `maxup`);" in text


def test_tables_of_the_paper_have_the_same_cells():
    names = ("dataset", "depth", "method")
    one, two = (
        {
            tuple(of[n] for n in names): value.mean
            for of, value in read(table)
            if of.get("num_views", 10) in (1, 10)
        }
        for table in ("table1", "table2")
    )
    assert (len(one), len(two)) == (40, 24)
    assert {key: one[key] for key in two} == two


@pytest.mark.slow
def test_figures_of_the_project(tmp_path):
    written = figures.write(records.ROOT / RESULTS, tmp_path)
    committed = (records.ROOT / "docs" / "images").glob("*.png")
    names = {path.name for path in committed}
    assert {path.name for path in written} <= names
    assert all(path.stat().st_size > 10_000 for path in written)
