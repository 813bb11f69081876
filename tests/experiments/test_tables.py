"""Tables and figures, from records that the test makes."""

import numpy as np
import pytest
import scipy.stats

from examples import records
from experiments import RESULTS
from experiments import comparisons
from experiments import figures
from experiments import markdown
from experiments import paper_tables
from experiments import report
from experiments import tables
from experiments.reproduce.cells import Cell
from experiments.reproduce.paper import PaperValue
from experiments.reproduce.paper import read
from tests.experiments import cell_records
from tests.experiments.cell_records import MADE

ACCURACY = {
    "da": [0.4, 0.41],
    "uniform": [0.5, 0.54, 0.52],
    "mmel-h": [0.51, 0.56, 0.55],
}
RATIO = {"q25": 0.9, "median": 1.01, "q75": 1.1}


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


def write_rivals(results, only="1000"):
    def make(score):
        return {
            "scores": {"accuracy": score, "nll": 1.5, "ece": 0.123},
            "curves": {"effective_views": [5.0, 4.5]},
        }

    cell_records.write(results, "rivals", ACCURACY, make, [only])


def write_runs(path, runs, **more):
    """A record of (method, seed, scores)."""
    names = ("method", "seed", "scores")
    found = [dict(zip(names, one, strict=True)) for one in runs]
    records.write_record(path, MADE | more | {"runs": found})


class TestMarkdown:
    def test_origin(self):
        changed = MADE["environment"] | {"dirty": True}
        changed |= {"accelerators": ["GPU X"]}
        other = {"environment": changed, "command": "python -m benchmarks.a"}
        assert markdown.origin([MADE, MADE | other]) == (
            "`python -m experiments.made_up`, "
            "`python -m experiments.benchmarks.a`, commit 0123456, 0123456 "
            "with changes, 2 cores of an Made Up 1, GPU X, Keras 3.15.1, "
            "tensorflow"
        )
        assert markdown.origin([MADE], "python x").startswith("`python x`, c")


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
        assert rows["method"][2:7] == [
            *("runs", "ours", "paper", "minus paper", "minus reference")
        ]
        printed = "92.00 ± 0.10 / 80.00 ± 0.20"
        assert rows["row"][3] == "90.50 ± 0.71 / 70.50 ± 0.71"
        assert rows["mmel-h"][4:7] == [
            *(printed, "+1.00 / -4.00", "+2.50 / +5.50")
        ]
        # A cell without a record stands there for the paper's number.
        assert rows["mmel-s"][2:7] == ["0", "", printed, "", ""]

    @pytest.mark.parametrize(
        ("table", "column", "reference"),
        [
            ("table1", "mmel-s lambda_t=2", "uniform"),
            ("table2", "mmel-h-5", "da"),
            ("lambda_p", "maxup lambda_p=0", "uniform lambda_p=inf"),
            ("table4", "mmel-h original labels", "uniform original labels"),
            ("table6", "mmel-h greedy separate 0.4", "baseline"),
            ("glue_views", "mmel-s 3 views", "uniform 3 views"),
        ],
    )
    def test_the_reference_has_the_same_settings(
        self, table, column, reference, tmp_path
    ):
        lines = paper_tables.lines_of(table, "small", tmp_path)
        found = {line.cell.column: line.cell for line in lines}
        assert found[column].reference == reference
        assert reference in found


