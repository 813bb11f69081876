"""The tasks of GLUE in the paper: their data and their scores."""

import dataclasses

import numpy as np
import scipy.stats
import sklearn.metrics

from experiments.training import fine_tuning
from keras_mmel.text import files
from keras_mmel.text.sources import tfds


@dataclasses.dataclass(frozen=True)
class GlueTask:
    """One task of GLUE, as TFDS has it.

    Attributes:
        name: Name of the task, and of its TFDS builder behind "glue/".
        num_classes: Number of classes; 1 is regression.
        epochs: Epochs of fine-tuning, as in appendix B of the paper.
        metrics: What is measured; the first is what section 4.2 of the paper
            reports on the development set.
        eval_splits: Development splits; scores of the first come first.
    """

    name: str
    num_classes: int
    epochs: int
    metrics: tuple[str, ...]
    eval_splits: tuple[str, ...] = ("validation",)

    @property
    def is_regression(self) -> bool:
        return self.num_classes == 1


_MATCHED = ("validation_matched", "validation_mismatched")
TASKS = {
    task.name: task
    for task in (
        GlueTask("cola", 2, 10, ("matthews", "accuracy")),
        GlueTask("sst2", 2, 10, ("accuracy",)),
        GlueTask("mrpc", 2, 10, ("accuracy", "f1")),
        GlueTask("stsb", 1, 10, ("spearman", "pearson")),
        GlueTask("qqp", 2, 3, ("accuracy", "f1")),
        GlueTask("mnli", 3, 3, ("accuracy",), _MATCHED),
        GlueTask("qnli", 2, 10, ("accuracy",)),
        GlueTask("rte", 2, 10, ("accuracy",)),
    )
}


# Data


def splits(task: GlueTask, data_dir: str | None) -> tuple[str, ...]:
    """The splits that TFDS has; downloaded where no `data_dir` is given.

    Raises:
        FileNotFoundError: If `data_dir` does not have the data.
    """
    return tuple(tfds.prepared(f"glue/{task.name}", data_dir).info.splits)


def source(
    task: GlueTask, split: str, data_dir: str | None, limit: int | None = None
) -> files.Source:
    """A split, or its first `limit` examples, as a source."""
    there = splits(task, data_dir)
    if split not in there:
        raise ValueError(
            f"glue/{task.name} must have the split {split!r}. Received: "
            f"splits {there}"
        )
    part = split if limit is None else f"{split}[:{limit}]"
    return files.from_tfds(
        f"glue/{task.name}", part, id="idx", data_dir=data_dir
    )


# Scores


def score(task: GlueTask, labels: np.ndarray, outputs: np.ndarray) -> dict:
    """The scores of a task.

    Args:
        task: The task.
        labels: `(examples,)` classes or values.
        outputs: `(examples, classes)` logits, or `(examples, 1)` values.

    Returns:
        A dict of floats. A correlation with a constant, which is not defined,
        counts as 0.

    Raises:
        ValueError: If there is nothing to score, or an output is not finite.
    """
    labels = np.asarray(labels)
    if not len(labels) or labels.min() < 0:
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


def development_scores(task: GlueTask, classifier, tables: dict) -> dict:
    """Scores of all splits; those of the first one have no suffix."""
    found = {}
    for number, (split, table) in enumerate(tables.items()):
        suffix = f"_{split.partition('_')[2]}" if number else ""
        outputs = fine_tuning.predict(classifier, table)
        for name, value in score(task, table.labels, outputs).items():
            found[name + suffix] = value
    return found


def reported(task: GlueTask, curves: dict) -> dict:
    """The scores of the last evaluation, and of the best one.

    Args:
        task: The task.
        curves: With the scores of the development set, which begin with `val_`.

    Returns:
        Scores without `val_`, under "last" and "best": the first that no other
        exceeds in the task's first metric.
    """
    values = curves[f"val_{task.metrics[0]}"]
    places = {"last": len(values) - 1, "best": int(np.argmax(values))}
    return {
        rule: {
            name.removeprefix("val_"): curve[place]
            for name, curve in curves.items()
            if name.startswith("val_")
        }
        for rule, place in places.items()
    }
