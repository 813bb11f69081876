import importlib

import pytest

from examples import cifar
from examples import glue_settings as glue
from examples import records
from experiments.reproduce import __main__ as command_line
from experiments.reproduce import registry
from experiments.reproduce.cells import Places

TABLES = sorted(registry.TABLES)
WITHOUT_PAPER = (
    "rivals",
    "equal_steps",
    "lambda_p",
    "figure2",
    "glue_lambda_p",
    "glue_views",
)


def cells(table, scale="paper", only=()):
    return registry.collect([table], scale, Places(), only)


@pytest.mark.parametrize("scale", ["paper", "small"])
@pytest.mark.parametrize("table", TABLES)
def test_every_cell_is_a_command_of_its_script(table, scale):
    found = cells(table, scale)
    names = [cell.name for cell in found]
    assert len(set(names)) == len(names)
    records = set()
    for cell in found:
        script = importlib.import_module(cell.module)
        for seed in cell.seeds:
            records.add(script.record_path(cell.run_arguments(seed)))
        assert (cell.paper is not None) == (
            scale == "paper" and table not in WITHOUT_PAPER
        )
    assert len(records) == sum(len(cell.seeds) for cell in found)


def of_glue(cell, seed=1):
    args = glue.parse_arguments(cell.run_arguments(seed))
    (task,), (method,) = args.tasks, args.methods
    return glue.train_settings(args, task, method, args.labels[0], seed)


class TestSweepsOnGlue:
    def test_lambda_p_to_both_ends(self):
        found = cells("glue_lambda_p", "small")
        given = [of_glue(cell)["lambda_p"] for cell in found]
        assert given == [0.0, 0.1, 0.3, 1.0, 3.0, None]
        # The mean is a run of table 3, and so is lambda_p = 1.
        for method, cell in (("uniform", found[-1]), ("mmel-h", found[3])):
            (same,) = cells("table3", "small", ["stsb", method])
            assert of_glue(same) == of_glue(cell)

    def test_views_of_the_same_samples(self):
        found = cells("glue_views", "small", ["mmel-h"])
        settings = [of_glue(cell) for cell in found]
        assert [s["num_views"] for s in settings] == [2, 3, 5]
        assert {s["data"]["num_augmented"] for s in settings} == {4}
        # Five views are the run of table 3.
        (same,) = cells("table3", "small", ["stsb", "mmel-h"])
        assert of_glue(same) == settings[-1]

    def test_a_record_can_be_written(self, tmp_path):
        for cell in cells("glue_lambda_p", "small"):
            records.write_record(tmp_path / "one.json", of_glue(cell))
        for cell in cells("lambda_p", "small"):
            args = cifar.parse_arguments(cell.run_arguments(0))
            (method,) = args.methods
            settings = cifar.run_settings(args, method, 0)
            records.write_record(tmp_path / "one.json", settings)


def test_the_ends_of_the_sweep_are_rivals():
    found = cells("lambda_p", "small")
    rivals = {
        cell.column: cell.run_arguments(0)
        for cell in cells("rivals", "small", ["1000"])
    }
    same = {0: "maxup", 3: "mmel-h", -1: "uniform"}
    for place, method in same.items():
        given = found[place].run_arguments(0)
        assert cifar.record_path(given) == cifar.record_path(rivals[method])