def test_the_text_quickstart_and_what_helps(tmp_path):
    names = ["original_accuracy", "mean_accuracy", "worst_accuracy"]
    runs = [
        (method, seed, dict.fromkeys(["accuracy", *names], value))
        for method, values in ACCURACY.items()
        for seed, value in enumerate(values)
    ]
    runs = [(m, s, {**scores, "loss": 0.25}) for m, s, scores in runs]
    write_runs(tmp_path / "text_quickstart.json", runs)
    method = {"mmel-h": "hard 1", "mmel-s": "soft"}
    digits = [(method.get(m, m), s, scores) for m, s, scores in runs]
    (tmp_path / "evidence").mkdir()
    for part in ("alike", "original"):
        write_runs(tmp_path / f"evidence/digits-u4-{part}.json", digits)
    one, uniform = ACCURACY["mmel-h"], ACCURACY["uniform"]
    row = cells(tables.text_quickstart(tmp_path))["`uniform`"]
    assert row[1:] == ["3", "52.0 ± 2.0", "", "", "0.250 ± 0.000"]
    write_rivals(tmp_path)
    rows = cells(tables.helps(tmp_path))
    assert len(rows) == 1 + 4
    for name in (
        "digits, right under all 45",
        "CIFAR-10, crops, short training",
    ):
        assert rows[name][1] == "52.00 ± 2.00"
        assert rows[name][2].startswith(f"+2.00, p {p_of(one, uniform)} (")
        assert rows[name][3] == ""


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
    text = comparisons.compared(record, ("original_nll", "hard 1"))
    # The differences are -0.5 and -1, and t is -3 with one degree of freedom.
    assert "hard 1 minus uniform, is -0.75 (95 %: -3.93 to +2.43)" in text
    assert "p = 0.2," in text and "Rates, chosen on held-out examples" in text
    assert "is +0.00 points (95 %: +0.00 to +0.00).\n" in text
    text = comparisons.compared(record, ("original_nll", "hard 1"), 1.0)
    assert "a loss of 1 point or more is excluded" in text


def test_glue(tmp_path):
    def put(table, column, values, labels):
        def make(score):
            return {
                "method": column.split()[0],
                "scores": {"last": {"accuracy": score}},
                "settings": {"task": "mrpc", "labels": labels},
            }

        cell_records.write(tmp_path, table, {column: values}, make, ["mrpc"])

    put("table3", "baseline", [0.61], None)
    put("table3", "mmel-h", [0.65], "teacher")
    put("table4", "mmel-h original labels", [0.5, 0.7], "original")
    constant = MADE | {"scores": {"mrpc": {"accuracy": 0.684, "f1": 0.8}}}
    records.write_record(tmp_path / "glue_constant.json", constant)
    lines = tables.glue(tmp_path).splitlines()
    assert lines[0] == "| method | mrpc accuracy |"
    # The run that both tables have counts once.
    assert lines[2:6] == [
        "| `constant` | 68.4 |",
        "| `baseline` | 61.0 (1) |",
        "| `mmel-h`, teacher labels | 65.0 (1) |",
        "| `mmel-h`, original labels | 60.0 ± 14.1 (2) |",
    ]


def test_digits_that_lose_their_label(tmp_path):
    shares = ("lost_views", "lost_weight", "cut_views", "cut_weight")

    def put(method, accuracies):
        runs = [
            (
                method,
                seed,
                dict.fromkeys(shares, 0.25)
                | {"accuracy": accuracy, "accuracy_shifted": accuracy / 2}
                | {"effective_views": 4.25},
            )
            for seed, accuracy in enumerate(accuracies)
        ]
        more = {"method": method, "settings": {"shift": 2}, "cpu_seconds": 1.0}
        write_runs(tmp_path / "digits" / f"{method}.json", runs, **more)

    one, other = [0.9, 0.92, 0.91], [0.95, 0.93, 0.97]
    put("hard", one)
    put("uniform", other)
    text = tables.TABLES["digits"](tmp_path)
    p, gain = p_of(one, other), 100 * (np.mean(one) - np.mean(other))
    rows = cells(text)
    assert rows["2"][1:6] == ["`uniform`", "3", "95.00 ± 2.00", "", ""]
    assert rows["`hard`"][4:6] == [f"{gain:+.2f}", p]
    assert rows["`hard`"][6:9] == ["45.50 ± 0.50", f"{gain / 2:+.2f}", p]
    assert rows["`hard`"][9:] == ["4.25", *["25.0"] * 4]
    assert "left out" not in text
    put("hard-whole", other)
    rows = cells(tables.TABLES["digits"](tmp_path))
    name = "`hard-whole` minus `hard`"
    assert rows[name][1:4] == ["2", f"{-gain:+.2f}", p]


