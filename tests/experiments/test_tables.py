"""Tables and figures, from records that the test makes."""

import pathlib

import numpy as np
import pytest
import scipy.stats

from examples import records
from experiments import RESULTS
from experiments import figures
from experiments import markdown
from experiments import paper_tables
from experiments import report
from experiments import tables
from experiments.reproduce.cells import Cell
from experiments.reproduce.paper import PaperValue
from tests.experiments.cell_records import ENVIRONMENT
from tests.experiments.cell_records import MADE
from tests.experiments.cell_records import write


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


class TestMarkdown:
    def test_origin(self):
        changed = ENVIRONMENT | {"dirty": True, "accelerators": ["GPU X"]}
        made = [
            MADE,
            MADE
            | {"environment": changed, "command": "python -m benchmarks.a"},
        ]
        assert markdown.origin(made) == (
            "`python -m experiments.made_up`, "
            "`python -m experiments.benchmarks.a`, commit 0123456, 0123456 "
            "with changes, 2 cores of an Made Up 1, GPU X, Keras 3.15.1, "
            "tensorflow"
        )
        assert markdown.origin(made[:1], "python x").startswith("`python x`, c")

    def test_spread(self):
        values = [1.0, 2.0, 4.5]
        expected = f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}"
        assert markdown.spread(values, 1) == expected
        assert markdown.spread([1.0]) == "1.00"
        assert markdown.spread([]) == ""


class TestPages:
    def test_no_record_is_said_so(self, tmp_path):
        names = [name for name in tables.TABLES if "-" not in name]
        for name in {*names, "small-rivals", "small-table4"} - {"averages"}:
            text = tables.updated(around(name), tmp_path)
            assert text == around(name, "\nNo record yet.\n\n"), name
            assert tables.updated(text, tmp_path) == text

    def test_text_outside_the_markers_stays(self, tmp_path):
        text = "# Title\n\n| a | b |\n| --- | ---: |\n<!-- table helps -->\n"
        assert tables.updated(text, tmp_path) == text

    def test_unknown_table_is_refused(self, tmp_path):
        with pytest.raises(ValueError, match="Received: 'other'"):
            tables.updated(around("other"), tmp_path)

    def test_check_tells_and_changes_nothing(self, tmp_path, capsys):
        write_rivals(tmp_path / "results")
        page = tmp_path / "docs" / "deep" / "page.md"
        page.parent.mkdir(parents=True)
        page.write_text(around("small-rivals"))
        (tmp_path / "README.md").write_text("none")
        words = [
            "--root",
            str(tmp_path),
            "--results",
            str(tmp_path / "results"),
        ]
        assert report.main(["--check", *words]) == 1
        assert "docs/deep/page.md" in capsys.readouterr().err
        assert page.read_text() == around("small-rivals")
        assert report.main(["--figures", *words]) == 0
        assert "| uniform | 3 |" in page.read_text()
        drawn = {path.name for path in (tmp_path / "docs/images").iterdir()}
        assert drawn == {"small-rivals.png", "small-lambda_p.png"}
        assert report.main(["--check", *words]) == 0


# Tables of the paper

ACCURACY = {
    "da": [0.4, 0.41],
    "uniform": [0.5, 0.54, 0.52],
    "mmel-h": [0.51, 0.56, 0.55],
}


def write_rivals(results, only="1000"):
    def make(score):
        return {
            "scores": {"accuracy": score, "nll": 1.5, "ece": 0.123},
            "curves": {"effective_views": [5.0, 4.5]},
        }

    write(results, "rivals", ACCURACY, make, [only])


