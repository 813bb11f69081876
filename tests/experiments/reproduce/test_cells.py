import pytest

from experiments.reproduce import registry
from experiments.reproduce.cells import Places
from experiments.reproduce.cells import runs_of
from experiments.training import cifar
from experiments.training import glue_settings as glue

WITHOUT_PAPER = ("rivals", "equal_steps", "lambda_p")
WITHOUT_PAPER += ("figure2", "glue_lambda_p", "glue_views")


def cells(table, scale="paper", only=()):
    return registry.collect([table], scale, Places(), only)


def of_cifar(cell, seed=0):
    args = cifar.parse_arguments(cell.run_arguments(seed))
    return cifar.run_settings(args, *args.methods, seed)


def of_glue(cell, seed=1):
    args = glue.parse_arguments(cell.run_arguments(seed))
    (task,), (method,) = args.tasks, args.methods
    return glue.train_settings(args, task, method, args.labels[0], seed)


@pytest.mark.parametrize("scale", ["paper", "small"])
@pytest.mark.parametrize("table", sorted(registry.TABLES))
def test_every_cell_is_a_command_of_its_script(table, scale):
    found = cells(table, scale)
    assert len({cell.name for cell in found}) == len(found)
    columns = {(cell.row, cell.column) for cell in found}
    assert len(columns) == len(found)
    for cell in found:
        assert (cell.paper is not None) == (
            scale == "paper" and table not in WITHOUT_PAPER
        )
        assert cell.column.startswith(cell.method)
        if scale == "small" and table != "table5":
            # What it is compared with has the same settings: it is in its row.
            assert (cell.row, cell.reference) in columns
    paths = {cell.record_path(seed) for cell in found for seed in cell.seeds}
    assert len(paths) == sum(len(cell.seeds) for cell in found)
    assert len(runs_of([*found, *found])) == len(paths)


class TestImages:
    def test_the_recipe_of_a_cell(self):
        (cell,) = cells("table1", only=["cifar100", "resnet44", "mmel-h"])
        expected = {"dataset": "cifar100", "depth": 44, "epochs": 200}
        expected |= {"num_views": 10, "batch_size": 128}
        assert expected.items() <= of_cifar(cell).items()
        assert (cell.paper.mean, cell.paper.std) == ((73.18,), (0.31,))
        assert cell.seeds == (0, 1, 2, 3, 4)
        # What the paper ran once.
        (cell,) = cells("table1", only=["cifar10-resnet20-da-long"])
        assert (cell.seeds, cell.paper.hours) == ((0,), 6.7)
        assert of_cifar(cell)["epochs"] == 2000

    def test_what_the_tables_vary(self):
        for table, only in (("table1", "resnet20"), ("table2", "mmel-s-20")):
            found = cells(table, only=["cifar10-resnet20", "mmel-s", only])
            given = {of_cifar(cell)["lambda_t"] for cell in found}
            assert given == {0.5, 1.0, 2.0}
        found = cells("table2", only=["cifar10-resnet20-mmel-h"])
        views = [of_cifar(cell)["num_views"] for cell in found]
        assert views == [2, 5, 10, 20]

    def test_equal_steps_of_as_many_views(self):
        def cost(cell):
            s = of_cifar(cell)
            steps = s["epochs"] * (50_000 // s["batch_size"])
            return steps, s["batch_size"] * s["num_views"]

        plain, *others = cells("equal_steps")
        steps, rows = cost(plain)
        assert rows == 128
        columns = [cell.column for cell in others]
        assert columns == ["uniform", "mmel-h", "mmel-s"]
        for cell in others:
            # 128 is not a multiple of 10 views.
            assert cost(cell) == pytest.approx((steps, rows), rel=0.07)
        # What plain training gives is known from the rivals.
        (same,) = cells("rivals", only=["da-long"])
        assert plain.record_path(1) == same.record_path(1)


class TestTexts:
    def test_the_recipe_of_a_cell(self):
        (cell,) = cells("table3", only=["rte-mmel-s"])
        settings = of_glue(cell, 2)
        expected = {"task": "rte", "method": "mmel-s", "labels": "teacher"}
        expected |= {"seed": 2, "epochs": 10, "num_views": 5}
        assert expected.items() <= settings.items()
        assert cell.paper.mean == (71.9,)
        (cell,) = cells("table3", only=["mnli-uniform"])
        assert len(cell.scores) == len(cell.paper.mean) == 2

    def test_what_comes_first_has_the_same_data(self):
        """Files of other settings would not be found by the run."""
        for cell in cells("table6", only=["cola"]) + cells("table4"):
            args = glue.parse_arguments(cell.run_arguments(0))
            (task,) = args.tasks
            if args.methods == ("baseline",):
                assert cell.first is None
                continue
            module, *words = cell.first
            assert module == cell.module
            before = glue.parse_arguments(words)
            assert (before.step, before.labels) == ("prepare", args.labels)
            for settings in (glue.augment_settings, glue.label_settings):
                assert settings(before, task) == settings(args, task)

    def test_what_the_tables_vary(self):
        names = ("search", "pairs", "mask_ratio")
        found = cells("table6", only=["rte-mmel-h"])
        given = {tuple(of_glue(c)["data"][n] for n in names) for c in found}
        assert len(found) == len(given) == 8
