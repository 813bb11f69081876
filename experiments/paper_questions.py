"""What the paper claims: differences of two methods, and our answers.

A question has a line for every setting of ours that answers it, also where the
answer is another one.
"""

import functools
import json
import pathlib
import statistics
from collections.abc import Iterable
from typing import NamedTuple

from experiments import paired
from experiments import paper_tables
from experiments.reproduce import paper
from keras_mmel.comparison.paired import Difference

Scores = dict[int, float]

# The name that the paper gives to a method.
METHODS = {
    "baseline": "baseline",
    "da": "DA",
    "da-long": "DA+Long",
    "uniform": "UNI",
    "smart": "SMART",
    "mmel-h": "MMEL-H",
    "mmel-s": "MMEL-S",
}
# Those with records; SST-2 has none of BERT-tiny.
FEW_TASKS = ("cola", "sst2", "mrpc", "stsb", "rte")
SST2 = "P4: MiniLM, 1,000 sentences"
RATES = ("0.001", "0.003", "0.01")


class Question(NamedTuple):
    """The difference of two methods, in the paper and in a setting of ours."""

    table: str
    asked: str
    paper: str
    setting: str = ""
    ours: Difference | None = None


def gap(table: str, better: dict, other: dict) -> str:
    """The difference of two methods over all cells of the paper that have both.

    Args:
        table: Its name in `paper.json`.
        better: What the one number is of; cells agree in all else.
        other: What the other is of, with the same keys.

    Returns:
        The mean of the differences, and their range where there are several.
    """

    def means(wanted):
        return {
            tuple(v for k, v in of.items() if k not in wanted): value.mean
            for of, value in paper.read(table)
            if all(of.get(k) == v for k, v in wanted.items())
        }

    ours, theirs = means(better), means(other)
    gaps = [
        a - b
        for key in ours
        if key in theirs
        for a, b in zip(ours[key], theirs[key], strict=True)
    ]
    mean = f"{statistics.mean(gaps):+.2f}"
    if len(gaps) == 1:
        return mean
    return f"{mean} ({min(gaps):+.2f} to {max(gaps):+.2f})"


def evidence_scores(results: pathlib.Path, name: str, method: str) -> Scores:
    """Accuracy on the originals of one method of a record, by seed."""
    path = results / "evidence" / f"{name}.json"
    if not path.exists():
        return {}
    record = json.loads(path.read_text(encoding="utf-8"))
    return {
        run["seed"]: 100 * run["scores"]["original_accuracy"]
        for run in record["runs"]
        if run["method"] == method
    }


def small_scores(
    results: pathlib.Path, table: str, row: str, column: str
) -> Scores:
    """Scores of one cell at `--scale small`, by seed."""
    for line in paper_tables.lines_of(table, "small", results):
        if line.cell.row.startswith(row) and line.cell.column == column:
            return line.scores(line.cell.scores[0])
    return {}


def images(results: pathlib.Path) -> Iterable[Question]:
    """Table 1: the objectives, the mean, and single views; CIFAR."""
    short = functools.partial(
        small_scores, results, "rivals", "cifar10 ResNet8, 1000 images"
    )
    ours = {"mmel-h": "hard 1", "uniform": "uniform", "da-long": "plain"}
    for one, other in (
        ("mmel-h", "uniform"),
        ("mmel-s", "uniform"),
        ("uniform", "da"),
        ("mmel-h", "da-long"),
    ):
        asked = f"{METHODS[one]} - {METHODS[other]}, CIFAR-10"
        printed = gap(
            "table1",
            {"method": one, "dataset": "cifar10"},
            {"method": other, "dataset": "cifar10"},
        )
        setting = "ResNet-8, 1,000 images, 60 epochs"
        answer = paired.difference(short(one), short(other))
        yield Question("1", asked, printed, setting, answer)
        for rate in RATES if {one, other} <= set(ours) else ():
            scores = functools.partial(
                evidence_scores, results, f"cifar-p3-alike-at-{rate}"
            )
            answer = paired.difference(scores(ours[one]), scores(ours[other]))
            setting = f"P3: ResNet-8, 1,000 images, Adam {rate}"
            yield Question("1", asked, printed, setting, answer)
    for one in ("mmel-h", "mmel-s"):
        printed = gap(
            "table1",
            {"method": one, "dataset": "cifar100"},
            {"method": "uniform", "dataset": "cifar100"},
        )
        yield Question("1", f"{METHODS[one]} - UNI, CIFAR-100", printed)