class TestPaperTables:
    def test_small_against_numpy(self, tmp_path):
        write_rivals(tmp_path)
        text = paper_tables.table_of("rivals", "small", tmp_path)
        assert "reproduce rivals --scale small`, commit 0123456," in text
        assert "Reference: `uniform` of the same row" in text
        rows = cells(text)
        # In the order of the cells, without those that have not run.
        assert [row[1] for row in rows.values()] == ["method", *ACCURACY]
        p = []
        for row, values in zip(
            list(rows.values())[1:], ACCURACY.values(), strict=True
        ):
            spread = f"{100 * np.mean(values):.2f} ± "
            assert row[3].startswith(spread)
            assert row[2] == str(len(values))
            assert row[6:] == ["1.500", "12.30", "4.50", "0.500"]
            same = ACCURACY["uniform"][: len(values)]
            gain = 100 * (np.mean(values) - np.mean(same))
            if values is not ACCURACY["uniform"]:
                assert row[4] == f"{gain:+.2f}"
                p.append(scipy.stats.ttest_rel(values, same).pvalue)
                assert row[5].startswith(f"{p[-1]:.3f} (")
        assert f"({2 * min(p):.3f})" in text

    def test_another_number_of_images_is_another_row(self, tmp_path):
        write_rivals(tmp_path)
        write_rivals(tmp_path, "2500")
        lines = paper_tables.lines_of("rivals", "small", tmp_path)
        (row,) = {ln.cell.row for ln in lines if "2500" in ln.cell.row}
        hard = next(
            line
            for line in lines
            if (line.cell.row, line.cell.column) == (row, "mmel-h")
        )
        assert paper_tables.reference_of(hard, lines).cell.row == row

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
        header = rows["method"]
        uniform, hard, soft = (
            dict(zip(header, rows[name], strict=True))
            for name in ("row", "mmel-h", "mmel-s")
        )
        assert uniform["ours"] == "90.50 ± 0.71 / 70.50 ± 0.71"
        assert uniform["minus reference"] == uniform["p (Holm)"] == ""
        assert hard["paper"] == "92.00 ± 0.10 / 80.00 ± 0.20"
        assert hard["minus paper"] == "+1.00 / -4.00"
        assert hard["minus reference"] == "+2.50 / +5.50"
        assert hard["hours a run"] == "0.500"
        # A cell without a record stands there for the paper's number.
        assert (soft["runs"], soft["ours"], soft["minus paper"]) == (
            "0",
            "",
            "",
        )
        assert soft["paper"] == hard["paper"]

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

    def test_a_broken_record_is_named(self, tmp_path):
        write_rivals(tmp_path)
        path = next(tmp_path.rglob("*mmel-h*.json"))
        path.write_text("{")
        with pytest.raises(ValueError, match=path.name):
            paper_tables.lines_of("rivals", "small", tmp_path)


# The others


def run(method, seed, **scores):
    return {"method": method, "seed": seed, "scores": scores}


def test_quickstart_and_what_helps(tmp_path):
    accuracy = {"da": [0.8, 0.9], "uniform": [0.9, 0.94], "mmel-h": [0.9, 0.9]}
    runs = [
        run(
            method,
            seed,
            accuracy=value,
            accuracy_shifted=value / 2,
            test_loss=0.25,
            cpu_seconds=3.0,
        )
        for method, values in accuracy.items()
        for seed, value in enumerate(values)
    ]
    records.write_record(
        tmp_path / "quickstart.json",
        MADE | {"settings": {"seeds": 2}, "cpu_seconds": 99.6, "runs": runs},
    )
    text = tables.quickstart(tmp_path)
    assert "100 CPU seconds" in text
    rows = cells(text)
    p = scipy.stats.ttest_rel(*map(accuracy.get, ("da", "uniform"))).pvalue
    assert rows["`da`"][1:3] == ["85.00 ± 7.07", "-7.00"]
    assert rows["`da`"][3].startswith(f"{p:.3f} (")
    assert rows["`uniform`"][1:5] == ["92.00 ± 2.83", "", "", "46.00 ± 1.41"]
    assert rows["`mmel-h`"][5] == "-1.00"

    write_rivals(tmp_path)
    rows = cells(tables.helps(tmp_path))
    assert len(rows) == 1 + 3
    assert rows["digits, accuracy"][1] == "92.00 ± 2.83"
    assert rows["digits, accuracy"][2].startswith("-2.00, p 0.500 (")
    assert rows["digits, accuracy"][3] == ""
    cifar = rows["cifar10 ResNet8, 1000 images, accuracy"]
    assert cifar[2].startswith("+2.00, p ")


def test_text_quickstart(tmp_path):
    runs = [
        run(method, seed, accuracy=accuracy, loss=0.25)
        for method, seed, accuracy in [
            ("uniform", 0, 0.8),
            ("uniform", 1, 0.9),
            ("mmel-h", 0, 1.0),
        ]
    ]
    records.write_record(
        tmp_path / "text_quickstart.json", MADE | {"runs": runs}
    )
    text = tables.text_quickstart(tmp_path)
    assert "| `uniform` | 2 | 85.0 ± 7.1 |  |  | 0.250 ± 0.000 |\n" in text
    assert "| `mmel-h` | 1 | 100.0 | +20.00 |  | 0.250 |\n" in text


