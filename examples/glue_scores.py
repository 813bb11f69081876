"""Scores of GLUE, and a table of the records."""

import statistics

import numpy as np
import scipy.stats
import sklearn.metrics

from examples import options
from examples import records
from examples.glue_tasks import TASKS


def score(task, labels, outputs):
    """The scores of a task.

    Args:
        task: a `GlueTask`.
        labels: (examples,) classes or values.
        outputs: (examples, classes) logits, or (examples, 1) values.

    Returns:
        A dict of floats. A correlation with a constant, which is not defined,
        counts as 0.
    """
    labels = np.asarray(labels)
    if not len(labels) or (not task.is_regression and labels.min() < 0):
        raise ValueError(
            "`labels` must be there to score against; -1 stands for a hidden "
            f"one. Received: labels={labels[:5].tolist()}..."
        )
    if not np.isfinite(outputs).all():
        raise ValueError("`outputs` must be finite. Received: NaN or infinity")
    found = outputs[:, 0] if task.is_regression else outputs.argmax(axis=1)
    return {name: _METRICS[name](labels, found) for name in task.metrics}


def _correlation(function):
    def correlate(labels, found):
        if np.ptp(found) == 0 or np.ptp(labels) == 0:
            return 0.0
        return float(function(labels, found).statistic)

    return correlate


_METRICS = {
    "accuracy": lambda y, p: float(sklearn.metrics.accuracy_score(y, p)),
    # Of class 1, "equivalent" or "duplicate".
    "f1": lambda y, p: float(sklearn.metrics.f1_score(y, p, zero_division=0.0)),
    "matthews": lambda y, p: float(sklearn.metrics.matthews_corrcoef(y, p)),
    "pearson": _correlation(scipy.stats.pearsonr),
    "spearman": _correlation(scipy.stats.spearmanr),
}


def choose_epoch(task, curves, rule):
    """Index into the evaluations of the one that is reported.

    Args:
        task: a `GlueTask`.
        curves: with `val_` and the task's first metric.
        rule: "last", or "best": the first that no other one exceeds in the
            task's first metric on the development set.

    Returns:
        The index.
    """
    values = curves[f"val_{task.metrics[0]}"]
    return int(np.argmax(values)) if rule == "best" else len(values) - 1


def reported(task, curves, rule):
    """All scores of the evaluation that is reported, without `val_`."""
    index = choose_epoch(task, curves, rule)
    return {
        name.removeprefix("val_"): values[index]
        for name, values in curves.items()
        if name.startswith("val_")
    }


def print_table(folder, rule):
    """One line for each method, labels and main settings, over the seeds."""
    groups = {}
    for record in records.read_records(folder):
        settings = record["settings"]
        if settings["method"] == "teacher":
            continue
        line = (
            settings["student"].rpartition("/")[2],
            options.described(settings),
            settings["labels"] or "",
            str(settings["epochs"]),
            f"{settings['learning_rate']:g}",
            str(settings["limit"] or "all"),
        )
        scores = groups.setdefault(line, {}).setdefault(settings["task"], [])
        task = TASKS[settings["task"]]
        scores.append(100 * record["scores"][rule][task.metrics[0]])
    tasks = [t for t in TASKS if any(t in found for found in groups.values())]
    if not tasks:
        print(f"no records in {folder}")
        return
    heads = [f"{t} {TASKS[t].metrics[0]}" for t in tasks]
    width = max(20, *(len(head) + 2 for head in heads))
    names = ("student", "method", "labels", "epochs", "rate", "examples")
    start = "{:16} {:8} {:8} {:>6} {:>6} {:>8}".format(*names)
    print(start + "".join(f"{head:>{width}}" for head in heads))
    for line, found in groups.items():
        text = "{:16} {:8} {:8} {:>6} {:>6} {:>8}".format(*line)
        for task in tasks:
            text += f"{_summary(found.get(task, [])):>{width}}"
        print(text)


def _summary(scores):
    if not scores:
        return "-"
    spread = statistics.stdev(scores) if len(scores) > 1 else 0.0
    return f"{statistics.mean(scores):.1f} +- {spread:.1f} ({len(scores)})"
