"""The paper's differences beside ours."""

import json

from tests.recomputed import printed
from tests.recomputed import records
from tests.recomputed import small
from tests.recomputed import statistics

HEADS = (
    *("table", "difference", "paper", "ours: setting"),
    *("seeds", "ours (95 %)", "sign"),
)
NAMES = {
    "mmel-h": "MMEL-H",
    "mmel-s": "MMEL-S",
    "uniform": "UNI",
    "da": "DA",
    "da-long": "DA+Long",
    "baseline": "baseline",
}
OF_P3 = {"mmel-h": "hard 1", "uniform": "uniform", "da-long": "plain"}
RATES = ("0.001", "0.003", "0.01")
TASKS = {
    "cola": "matthews",
    "sst2": "",
    "mrpc": "accuracy",
    "stsb": "spearman",
    "rte": "accuracy",
}
SHORT = "ResNet-8, 1,000 images, 60 epochs"
FOUR = "BERT-tiny, four tasks"
# How samples are made where nothing else is said.
MADE = {"search": "greedy", "pairs": "separate", "mask_ratio": 0.4}
P4 = "P4: MiniLM, 1,000 sentences"


def paper_gaps(numbers, table, one, other):
    """Differences of the paper's cells that differ in these settings alone.

    Args:
        numbers: The paper's, by table.
        table: Its name.
        one: Settings of the first cell.
        other: Those of the second, with the same keys.
    """

    def rest(cell):
        values = {"mean", "std", "hours", *one}
        return {key: cell[key] for key in cell if key not in values}

    def matching(wanted):
        return [c for c in numbers[table] if wanted.items() <= c.items()]

    gaps = []
    for first in matching(one):
        for second in matching(other):
            if rest(first) == rest(second):
                pair = first["mean"], second["mean"]
                if not isinstance(pair[0], list):
                    pair = [pair[0]], [pair[1]]
                gaps += [a - b for a, b in zip(*pair, strict=True)]
    return gaps


def _evidence(found, name, method):
    runs = found[f"evidence/{name}.json"]["runs"]
    return {
        run["seed"]: 100 * run["scores"]["original_accuracy"]
        for run in runs
        if run["method"] == method
    }


def _glue(found, task, method, labels, made=MADE, folder="small/glue/"):
    """The last score of the small BERT in percent, by seed."""
    wanted = {"task": task, "labels": None if method == "baseline" else labels}
    views = (1,) if method == "baseline" else (5,)
    made = {} if method == "baseline" else made
    return {
        record["seed"]: 100 * record["scores"]["last"][TASKS[task]]
        for path, record in found.items()
        if path.startswith(folder)
        and not path.endswith("-teacher.json")
        and record["method"] == method
        and record["settings"]["lambda_p"] in (None, 1.0)
        and record["settings"]["num_views"] in views
        and wanted.items() <= record["settings"].items()
        and made.items() <= (record["settings"]["data"] or {}).items()
    }


def _images(found):
    """Table 1: of each question the words, two settings, and our answers."""
    for one, other in (
        ("mmel-h", "uniform"),
        ("mmel-s", "uniform"),
        ("uniform", "da"),
        ("mmel-h", "da-long"),
    ):
        pair = [small.runs(found, method, 50) for method in (one, other)]
        ours = {SHORT: [small.accuracy(runs) for runs in pair]}
        for rate in RATES if {one, other} <= OF_P3.keys() else ():
            name = f"cifar-p3-alike-at-{rate}"
            ours[f"P3: ResNet-8, 1,000 images, Adam {rate}"] = [
                _evidence(found, name, OF_P3[m]) for m in (one, other)
            ]
        yield _asked(1, "CIFAR-10", one, other, ours, dataset="cifar10")
    for one in ("mmel-h", "mmel-s"):
        yield _asked(1, "CIFAR-100", one, "uniform", {}, dataset="cifar100")


def _texts(found):
    """Table 3."""
    for one, other in (
        ("mmel-h", "uniform"),
        ("mmel-s", "uniform"),
        ("uniform", "baseline"),
    ):
        for task in TASKS:
            ours = {}
            if task != "sst2":
                ours["BERT-tiny"] = [
                    _glue(found, task, m, "teacher") for m in (one, other)
                ]
            elif (one, other) == ("mmel-h", "uniform"):
                ours[P4] = [
                    _evidence(found, "text-sst2-teacher", m)
                    for m in ("hard 1", "uniform")
                ]
            of = {"split": "validation", "task": task}
            yield _asked(3, task, one, other, ours, **of)