def test_costs(tmp_path):
    step = {"cpu_ms_per_step": 2.345, "ratio_to_plain": RATIO}
    case = {"examples": 4, "views": 10, "methods": {"hard": step}}
    arm = {"sentences_per_cpu_second": RATIO, "ours_to_this": RATIO}
    share = {"start_cpu_seconds": RATIO, "cpu_ms_per_sentence": RATIO}
    share |= {"cpu_to_one": RATIO, "throughput_to_one": RATIO}
    look = {"cpu_ms_per_look": 45.6, "looks_per_fit": 3.0, "epochs": 12}
    look |= step | {"steps_per_epoch": 200, "share_of_looks": 0.0123}
    views = {"views": 10, "batch_size": 128}
    three = "1.010 (0.900 to 1.100)"
    for name, content, row, expected in (
        (
            "step",
            {"jit_compile": False, "cases": {"mlp": case}},
            "mlp, hard",
            ["4 x 10", "2.35", three],
        ),
        (
            "pipeline",
            views | {"pipelines": {"group_views": {"cpu_us_per_view": RATIO}}},
            "group views",
            ["1.01 (0.90 to 1.10)"],
        ),
        (
            "text_generation",
            {"sizes": {"tiny": {"arms": {"nlpaug": arm}}}},
            "BERT-tiny: nlpaug",
            ["1.01", "1.0 (0.9 to 1.1)"],
        ),
        (
            "text_processes",
            {"arms": {"two processes": share}},
            "two processes",
            ["1.01 (0.90 to 1.10)"] * 4,
        ),
        (
            "diagnostics",
            {"cases": {"convnet": look}},
            "convnet",
            ["2.35", "46", "3.0 in 12 epochs of 200 steps", "1.23", three],
        ),
    ):
        path = tmp_path / "benchmarks" / f"{name}.json"
        records.write_record(path, MADE | content)
        assert cells(tables.TABLES[name](tmp_path))[row][1:] == expected


def test_averages_of_the_paper(tmp_path):
    """They find a number that was copied wrongly: two are its own."""
    rows = list(cells(tables.averages(tmp_path)).values())[1:]
    assert [row[1:] for row in rows] == [["84.5", "84.1"], ["84.0", "84.4"]]
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


class TestFigures:
    def test_curves_are_mean_and_range_of_the_seeds(self):
        def line(row, column):
            cell = Cell("t", row, column, "n", "m", (), (0,), ("last.f1",))
            made = [
                {
                    "seed": seed,
                    "scores": {"last": {"f1": values[-1]}},
                    "curves": {"val_epoch": [1.0, 2.0], "val_f1": values},
                }
                for seed, values in enumerate(([0.2, 0.4], [0.4, 0.8]))
            ]
            return paper_tables.Line(cell, tuple(made))

        lines = [line("a", "hard"), line("a", "soft"), line("b", "hard")]
        first, second = figures.of_table("figure2", lines).axes
        assert (first.get_title(), second.get_title()) == ("a", "b")
        assert len(first.lines) == 2
        drawn = first.lines[0]
        assert drawn.get_ydata() == pytest.approx([30.0, 60.0])
        (path,) = first.collections[0].get_paths()
        heights = path.vertices[path.vertices[:, 0] == 2.0][:, 1]
        assert (heights.min(), heights.max()) == pytest.approx((40.0, 80.0))

    def test_those_of_the_project(self, tmp_path):
        written = figures.write(records.ROOT / RESULTS, tmp_path)
        committed = (records.ROOT / "docs" / "images").glob("*.png")
        names = {path.name for path in committed}
        assert {path.name for path in written} <= names
        assert all(path.stat().st_size > 10_000 for path in written)
