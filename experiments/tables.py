"""Every table of the README and the documentation, by name, from records.

A table stands between a line `<!-- table NAME -->` and a line
`<!-- end NAME -->`. `python -m experiments.report` writes what is between.
"""

import functools
import json
import pathlib
import re
import statistics
from collections.abc import Sequence

from experiments import comparisons
from experiments import costs
from experiments import digits_table
from experiments import growing
from experiments import markdown
from experiments import paired
from experiments import paper_page
from experiments import paper_tables
from experiments.reproduce import paper
from experiments.reproduce import registry
from experiments.training.glue_tasks import TASKS

_TABLE = re.compile(
    r"(<!-- table ([\w.-]+) -->\n).*?(<!-- end \2 -->\n)", re.DOTALL
)
# Rows of the README's table: the score, the records (their mean, seed by seed,
# where there are several), and the record of the soft objective.
_U4 = (("digits-ball-u4-alike",), "digits-u4-original")
_WRONG = (("digits-noise20-alike",), "digits-noise20-original")
_P2 = (("cifar-p2-alike",), "cifar-p2-original")
_P3 = (tuple(f"cifar-p3-alike-at-{r}" for r in ("0.001", "0.003", "0.01")), "")
_SST2 = (("text-sst2-teacher",), "")
_HELPS = {
    "digits, turned, as they are": ("original_accuracy", *_U4),
    "digits, right under 45 turns and shifts": ("worst_accuracy", *_U4),
    "digits, 20 % wrong labels, as they are": ("original_accuracy", *_WRONG),
    "CIFAR-10, turned, as they are": ("original_accuracy", *_P2),
    "CIFAR-10, turned, mean over 9 turns": ("mean_accuracy", *_P2),
    "CIFAR-10, crops, as they are, three rates": ("original_accuracy", *_P3),
    "CIFAR-10, crops, right under 5 shifts, three rates": (
        "worst_accuracy",
        *_P3,
    ),
    "SST-2, 1,000 sentences, labels of a teacher": (
        "original_accuracy",
        *_SST2,
    ),
}
# The methods of its columns.
_COLUMNS = ("hard 1", "hard 0.3", "ball 0.35", "soft", "plain")
_RATES = ("0.001", "0.003", "0.01")
# Records of docs/experiments.md: what is asked first, and the margin.
_EVIDENCE = {
    "digits-u4-alike": (("worst_accuracy", "hard 1"), 1.0),
    "digits-u4-original": (None, 0.0),
    "digits-u1-alike": (("worst_accuracy", "hard 1"), 1.0),
    "digits-u1-original": (None, 0.0),
    "cifar-p2-alike": (("mean_accuracy", "hard 1"), 0.0),
    "cifar-p2-original": (None, 0.0),
    "cifar-p3-alike": (("original_nll", "hard 1"), 0.0),
    **{f"cifar-p3-alike-at-{rate}": (None, 0.0) for rate in _RATES},
    "text-sst2": (("original_accuracy", "hard 1"), 0.0),
    "text-sst2-teacher": (None, 0.0),
    "text-sst2-no-dropout": (None, 0.0),
    "text-cola": (None, 0.0),
    "text-mrpc": (None, 0.0),
}


def _read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def from_record(name: str):
    """Give a function the record of that name; no table without it."""

    def decorate(function):
        @functools.wraps(function)
        def table(results: pathlib.Path) -> str:
            path = results / f"{name}.json"
            return function(_read(path)) if path.exists() else ""

        return table

    return decorate


def scores_of(record: dict, name: str, factor: float = 100) -> dict:
    """By method, a score of the runs of a record by seed."""
    found = {}
    for run in record["runs"]:
        seeds = found.setdefault(run["method"], {})
        seeds[run["seed"]] = factor * run["scores"][name]
    return found


# Results


def helps(results: pathlib.Path) -> str:
    """Does it help? The objectives beside the mean of the views."""
    rows, tests = [], []
    for name, (score, records, soft_record) in _HELPS.items():
        scores = mean_scores(results, records, score)
        if not scores:
            continue
        soft_scores = scores
        if soft_record:
            soft_scores = mean_scores(results, [soft_record], score)
        uniform = scores["uniform"]
        rows.append(
            [f"{name} ({len(uniform)})", markdown.spread(uniform.values())]
        )
        for method in _COLUMNS:
            of = soft_scores if method == "soft" else scores
            tests.append(
                paired.difference(of.get(method, {}), of.get("uniform", {}))
            )
    if not rows:
        return ""
    texts = iter(paired.columns(tests, adjusted_alone=True))
    for row in rows:
        for _ in _COLUMNS:
            mean, p = next(texts)
            row.append(f"{mean} (p {p})" if p else mean)
    header = [
        "few labels, small models (seeds)",
        "mean of the views, `uniform`",
    ]
    header += ["`Hard(1)`", "`Hard(0.3)`", "`KLBall(0.35)`", "`Soft()`"]
    header += ["single views, `plain`"]
    return (
        markdown.table(header, rows)
        + "\nScores in percent; others: minus `uniform`, on the same seeds. "
        "`plain` costs the same, in larger batches; with crops it has 10 "
        "seeds. p by a paired t-test, by Holm's method for the whole table; in "
        "Experiments for other families of tests. `Soft()` has a `uniform` of "
        "its own, with the original in every group. Three rates: the mean over "
        "them, the same for all methods. All seeds of CIFAR-10 and of SST-2 "
        "have one draw of the data, and so has `Soft()` in the first two rows; "
        "else each seed has a draw of its own.\n"
    )


