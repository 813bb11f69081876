"""Scores view by view, class by class, and of the mean prediction."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from keras_mmel.pages import page
from keras_mmel.scores import held_out
from keras_mmel.scores import summary
from keras_mmel.scores import view_values

# How often a random half of the augmented views is left out.
_DRAWS = 20
_PERCENT = ("accuracy", "acc", "ece")


class ScoresByView(dict[str, float]):
    """The scores of `evaluate_views`, and what they are by view and by class.

    As a dict it is what `evaluate_views` gives without `by_view`. `print` and
    notebooks show a table. NaN stands where no example has such a view.

    Args:
        values: Float64 arrays of all data.
        metrics: What the metrics of `values` are, by the same names.
        view_names: A name for each view, the original's first.

    Attributes:
        view_names: Likewise.
        by_view: For each score a dict from the names of the views: what
            `evaluate` gives for this view of all examples that have it; where
            a Keras mask leaves other tokens of it than of the original, a loss
            counts each example by its original.
            Classifiers have `"accuracy"` there, compiled or not.
        by_class: For each class, a number, what `by_view` is for the views of
            its examples alone. Empty unless one output is a classifier.
        mean_prediction: Accuracy, NLL and calibration error of the mean of the
            predicted probabilities over the views of an example (test-time
            augmentation), by name. Empty where labels move with the views.
        mean_prediction_spread: Their standard deviations over 20 means in which
            a random half of the augmented views is left out.
        view_values: As given: losses, predicted classes and more of each view,
            `(examples, num_views)`.

    Example:

    ```python
    scores = keras_mmel.evaluate_views(model, groups, by_view=True)
    scores["worst_accuracy"]  # right under every view
    scores.by_view["accuracy"]["turned"]
    scores.by_class[3]["accuracy"]["turned"]
    ```
    """

    def __init__(
        self,
        values: view_values.Values,
        metrics: Mapping[str, view_values.ViewMetric],
        view_names: list[str],
    ):
        super().__init__(summary.named_scores(values, metrics))
        self.view_values, self.view_names = values, view_names
        mask = values.mask.astype(bool)
        scored = summary.scored(values, metrics)

        def by_view(rows):
            columns = _columns(scored, values.classifiers, rows)
            return {
                name: dict(zip(view_names, map(float, column), strict=True))
                for name, column in columns.items()
            }

        self.by_view, self.by_class = by_view(mask), {}
        if len(values.classifiers) == 1:
            ((_, classifier),) = values.classifiers.items()
            for label in np.unique(classifier.label[mask]):
                of_class = mask & (classifier.label == label)
                self.by_class[int(label)] = by_view(of_class)
        for prefix, classifier in values.classifiers.items():
            compiled = values.metrics.get(f"{prefix}accuracy")
            # Keras's metrics count NaN as the first class.
            known = mask & np.isfinite(classifier.confidence)
            if compiled and (compiled.value != classifier.right)[known].any():
                warnings.warn(
                    f"The compiled `{prefix}accuracy` is not the share of "
                    "the most probable class, which that of the mean "
                    "prediction is. Give it another name, or compile one that "
                    "is, such as `BinaryAccuracy(threshold=0)` for logits.",
                    stacklevel=4,
                )
        self.mean_prediction: dict[str, float] = {}
        self.mean_prediction_spread: dict[str, float] = {}
        for prefix, of_means in values.of_means.items():
            rows = np.ones(of_means.nll.shape, bool)
            nll = summary.Scored(f"{prefix}nll", of_means.nll, rows, False)
            columns = _columns([nll], {prefix: of_means}, rows)
            for name, (of_all, *of_halves) in columns.items():
                self.mean_prediction[name] = float(of_all)
                spread = float(np.std(of_halves, ddof=1))
                self.mean_prediction_spread[name] = spread

    def table(self) -> list[list[str]]:
        """Makes the rows of a table, the heading first.

        Returns:
            Rows of cells, accuracies and calibration errors in percent. An NLL
            that is the loss is left out; a view that no example has has empty
            cells.
        """
        names, losses = [*self.by_view], [*self.by_view["loss"].values()]
        nlls = [*self.by_view.get("nll", {}).values()]
        if nlls and np.allclose(nlls, losses, equal_nan=True):
            names.remove("nll")
        rows: dict[str, dict] = {}
        has_examples = self.view_values.mask.any(axis=0)
        for view, is_there in zip(self.view_names, has_examples, strict=True):
            row = {name: self.by_view[name][view] for name in names}
            rows[view] = row if is_there else {}
        for heading, kind in (("mean", "mean"), ("worst of each", "worst")):
            rows[heading] = {n: self.get(f"{kind}_{n}") for n in names}
        if self.mean_prediction:
            rows["mean prediction"] = self.mean_prediction
            rows["its spread"] = self.mean_prediction_spread
        heads = [name + ", %" * name.endswith(_PERCENT) for name in names]
        table = [["view", *heads]]
        for heading, row in rows.items():
            table.append([heading, *(_number(n, row.get(n)) for n in names)])
        return table

    def __str__(self) -> str:
        return page.printed(self.table())

    def __repr__(self) -> str:
        examples, views = self.view_values.loss.shape
        return f"<ScoresByView of {examples} examples, {views} views>"

    def _repr_html_(self) -> str:
        return page.table(self.table())


def _columns(scored, classifiers, rows):
    """Each score as Keras takes it over those of each view in `rows`."""
    rights = [
        summary.Scored(f"{prefix}accuracy", classifier.right, rows, True)
        for prefix, classifier in classifiers.items()
    ]
    columns = {}
    with np.errstate(invalid="ignore"):  # of no view, NaN
        for name, value, counts, _ in [*rights, *scored]:
            counts = counts * rows
            total = np.where(counts != 0, value * counts, 0.0).sum(axis=0)
            columns[name] = total / counts.sum(axis=0)
        for prefix, classifier in classifiers.items():
            columns[f"{prefix}ece"] = [
                summary.calibration_error(
                    classifier.confidence[row, view],
                    classifier.right[row, view],
                )
                for view, row in enumerate(rows.T)
            ]
    return columns


def names_of_views(data: Any, count: int) -> list[str]:
    """The names that `grid_views` gave, or numbers.

    Args:
        data: Batches of groups; a dataset that was made of others has their
            names.
        count: How many views there are.

    Returns:
        As many names.
    """
    all_names = set(map(tuple, held_out.values_of(data, "view_names")))
    if len(all_names) == 1 and len(names := all_names.pop()) == count:
        return list(names)
    return ["original", *(f"view {place}" for place in range(1, count))]


def choices_of(views: int) -> np.ndarray:
    """Which views a mean prediction is of: all, then random halves.

    Args:
        views: Size of a group.

    Returns:
        Float32 `(choices, num_views)`; the original is in each.

    Example:

    ```python
    choices_of(5)[0]  # [1., 1., 1., 1., 1.]
    ```
    """
    random, choices = np.random.default_rng(0), np.ones((1 + _DRAWS, views))
    for row in choices[1:]:
        row[1 + random.permutation(views - 1)[: views // 2]] = 0
    return choices.astype("float32")


def _number(name, value):
    if value is None:
        return ""
    if name.endswith(_PERCENT):
        return f"{100 * value:.1f}"
    return f"{value:.3g}"