def test_glue(tmp_path):
    def put(table, column, values, labels):
        def make(score):
            return {
                "method": column.split()[0],
                "scores": {"last": {"accuracy": score}},
                "settings": {"task": "mrpc", "labels": labels},
            }

        write(tmp_path, table, {column: values}, make, ["mrpc"])

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
            run(
                method,
                seed,
                accuracy=accuracy,
                accuracy_shifted=accuracy / 2,
                effective_views=4.25,
                **dict.fromkeys(shares, 0.25),
            )
            for seed, accuracy in enumerate(accuracies)
        ]
        records.write_record(
            tmp_path / "digits" / f"{method}.json",
            MADE
            | {"method": method, "settings": {"shift": 2}}
            | {"cpu_seconds": 30.0, "runs": runs},
        )

    one, other = [0.9, 0.92, 0.91], [0.95, 0.93, 0.97]
    put("hard", one)
    put("uniform", other)
    text = tables.TABLES["digits"](tmp_path)
    p = scipy.stats.ttest_rel(one, other).pvalue
    gain = 100 * (np.mean(one) - np.mean(other))
    rows = cells(text)
    assert rows["2"][1:6] == ["`uniform`", "3", "95.00 ± 2.00", "", ""]
    assert rows["`hard`"][4:6] == [f"{gain:+.2f}", f"{p:.3f}"]
    assert rows["`hard`"][6:9] == [
        "45.50 ± 0.50",
        f"{gain / 2:+.2f}",
        f"{p:.3f}",
    ]
    assert rows["`hard`"][9:] == ["4.25", *["25.0"] * 4]
    assert "left out" not in text
    put("hard-whole", other)
    rows = cells(tables.TABLES["digits"](tmp_path))
    name = "`hard-whole` minus `hard`"
    assert rows[name][1:4] == ["2", f"{-gain:+.2f}", f"{p:.3f}"]


def test_costs(tmp_path):
    ratio = {"q25": 0.9, "median": 1.01, "q75": 1.1}
    figures = {"cpu_ms_per_step": 2.345, "ratio_to_plain": ratio}
    arm = {"sentences_per_cpu_second": ratio, "ours_to_this": ratio}
    look = figures | {
        "cpu_ms_per_look": 45.6,
        "looks_per_fit": 3.0,
        "epochs": 12,
        "steps_per_epoch": 200,
        "share_of_looks": 0.0123,
    }
    case = {"examples": 4, "views": 10, "methods": {"hard": figures}}
    for name, content in {
        "step": {"jit_compile": False, "cases": {"mlp": case}},
        "pipeline": {
            "views": 10,
            "batch_size": 128,
            "pipelines": {"group_views": {"cpu_us_per_view": ratio}},
        },
        "text_generation": {"sizes": {"tiny": {"arms": {"nlpaug": arm}}}},
        "diagnostics": {"cases": {"convnet": look}},
    }.items():
        path = tmp_path / "benchmarks" / f"{name}.json"
        records.write_record(path, MADE | content)

    def rows(name):
        return cells(tables.TABLES[name](tmp_path))

    three = "1.010 (0.900 to 1.100)"
    assert rows("step")["mlp, hard"][1:] == ["4 x 10", "2.35", three]
    assert rows("pipeline")["group views"][1:] == ["1.01 (0.90 to 1.10)"]
    row = rows("text_generation")["BERT-tiny: nlpaug"]
    assert row[1:] == ["1.01", "1.0 (0.9 to 1.1)"]
    looks = "3.0 in 12 epochs of 200 steps"
    row = rows("diagnostics")["convnet"]
    assert row[1:] == ["2.35", "46", looks, "1.23", three]


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
        figure = figures.of_table("figure2", lines)
        first, second = figure.axes
        assert (first.get_title(), second.get_title()) == ("a", "b")
        assert len(first.lines) == 2
        drawn = first.lines[0]
        assert list(drawn.get_xdata()) == [1.0, 2.0]
        assert drawn.get_ydata() == pytest.approx([30.0, 60.0])
        (path,) = first.collections[0].get_paths()
        heights = path.vertices[path.vertices[:, 0] == 2.0][:, 1]
        assert (heights.min(), heights.max()) == pytest.approx((40.0, 80.0))

    def test_those_of_the_project(self, tmp_path):
        written = figures.write(records.ROOT / RESULTS, tmp_path)
        committed = pathlib.Path(records.ROOT, "docs", "images").iterdir()
        assert sorted(path.name for path in written) == sorted(
            path.name for path in committed if path.suffix == ".png"
        )
        assert all(path.stat().st_size > 10_000 for path in written)


def test_every_record_of_the_project_can_be_read():
    found = records.read_records(records.ROOT / RESULTS)
    assert len(found) > 100
    for record in found:
        assert markdown.origin([record]).startswith("`python -m ")