def mean_scores(
    results: pathlib.Path, names: Sequence[str], score: str
) -> dict[str, dict[int, float]]:
    """A score in percent by method and seed, the mean over some records.

    Args:
        results: Folder of the records.
        names: Of the records; what not all of them have is left out.
        score: Its name.

    Returns:
        Scores by method and seed, empty where a record is missing.
    """
    paths = [results / "evidence" / f"{name}.json" for name in names]
    if not all(path.exists() for path in paths):
        return {}
    first, *others = (scores_of(_read(path), score) for path in paths)
    return {
        method: {
            seed: statistics.mean(
                [value, *(other[method][seed] for other in others)]
            )
            for seed, value in seeds.items()
            if all(seed in other.get(method, {}) for other in others)
        }
        for method, seeds in first.items()
    }


@from_record("text_quickstart")
def text_quickstart(record: dict) -> str:
    """The text quickstart."""
    accuracy = scores_of(record, "accuracy")
    loss = scores_of(record, "loss", 1)
    tests = paired.columns(
        paired.difference(of, accuracy.get("uniform", {}))
        for method, of in accuracy.items()
        if method != "uniform"
    )
    rows = [
        [
            f"`{method}`",
            str(len(of)),
            markdown.spread(of.values(), 1),
            *(("", "") if method == "uniform" else tests.pop(0)),
            markdown.spread(loss[method].values(), 3),
        ]
        for method, of in accuracy.items()
    ]
    header = ["method", "seeds", "test accuracy, %", "minus `uniform`"]
    return (
        markdown.table([*header, "p (Holm)", "test loss"], rows)
        + f"\n{markdown.origin([record])}.\n"
    )


def glue(results: pathlib.Path) -> str:
    """GLUE: a row for each method and kind of labels, a column for a task."""
    scores, made = {}, {}
    for table in ("table3", "table4"):
        for line in paper_tables.lines_of(table, "small", results):
            for record in line.records:
                settings = record["settings"]
                labels = settings["labels"]
                name = f"`{record['method']}`"
                name += f", {labels} labels" if labels else ""
                cell = scores.setdefault(name, {}).setdefault(
                    settings["task"], {}
                )
                # The two tables share runs: one of a seed counts.
                cell |= line.scores(line.cell.scores[0])
                made[name, settings["task"], record["seed"]] = record
    if not made:
        return ""
    constant = results / "glue_constant.json"
    above = ""
    if constant.exists():
        record = _read(constant)
        above = (
            " `constant` gives every example the answer that is most common "
            f"in training: {markdown.origin([record])}."
        )
    tasks = [task for task in TASKS if any(task in s for s in scores.values())]
    rows = [
        [name, *(_with_count(of.get(task, {})) for task in tasks)]
        for name, of in scores.items()
    ]
    if above:
        row = ["`constant`"]
        for task in tasks:
            value = record["scores"].get(task, {}).get(TASKS[task].metrics[0])
            row.append("" if value is None else f"{100 * value:.1f}")
        rows.insert(0, row)
    header = [f"{task} {TASKS[task].metrics[0]}" for task in tasks]
    return (
        markdown.table(["method", *header], rows)
        + "\nScores of the last epoch in percent, mean ± standard deviation "
        "(number of seeds). "
        f"{markdown.origin(made.values())}.{above}\n"
    )


def _with_count(values):
    if not values:
        return ""
    return f"{markdown.spread(values.values(), 1)} ({len(values)})"


def averages(results: pathlib.Path) -> str:
    """Averages that the paper prints and that are not those of its cells."""
    del results
    of_rows = {}
    for table in ("table3", "table4", "table6"):
        for of, value in paper.read(table):
            words = [str(v) for name, v in of.items() if name != "task"]
            key = " / ".join([table, *words])
            of_rows.setdefault(key, {})[of["task"]] = value.mean
    rows = []
    for key, values in of_rows.items():
        (printed,) = values.pop("avg")
        # MNLI counts twice, matched and mismatched.
        mean = statistics.mean(n for means in values.values() for n in means)
        # Nine rounded numbers, and their mean rounded again.
        if abs(printed - mean) > 0.12:
            rows.append([key, f"{printed:.1f}", f"{mean:.1f}"])
    return markdown.table(["row", "printed", "mean of its cells"], rows)


TABLES = (
    {
        "helps": helps,
        "quickstart": from_record("quickstart")(comparisons.compared),
        "digits": digits_table.table_of,
        "text_quickstart": text_quickstart,
        "glue": glue,
        "averages": averages,
        "mechanism-noise": from_record("evidence/mechanism-noise")(
            functools.partial(
                comparisons.during_training, steps=(400, 1200, 2400, 4000)
            )
        ),
    }
    | paper_page.TABLES
    | growing.TABLES
    | {
        name: from_record(f"benchmarks/{name}")(table)
        for name, table in costs.TABLES.items()
    }
    | {
        name: from_record(f"evidence/{name}")(
            functools.partial(
                comparisons.compared, question=question, margin=margin
            )
        )
        for name, (question, margin) in _EVIDENCE.items()
    }
    | {
        f"small-{table}": functools.partial(
            paper_tables.table_of, table, "small"
        )
        for table in registry.TABLES
    }
)


def updated(text: str, results: pathlib.Path) -> str:
    """A page with every table made anew.

    Args:
        text: The page.
        results: Folder of the records.

    Raises:
        ValueError: If a table has no name known here.
    """

    def replace(match):
        begin, name, end = match.groups()
        if name not in TABLES:
            raise ValueError(
                f"A table must be one of {sorted(TABLES)}. Received: {name!r}"
            )
        content = TABLES[name](results) or "No record yet.\n"
        return f"{begin}\n{content}\n{end}"

    return _TABLE.sub(replace, text)
