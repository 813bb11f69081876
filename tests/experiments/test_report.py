import base64
import statistics

import matplotlib.figure
import pytest
import scipy.stats

from examples.records import ROOT
from experiments import report
from experiments import report_figures
from experiments import report_tables
from experiments.reproduce import presets
from experiments.reproduce.cells import Cell
from experiments.reproduce.paper import PaperValue
from tests.experiments import cell_records


def record(accuracy, **scores):
    return {
        "scores": {"accuracy": accuracy, **scores},
        "hours": 0.5,
    }


def line(column, accuracies, paper=None, row="row"):
    cell = Cell("t", column, "m", (), (0,), ("accuracy",), row, column, paper)
    return report_tables.line_of(cell, [record(a) for a in accuracies])


class TestWelch:
    def test_against_the_formula(self):
        one, other = (91.0, 92.0, 93.5), (90.0, 90.5)
        difference, p = report_tables.welch(one, other)
        assert difference == pytest.approx(92.1666667 - 90.25)
        errors = [statistics.variance(v) / len(v) for v in (one, other)]
        t = difference / sum(errors) ** 0.5
        degrees = sum(errors) ** 2 / (errors[0] ** 2 / 2 + errors[1] ** 2)
        assert p == pytest.approx(2 * scipy.stats.t.sf(t, degrees))

    @pytest.mark.parametrize(
        "one, other",
        [((91.0,), (90.0, 91.0)), ((91.0, 91.0), (90.0, 90.0))],
    )
    def test_too_little_to_test(self, one, other):
        difference, p = report_tables.welch(one, other)
        assert difference is not None
        assert p is None

    def test_nothing_to_compare(self):
        assert report_tables.welch((), (1.0, 2.0)) == (None, None)


class TestRows:
    def test_ours_beside_the_paper(self):
        paper = PaperValue((92.0,), (0.1,))
        lines = [
            line("uniform", [0.90, 0.91], paper),
            line("mmel-h", [0.92, 0.94], paper),
            line("mmel-s", [], paper),
        ]
        table = [
            dict(zip(report_tables.header(lines), row, strict=True))
            for row in report_tables.rows(lines)
        ]
        uniform, hard, soft = table
        assert uniform["ours"] == "90.50 ± 0.71"
        assert uniform["beside the reference"] == ""
        assert hard["ours"] == "93.00 ± 1.41"
        assert hard["paper"] == "92.00 ± 0.10"
        assert hard["difference"] == "+1.00"
        assert hard["beside the reference"] == "+2.50"
        assert 0 < float(hard["p (Welch)"]) < 1
        assert hard["hours a run"] == "0.500"
        assert soft["runs"] == "0"
        assert soft["ours"] == soft["difference"] == ""
        assert soft["paper"] == "92.00 ± 0.10"

    def test_rows_have_references_of_their_own(self):
        lines = [
            line("da", [0.5], row="one"),
            line("uniform", [0.6], row="two"),
            line("mmel-h", [0.7], row="two"),
        ]
        assert report_tables.reference_of(lines[0], lines) is None
        assert report_tables.reference_of(lines[2], lines) is lines[1]

    @pytest.mark.parametrize(
        ("column", "reference"),
        [
            ("mmel-h-5", "uniform-5"),
            ("mmel-s-5 lambda_t=2", "uniform-5"),
            ("mmel-h-10", "da"),
            ("mmel-h original labels", "uniform original labels"),
            ("da-long", "da"),
        ],
    )
    def test_the_reference_has_the_same_settings(self, column, reference):
        columns = ("da", "uniform-5", "uniform original labels", column)
        lines = {
            name: report_tables.line_of(
                Cell("t", name, "m", (), (0,), ("a",), "r", name),
                [{"scores": {"a": 0.8}, "hours": 1.0}],
            )
            for name in columns
        }
        found = report_tables.reference_of(lines[column], lines.values())
        assert found is lines[reference]

    def test_a_sweep_stands_beside_the_mean(self):
        lines = [
            line(f"{method} lambda_p={value:g}", [0.5])
            for method, value in (("maxup", 0), ("mmel-h", 1))
        ]
        lines.append(line("uniform lambda_p=inf", [0.6]))
        for one, mean in zip(lines, (True, True, False), strict=True):
            found = report_tables.reference_of(one, lines)
            assert found is (lines[-1] if mean else None)

    def test_two_scores_in_a_cell(self):
        cell = Cell("t", "c", "m", (), (0,), ("a", "b"), "r", "c")
        found = report_tables.line_of(
            cell, [{"scores": {"a": 0.8, "b": 0.9}, "hours": 1.0}]
        )
        (row,) = report_tables.rows([found])
        assert "80.00 / 90.00" in row


@pytest.fixture
def records(tmp_path):
    """A record for two seeds of two cells of a table."""
    out = tmp_path / "records"
    values = dict.fromkeys(("uniform", "mmel-h"), (0.5, 0.6))
    cell_records.write(
        out,
        "rivals",
        values,
        lambda score, seed: record(score, nll=1.5, ece=0.1),
        ["1000"],
    )
    return out