@pytest.mark.parametrize(
    "scale, images, batch", [("small", 1000, 50), ("paper", 50_000, 128)]
)
def test_equal_steps_of_as_many_views(scale, images, batch):
    plain, *others = cells("equal_steps", scale)

    def cost(cell):
        args = cifar.parse_arguments(cell.run_arguments(0))
        s = cifar.run_settings(args, *args.methods, 0)
        steps = s["epochs"] * (images // s["batch_size"])
        return steps, s["batch_size"] * s["num_views"]

    steps, rows = cost(plain)
    assert rows == batch
    assert [cell.column for cell in others] == ["uniform", "mmel-h", "mmel-s"]
    for cell in others:
        found = cost(cell)
        # 128 is not a multiple of 10 views.
        assert found[1] == pytest.approx(rows, rel=0.07)
        assert found[0] == pytest.approx(steps, rel=0.07)
    # What plain training gives is known from the rivals.
    (same,) = cells("rivals", scale, ["da-long", "1000"[: 4 * (batch == 50)]])
    first = cifar.record_path(plain.run_arguments(1))
    assert first == cifar.record_path(same.run_arguments(1))


def test_table_4_at_small_scale_has_uniform_beside_the_others():
    columns = [c.column for c in cells("table4", "small", ["stsb"])]
    assert sorted(columns) == sorted(
        f"{method} {labels} labels"
        for method in ("uniform", "mmel-h", "mmel-s")
        for labels in ("original", "teacher")
    )


class TestTable1:
    def test_the_recipe_of_a_cell(self):
        (cell,) = cells("table1", only=["cifar100", "resnet44", "mmel-h"])
        args = cifar.parse_arguments(cell.run_arguments(3))
        settings = cifar.run_settings(args, "mmel-h", 3)
        assert settings["dataset"] == "cifar100"
        assert settings["depth"] == 44
        assert settings["epochs"] == 200
        assert settings["num_views"] == 10
        assert settings["batch_size"] == 128
        assert cell.paper.mean == (73.18,)
        assert cell.paper.std == (0.31,)
        assert cell.seeds == (0, 1, 2, 3, 4)

    def test_what_the_paper_ran_once(self):
        (cell,) = cells("table1", only=["cifar10-resnet20-da-long"])
        assert cell.seeds == (0,)
        assert cell.paper.hours == 6.7
        args = cifar.parse_arguments(cell.run_arguments(0))
        assert cifar.run_settings(args, "da-long", 0)["epochs"] == 2000

    def test_lambda_t_is_picked_from_three(self):
        found = cells("table1", only=["cifar10-resnet20-mmel-s"])
        given = {
            cifar.parse_arguments(cell.run_arguments(0)).lambda_t
            for cell in found
        }
        assert given == {0.5, 1.0, 2.0}


def test_table_2_varies_the_views():
    found = cells("table2", only=["cifar10-resnet20-mmel-h"])
    views = [
        cifar.parse_arguments(cell.run_arguments(0)).num_views for cell in found
    ]
    assert views == [2, 5, 10, 20]
    assert [cell.paper.mean[0] for cell in found] == [
        92.77,
        93.11,
        93.16,
        93.57,
    ]


class TestTexts:
    def test_the_recipe_of_a_cell(self):
        (cell,) = cells("table3", only=["rte-mmel-s"])
        settings = of_glue(cell, 2)
        expected = {
            "task": "rte",
            "method": "mmel-s",
            "labels": "teacher",
            "seed": 2,
            "student": "hf://google-bert/bert-base-uncased",
            "epochs": 10,
            "batch_size": 32,
            "learning_rate": 3e-5,
            "num_views": 5,
            "lambda_p": 1.0,
            "lambda_t": 1.0,
        }
        assert expected.items() <= settings.items()
        assert settings["data"]["mask_ratio"] == 0.4
        assert cell.paper.mean == (71.9,)

    def test_what_comes_first_has_the_same_data(self):
        """Files of other settings would not be found by the run."""
        for cell in cells("table6", only=["cola"]) + cells("table4"):
            args = glue.parse_arguments(cell.run_arguments(0))
            (task,) = args.tasks
            if args.methods == ("baseline",):
                assert cell.first == ()
                continue
            ((module, *words),) = cell.first
            assert module == cell.module
            before = glue.parse_arguments(words)
            assert before.step == "prepare"
            assert before.labels == args.labels
            for settings in ("augment_settings", "label_settings"):
                of = getattr(glue, settings)
                assert of(before, task) == of(args, task)

    def test_mnli_has_two_numbers(self):
        (cell,) = cells("table3", only=["mnli-uniform"])
        assert len(cell.scores) == len(cell.paper.mean) == 2

    def test_generation_varies(self):
        found = cells("table6", only=["rte-mmel-h"])
        assert len(found) == 8
        given = set()
        for cell in found:
            args = glue.parse_arguments(cell.run_arguments(0))
            given.add((args.search, args.pairs, args.mask_ratio))
        assert len(given) == 8

    def test_small_scale_has_the_small_tasks(self):
        rows = {cell.row.split()[0] for cell in cells("table3", "small")}
        assert rows == {"cola", "mrpc", "stsb", "rte"}


class TestCommandLine:
    def test_list(self, capsys):
        words = ["table1", "--only", "cifar10-resnet56", "uniform", "--list"]
        assert command_line.main(words) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines == [
            "table1/cifar10-resnet56-uniform  5 seeds  paper 94.62 ± 0.18",
            "1 cells, 5 runs",
        ]

    def test_dry_run_prints_what_is_left(self, capsys, tmp_path):
        words = ["lambda_p", "--scale", "small", "--dry-run", "--out"]
        words += [str(tmp_path), "--only", "lambda_p=0.3"]
        assert command_line.main(words) == 0
        out = capsys.readouterr().out
        assert out.count("python -m examples.cifar --method mmel-h") == 3
        assert "# 0 of 3 runs are done" in out
        words = ["table1", "--dry-run", "--out", str(tmp_path), "--only"]
        words += ["cifar10-resnet20-uniform"]
        assert command_line.main(words) == 0
        # Five seeds, by table 1.
        hours = "# 5 of these took the paper 14.5 hours"
        assert hours in capsys.readouterr().out
        assert list(tmp_path.iterdir()) == []

    def test_a_method_is_no_part_of_another(self, capsys):
        words = ["rivals", "rivals", "--only", "da", "--list"]
        assert command_line.main(words) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines == [
            "rivals/cifar10-resnet20-da  5 seeds",
            "1 cells, 5 runs",
        ]

    @pytest.mark.parametrize("words", [[], ["--dry-run"]])
    def test_a_broken_record_is_named(self, words, tmp_path, capsys):
        words += ["lambda_p", "--scale", "small", "--only", "lambda_p=0.3"]
        args = command_line.parse_arguments([*words, "--out", str(tmp_path)])
        path = cifar.record_path(args.cells[0].run_arguments(1))
        path.parent.mkdir()
        path.write_text("[]")
        assert command_line.main([*words, "--out", str(tmp_path)]) == 1
        assert path.name in capsys.readouterr().err

    @pytest.mark.parametrize(
        "words, message",
        [
            (["table9"], "invalid choice: 'table9'"),
            (["table1", "--only", "resnet99"], "Received: resnet99"),
            (["table1", "--jobs", "0"], "--jobs must be at least 1"),
        ],
    )
    def test_wrong_arguments(self, words, message, capsys):
        with pytest.raises(SystemExit) as stop:
            command_line.main(words)
        assert stop.value.code == 2
        assert message in capsys.readouterr().err