def texts(results: pathlib.Path) -> Iterable[Question]:
    """Table 3: GLUE, development sets, labels of the teacher."""
    for one, other in (
        ("mmel-h", "uniform"),
        ("mmel-s", "uniform"),
        ("uniform", "baseline"),
    ):
        for task in FEW_TASKS:
            of = {"split": "validation", "task": task}
            printed = gap(
                "table3", {"method": one, **of}, {"method": other, **of}
            )
            asked = f"{METHODS[one]} - {METHODS[other]}, {task}"
            if task != "sst2":
                scores = functools.partial(
                    small_scores, results, "table3", task
                )
                setting, answer = "BERT-tiny", (scores(one), scores(other))
            elif (one, other) == ("mmel-h", "uniform"):
                scores = functools.partial(
                    evidence_scores, results, "text-sst2-teacher"
                )
                setting, answer = SST2, (scores("hard 1"), scores("uniform"))
            else:
                setting, answer = "", ({}, {})
            yield Question(
                "3", asked, printed, setting, paired.difference(*answer)
            )


def labels(results: pathlib.Path) -> Iterable[Question]:
    """Table 4: GLUE, labels of a teacher or of the originals."""
    for task in FEW_TASKS:
        printed = gap(
            "table4",
            {"method": "mmel-h", "task": task, "labels": "teacher"},
            {"method": "mmel-h", "task": task, "labels": "original"},
        )
        if task == "sst2":
            setting = SST2
            teacher = evidence_scores(results, "text-sst2-teacher", "hard 1")
            original = evidence_scores(results, "text-sst2", "hard 1")
        else:
            setting = "BERT-tiny"
            teacher, original = (
                small_scores(results, "table4", task, f"mmel-h {whose} labels")
                for whose in ("teacher", "original")
            )
        asked = f"MMEL-H, {task}: labels of a teacher - of the originals"
        answer = paired.difference(teacher, original)
        yield Question("4", asked, printed, setting, answer)


def views(results: pathlib.Path) -> Iterable[Question]:
    """Table 2: how many views; CIFAR."""
    row = "cifar10 ResNet8, 1000 images"
    short = functools.partial(small_scores, results, "table2", row)
    for one in ("mmel-h", "mmel-s"):
        printed = gap(
            "table2",
            {"method": one, "num_views": 20},
            {"method": one, "num_views": 2},
        )
        asked = f"{METHODS[one]}: 20 views - 2 views"
        answer = paired.difference(short(f"{one}-20"), short(f"{one}-2"))
        setting = "ResNet-8, 1,000 images, 60 epochs" if answer else ""
        yield Question("2", asked, printed, setting, answer)


def samples(results: pathlib.Path) -> Iterable[Question]:
    """Table 6: how the samples of a text are made; GLUE."""
    for name, one, other in (
        ("search", "greedy", "beam"),
        ("pairs", "separate", "concatenated"),
        ("mask_ratio", 0.4, 0.2),
    ):
        of = {"method": "mmel-h", "task": "avg"}
        printed = gap("table6", {name: one, **of}, {name: other, **of})
        asked = f"MMEL-H, mean of the tasks: {name} {one} - {other}"
        answer = paired.difference(
            mean_of_tasks(results, **{name: one}),
            mean_of_tasks(results, **{name: other}),
        )
        setting = "BERT-tiny, four tasks" if answer else ""
        yield Question("6", asked, printed, setting, answer)


def mean_of_tasks(
    results: pathlib.Path,
    search: str = "greedy",
    pairs: str = "separate",
    mask_ratio: float = 0.4,
) -> Scores:
    """Mean score of MMEL-H over the small tasks, of the seeds that all have.

    Args:
        results: Folder of the records.
        search: How the samples were made, as the next ones.
        pairs: See `search`.
        mask_ratio: See `search`.
    """
    column = f"mmel-h {search} {pairs} {mask_ratio:g}"
    of_tasks = [
        small_scores(results, "table6", task, column)
        for task in FEW_TASKS
        if task != "sst2"
    ]
    seeds = set.intersection(*(set(scores) for scores in of_tasks))
    return {
        seed: statistics.mean(scores[seed] for scores in of_tasks)
        for seed in sorted(seeds)
    }


def not_run() -> Iterable[Question]:
    """Table 5, of which there is nothing of ours."""
    for one in ("mmel-h", "mmel-s"):
        printed = gap("table5", {"method": one}, {"method": "da"})
        yield Question("5", f"{METHODS[one]} - DA, ImageNet", printed)


def of_paper(results: pathlib.Path) -> list[Question]:
    """All questions with our answers, by the number of the paper's table.

    Args:
        results: Folder of the records.
    """
    of_tables = (images, views, texts, labels, samples)
    asked = [question for make in of_tables for question in make(results)]
    asked += not_run()
    return sorted(asked, key=lambda question: question.table)
