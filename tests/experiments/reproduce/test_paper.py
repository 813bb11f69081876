import itertools

import pytest

from experiments.reproduce import paper

# Rows whose average, in the paper, is not that of their own cells: the two
# columns are what is printed and what the cells give.
WRONG_AVERAGES = {
    ("mmel-h", "beam", "separate", 0.4): (84.5, 84.1),
    ("mmel-s", "beam", "separate", 0.4): (84.0, 84.4),
}
ROW = ("split", "method", "labels", "search", "pairs", "mask_ratio")


@pytest.mark.parametrize("table", ["table3", "table4", "table6"])
def test_averages_are_those_of_the_cells(table):
    """The paper's own averages find a number that was copied wrongly."""

    def row(line):
        return tuple(line[0][k] for k in ROW if k in line[0])

    rows = 0
    for key, lines in itertools.groupby(paper.read(table), row):
        values = {of["task"]: value.mean for of, value in lines}
        (average,) = values.pop("avg")
        # MNLI counts twice, matched and mismatched.
        numbers = [number for mean in values.values() for number in mean]
        assert len(numbers) == 9
        found = sum(numbers) / 9
        if key in WRONG_AVERAGES:
            printed, right = WRONG_AVERAGES[key]
            assert average == printed
            assert found == pytest.approx(right, abs=0.05)
        else:
            # Cells are rounded as well: up to 0.1 for the mean of nine.
            assert found == pytest.approx(average, abs=0.12)
        rows += 1
    assert rows == {"table3": 11, "table4": 4, "table6": 17}[table]


def test_table_1_and_2_share_numbers():
    one = {
        (of["dataset"], of["depth"], of["method"]): value.mean
        for of, value in paper.read("table1")
    }
    two = {
        (of["dataset"], of["depth"], of["method"]): value.mean
        for of, value in paper.read("table2")
        if of["num_views"] in (1, 10)
    }
    assert len(one) == 40
    assert len(two) == 24
    assert {key: one[key] for key in two} == two


def test_unknown_table():
    with pytest.raises(ValueError, match="Received: 'table7'"):
        paper.read("table7")