class TestCurves:
    def test_mean_and_range_of_the_seeds(self):
        cell = Cell("figure2", "c", "m", (), (0,), ("last.f1",), "r", "hard")
        runs = [
            {
                "scores": {"last": {"f1": values[-1]}},
                "hours": 1.0,
                "curves": {"val_epoch": [1.0, 2.0], "val_f1": values},
            }
            for values in ([0.2, 0.4], [0.4, 0.8])
        ]
        axes = matplotlib.figure.Figure().add_subplot()
        report_figures.draw_curves(axes, [report_tables.line_of(cell, runs)])
        (drawn,) = axes.lines
        assert list(drawn.get_xdata()) == [1.0, 2.0]
        assert drawn.get_ydata() == pytest.approx([30.0, 60.0])
        (area,) = axes.collections
        (path,) = area.get_paths()
        heights = path.vertices[path.vertices[:, 0] == 2.0][:, 1]
        assert (heights.min(), heights.max()) == pytest.approx((40.0, 80.0))

    def test_a_place_for_every_task(self):
        found = []
        for row, column in (("a", "hard"), ("a", "soft"), ("b", "hard")):
            cell = Cell("t", column, "m", (), (0,), ("f1",), row, column)
            one = {"scores": {"f1": 0.5}, "hours": 1.0}
            one["curves"] = {"val_epoch": [1.0], "val_f1": [0.5]}
            found.append(report_tables.line_of(cell, [one]))
        assert report_figures.as_png("figure2", found).startswith(b"\x89PNG")


class TestCommand:
    def test_writes_checks_and_rewrites(self, records, tmp_path, capsys):
        out = tmp_path / "tables"
        words = ["--records", str(records), "--out", str(out)]
        page, figures = tmp_path / "report.html", tmp_path / "figures"
        pictures = ["--html", str(page), "--figures", str(figures)]
        assert report.main([*words, *pictures]) == 0
        # What has no record is left out, tables that share cells are not.
        names = {path.name for path in out.iterdir()}
        assert "small-rivals.md" in names
        assert "small-table5.md" not in names
        text = (out / "small-rivals.md").read_text()
        assert "| uniform | 2 | 55.00 ± 7.07 |" in text
        assert "| 1.500 | 10.00 |" in text
        # Neither run here nor in the paper.
        assert "mmel-s" not in text
        assert "hours a run |" in text
        assert "peak MB" not in text
        assert report.main([*words, "--check"]) == 0
        html = page.read_text()
        assert html.count("<img") >= 1
        assert "data:image/png;base64," in html
        picture = (figures / "small-rivals.png").read_bytes()
        assert picture.startswith(b"\x89PNG")
        assert base64.b64encode(picture).decode() in html

        (out / "small-rivals.md").write_text(text.replace("55.00", "95.00"))
        assert report.main([*words, "--check"]) == 1
        assert "does not match the records" in capsys.readouterr().err
        assert report.main(words) == 0
        assert (out / "small-rivals.md").read_text() == text

        (out / "small-table5.md").write_text("of records that are gone")
        assert report.main([*words, "--check"]) == 1
        assert "small-table5.md does not match" in capsys.readouterr().err
        assert report.main(["rivals", *words, "--check"]) == 0

    def test_a_broken_record_is_named(self, records, tmp_path, capsys):
        path = next(records.rglob("*.json"))
        kept = path.read_text()
        path.write_text("{")
        words = ["--records", str(records), "--out", str(tmp_path)]
        assert report.main(words) == 1
        assert path.name in capsys.readouterr().err
        path.write_text(kept)
        assert report.main(words) == 0

    def test_no_records(self, tmp_path, capsys):
        assert report.main(["--records", str(tmp_path)]) == 1
        assert "no records" in capsys.readouterr().err

    def test_text_cells_have_the_presets_of_the_runs(self, tmp_path, capsys):
        given = dict.fromkeys(presets.NAMES, "/somewhere/small_bert")
        out = tmp_path / "records"
        settings = {"student": "small_bert", "data": None}

        def write():
            cell_records.write(
                out,
                "glue_lambda_p",
                {"uniform lambda_p=inf": (0.2, 0.3)},
                lambda score, seed: {
                    "scores": {"last": {"spearman": score}},
                    "hours": 1.0,
                    "settings": settings,
                },
                **given,
            )

        write()
        words = ["glue_lambda_p", "--records", str(out), "--check", "--out"]
        words.append(str(tmp_path / "tables"))
        # Nobody says which presets; then the command; then a record.
        assert report.main(words) == 1
        assert "no records" in capsys.readouterr().err
        by_hand = [w for name in given for w in (f"--{name}", "small_bert")]
        assert report.main([*words, *by_hand]) == 1
        assert "does not match the records" in capsys.readouterr().err
        settings["data"] = {"masked_lm": "small_bert"}
        settings["data"]["teacher"] = {"student": "small_bert"}
        write()
        assert report.main(words) == 1
        assert "does not match the records" in capsys.readouterr().err
        assert report.main([*words, "--teacher", "another_bert"]) == 1
        assert "no records" in capsys.readouterr().err

    @pytest.mark.parametrize(
        "words, message",
        [
            (["table9"], "Received: table9"),
            (["--html", "."], "--html must be a file. Received: ."),
            (["--out", __file__], "--out must be a folder"),
            (["--figures", __file__], "--figures must be a folder"),
        ],
    )
    def test_wrong_arguments(self, words, message, capsys):
        with pytest.raises(SystemExit):
            report.main(words)
        assert message in capsys.readouterr().err


COMMITTED = [
    path
    for path in sorted((ROOT / "docs" / "tables").glob("*-*.md"))
    if path.name.partition("-")[0] in ("paper", "small")
]


@pytest.mark.skipif(not COMMITTED, reason="no table is committed yet")
def test_committed_tables_match_the_records(monkeypatch):
    monkeypatch.chdir(ROOT)
    for scale in {path.name.partition("-")[0] for path in COMMITTED}:
        assert report.main(["--scale", scale, "--check"]) == 0
