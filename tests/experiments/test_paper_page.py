"""The page of the paper's tables: its numbers, ours, and what is not run."""

import pathlib

import pytest

from experiments import RESULTS
from experiments import paper_page
from experiments import paper_questions
from experiments.reproduce import paper

RECORDS = pathlib.Path(__file__).resolve().parents[2] / RESULTS


@pytest.fixture(scope="module")
def rows():
    """Lines of the table of the paper's differences beside ours."""
    return paper_page.compared(RECORDS).splitlines()


def test_a_gap_is_the_mean_over_all_cells_that_have_both():
    # Table 1, CIFAR-10: 93.16 - 93.00, 94.31 - 94.11, 94.70 - 94.30, 94.85 -
    # 94.62.
    found = paper_questions.gap(
        "table1",
        {"method": "mmel-h", "dataset": "cifar10"},
        {"method": "uniform", "dataset": "cifar10"},
    )
    assert found == "+0.25 (+0.16 to +0.40)"


def test_a_gap_of_one_cell_has_no_range():
    # Table 4, RTE: 72.2 - 65.3.
    found = paper_questions.gap(
        "table4",
        {"method": "mmel-h", "task": "rte", "labels": "teacher"},
        {"method": "mmel-h", "task": "rte", "labels": "original"},
    )
    assert found == "+6.90"


@pytest.mark.parametrize("number", range(1, 7))
def test_every_number_of_the_paper_stands_on_the_page(number):
    page = (RECORDS.parents[1] / "docs/paper.md").read_text(encoding="utf-8")
    _, begin, rest = page.partition(f"<!-- table paper-table{number}")
    printed = begin + rest.partition("\n### ")[0]
    cells = [
        cell.strip()
        for line in printed.splitlines()
        for cell in line.split("|")
    ]
    numbers = [cell for cell in cells if cell[:1].isdigit()]
    assert len(numbers) == len(paper.read(f"table{number}"))


@pytest.mark.slow
def test_what_is_not_run_is_said(rows):
    (row,) = (row for row in rows if "ImageNet" in row and "MMEL-H" in row)
    assert "not run" in row
    assert "not run" in paper_page.overview(pathlib.Path("no records"))


def test_the_labels_of_a_teacher_are_compared_with_the_originals(rows):
    # From the runs of two records, by hand: the mean of ten differences.
    (row,) = (row for row in rows if "sst2: labels of a teacher" in row)
    teacher = paper_questions.evidence_scores(
        RECORDS, "text-sst2-teacher", "hard 1"
    )
    original = paper_questions.evidence_scores(RECORDS, "text-sst2", "hard 1")
    assert set(teacher) == set(original) and len(teacher) == 10
    mean = sum(teacher[seed] - original[seed] for seed in teacher) / 10
    assert f"{mean:+.2f} (" in row
    assert row.rstrip(" |").endswith("the same")