def _labels(found):
    """Table 4."""
    whose = ("teacher", "original")
    for task in TASKS:
        if task == "sst2":
            names = ("text-sst2-teacher", "text-sst2")
            ours = {P4: [_evidence(found, name, "hard 1") for name in names]}
        else:
            pair = [_glue(found, task, "mmel-h", labels) for labels in whose]
            ours = {"BERT-tiny": pair}
        of = {"method": "mmel-h", "task": task}
        settings = [of | {"labels": labels} for labels in whose]
        words = f"MMEL-H, {task}: labels of a teacher - of the originals"
        yield 4, words, settings, ours


def _views(found):
    """Table 2."""
    for one in ("mmel-h", "mmel-s"):
        settings = [{"method": one, "num_views": n} for n in (20, 2)]
        pair = [
            small.accuracy(small.runs(found, one, 50, views=n)) for n in (20, 2)
        ]
        ours = {SHORT: pair} if all(pair) else {}
        yield 2, f"{NAMES[one]}: 20 views - 2 views", settings, ours


def _samples(found):
    """Table 6."""
    for key, *values in (
        ("search", "greedy", "beam"),
        ("pairs", "separate", "concatenated"),
        ("mask_ratio", 0.4, 0.2),
    ):
        of = {"method": "mmel-h", "task": "avg"}
        settings = [of | {key: value} for value in values]
        asked = f"MMEL-H, mean of the tasks: {key} {values[0]} - {values[1]}"
        pair = [_mean_of_tasks(found, MADE | {key: value}) for value in values]
        yield 6, asked, settings, {FOUR: pair} if all(pair) else {}


def _mean_of_tasks(found, made):
    """Of each seed that all tasks but SST-2 have."""
    of_tasks = [
        _glue(found, task, "mmel-h", "teacher", made, "small/table6/glue/")
        for task in TASKS
        if task != "sst2"
    ]
    return {
        seed: sum(scores[seed] for scores in of_tasks) / len(of_tasks)
        for seed in of_tasks[0]
        if all(seed in scores for scores in of_tasks)
    }


def _not_run():
    """Table 5."""
    for one in ("mmel-h", "mmel-s"):
        yield _asked(5, "ImageNet", one, "da", {})


def _questions(found):
    """All of them, by the number of the paper's table."""
    of_tables = (_images, _views, _texts, _labels, _samples)
    asked = [question for make in of_tables for question in make(found)]
    asked += _not_run()
    return sorted(asked, key=lambda question: question[0])


def _asked(number, where, one, other, ours, **of):
    settings = [{"method": method, **of} for method in (one, other)]
    return number, f"{NAMES[one]} - {NAMES[other]}, {where}", settings, ours


def table(name, found):
    """The lines of `paper-compared`.

    Args:
        name: Of the table; there is one.
        found: All records.
    """
    del name
    numbers = json.loads(records.PAPER.read_text("utf-8"))
    lines = printed.heads(*HEADS, left=2)
    for number, words, settings, ours in _questions(found):
        gaps = paper_gaps(numbers, f"table{number}", *settings)
        said = _paper(gaps)
        firsts = [str(number), words, said]
        answered = {k: records.paired(*pair) for k, pair in ours.items()}
        if not answered:
            lines.append(printed.row(*firsts, "not run", "", "", ""))
        for setting, differences in answered.items():
            texts = _ours(statistics.mean(gaps), differences)
            lines.append(printed.row(*firsts, setting, *texts))
            firsts = ["", "", ""]
    return [*lines, printed.caption("95")]


def _paper(gaps):
    if not gaps:
        return {"missing"}
    mean = printed.number(statistics.mean(gaps), "+.2f")
    if len(gaps) == 1:
        return mean
    ends = (printed.number(end, "+.2f") for end in (min(gaps), max(gaps)))
    return printed.joined("{} ({} to {})", mean, *ends)


def _ours(of_paper, differences):
    """Seeds, difference with its interval, and what becomes of the sign."""
    mean = statistics.mean(differences)
    low, high = statistics.interval(differences)
    texts = (printed.number(value, "+.2f") for value in (mean, low, high))
    sign = "the same" if (mean > 0) == (of_paper > 0) else "another"
    if low <= 0 <= high:
        sign = "open"
    if abs(of_paper) < 0.005:
        sign = "no sign in the paper"
    said = printed.joined("{} ({} to {})", *texts)
    return str(len(differences)), said, sign
