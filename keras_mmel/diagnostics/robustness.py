"""What breaks a model: scores by view and class, confusions, examples."""

import collections
import math
import os
import time
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_mmel import whole_files
from keras_mmel.diagnostics import probe
from keras_mmel.pages import page
from keras_mmel.scores import held_out
from keras_mmel.scores.of_views import ViewScorer
from keras_mmel.tasks import nests

_AT_ONCE = 32
_CLASSES, _CONFUSED, _EXAMPLES = 20, 12, 6  # at most
_Z = 1.959964  # of the normal distribution, for 95 %


def write_robustness_report(
    model: keras.Model,
    groups: Any,
    path: str | os.PathLike,
    class_names: Sequence[str] | None = None,
    *,
    second: keras.Model | None = None,
) -> None:
    """Writes one HTML page about which view breaks a model.

    For a classifier it has the accuracy by view, with intervals, and by class,
    the confusions that a view causes, the examples that break under most views
    and those that one view alone breaks, as pictures, or as texts with the
    words marked that differ from the original; and how many examples are made
    and scored in a second. Other models have their scores by view, and the
    examples whose loss rises most. The page holds its pictures and asks for
    nothing from elsewhere.

    Args:
        model: Any compiled `keras.Model`, or an `MMELModel`.
        groups: Batches of groups, such as `keras_mmel.data.grid_views` makes,
            or `(x, y)` with arrays.
        path: The file to write.
        class_names: A name for each class.
        second: Another model, for the same page.

    Raises:
        ValueError: If a model is not compiled, `groups` holds no groups, or a
            class has no name.
        ImportError: If Jinja is not installed, or there are pictures and Pillow
            is not.

    Example:

    ```python
    groups = keras_mmel.data.grid_views(
        test, keras_mmel.data.corruptions(severity=3), batch_size=32
    )
    keras_mmel.diagnostics.write_robustness_report(model, groups, "card.html")
    ```
    """
    template = page.template("robustness.html")
    if iter(groups) is groups:  # it is gone through several times
        groups = list(groups)
    models = {"": model}
    if second is not None:
        models = {"first": model, "second": second}
    cards = [
        _Card(place, one, groups, class_names) for place, one in models.items()
    ]
    if class_names is not None and not any(c.kind.is_classifier for c in cards):
        raise ValueError(
            "`class_names` are of a model whose one output is a classifier. "
            f"Received: class_names={class_names!r} for {model.name}"
        )
    columns = [["view", *cards[0].kind.scores.view_names]]
    for card in cards:
        columns += card.kind.columns(card.place)
        card.show_examples(groups)
    html = template.render(by_view=[*zip(*columns, strict=True)], cards=cards)
    with whole_files.replacing(path) as half:
        half.write_text(html, encoding="utf-8")


def wilson(right: float, count: float) -> tuple[float, float]:
    """The 95 % interval of a share, by Wilson.

    Args:
        right: How many are right.
        count: Of how many, above 0.

    Returns:
        Its ends, from 0 to 1.

    Example:

    ```python
    wilson(9, 10)  # (0.596, 0.982)
    ```
    """
    middle = (right + _Z**2 / 2) / (count + _Z**2)
    spread = math.sqrt(right * (count - right) / count + _Z**2 / 4)
    reach = _Z * spread / (count + _Z**2)
    return middle - reach, middle + reach


class _Card:
    """One model on the groups: what the page has of it.

    Args:
        place: Which model it is, where there are two.
        model: A compiled model.
        groups: Batches of groups, or arrays.
        class_names: Or None.
    """

    def __init__(self, place, model, groups, class_names):
        self.place = place
        self.name = place and f"{place} model, {model.name}"
        inner = getattr(model, "model", model)
        self.tokenizer = getattr(inner, "tokenizer", None)
        self.scorer = scorer = ViewScorer(model, by_view=True)
        # Traced before the clock runs.
        scorer(held_out.batches_of(groups, _AT_ONCE), steps=1)
        start = time.perf_counter()
        scores = scorer(held_out.batches_of(groups, _AT_ONCE))
        seconds = time.perf_counter() - start
        # Of several outputs each has its name.
        if "" in scores.view_values.classifiers:
            self.kind = _Classifier(scores, class_names)
        else:
            self.kind = _AnyModel(scores)
        rate = len(self.kind.mask) / seconds
        self.rate = ("examples a second", f"{rate:,.1f}")
        self.examples = {}
        self.images = self.texts = None

    def show_examples(self, groups):
        """Takes what is shown of the examples from the groups."""
        chosen = self.kind.chosen()
        wanted = np.unique([at for rows in chosen.values() for at, _ in rows])
        if not wanted.size:
            return
        batches = self._picked(groups, wanted)
        self.images = probe.images_of(batches)
        if self.images is None:
            self.texts = probe.texts_of(batches, self.tokenizer)
        for heading, rows in chosen.items():
            self.examples[heading] = [
                self._shown(at, np.searchsorted(wanted, at), views)
                for at, views in rows
            ]

    def _shown(self, at, row, views):
        """The original and views of an example, which is in that row."""
        shown = [
            {"place": (row, view), "label": self.kind.label_of(at, view)}
            for view in [0, *views]
        ]
        # By which it is found in the data.
        shown[0]["label"] = f"example {at}, {shown[0]['label']}"
        return shown

    def _picked(self, groups, wanted):
        """The views of some groups, by their places in order, in batches."""
        batches, start = [], 0
        with held_out.first_epoch(groups):
            for batch in held_out.batches_of(groups, _AT_ONCE):
                leaves = keras.tree.flatten(batch[0]["views"])
                end = start + len(leaves[0])
                rows = wanted[(wanted >= start) & (wanted < end)] - start
                start = end
                if rows.size:
                    batches.append(nests.take(tuple(batch), rows))
        again = self.scorer(batches).view_values.loss
        if not np.allclose(
            again[:, 0], self.kind.losses[wanted, 0], 1e-2, 1e-3, equal_nan=True
        ):
            raise ValueError(
                "`groups` must have the same examples in the same order in "
                "every pass, such as `image_dataset_from_directory` gives with "
                "`shuffle=False`. Received: others in a second pass"
            )
        return [batch[0]["views"] for batch in batches]


class _AnyModel:
    """What the page says of the scores of a model that may be no classifier.

    Args:
        scores: Of the model on the groups.
    """

    is_classifier = False
    not_finite = "means over them say nothing"

    def __init__(self, scores):
        self.scores = scores
        self.mask = scores.view_values.mask.astype(bool)
        self.losses = scores.view_values.loss

    def tiles(self):
        """Names and values of what is said first."""
        kinds = ("original_loss", "mean_loss", "worst_loss")
        return [(kind, f"{self.scores[kind]:.4g}") for kind in kinds]

    def remarks(self):
        """What stands out, in sentences."""
        num_broken = np.sum(self.mask & ~np.isfinite(self.losses))
        if not num_broken:
            return []
        return [
            f"The loss of {num_broken} of {self.mask.sum()} views is not "
            f"finite: {self.not_finite}."
        ]

    def columns(self, place):
        """Columns of the table by view, each below its heading.

        Args:
            place: Which model it is, where there are two.
        """
        (_, *names), *rows = self.scores.table()[: self.mask.shape[1] + 1]
        heads = [f"{name} {place}" for name in names]
        return [*zip(heads, *(cells for _, *cells in rows), strict=True)]

    def chosen(self):
        """Headings; for each, examples and those of their views to show."""
        rise = self.losses - self.losses[:, :1]
        # What is no number is worse than any.
        rise = np.where(np.isnan(rise), np.inf, rise)
        rise = np.where(self.mask, rise, -np.inf)
        order = np.argsort(-rise.max(axis=1), kind="stable")
        rows = [(at, [rise[at].argmax()]) for at in order[:_EXAMPLES]]
        return {"Their loss rises most": rows}

    def label_of(self, at, view):
        """What stands below a view of an example."""
        name = self.scores.view_names[view]
        return f"{name}: loss {self.losses[at, view]:.3g}"


class _Classifier(_AnyModel):
    """What the page says of a model with one output that is a classifier.

    Args:
        scores: Of the model on the groups.
        class_names: Names of the classes, or None.
    """

    is_classifier = True
    not_finite = "none of them is right"

    def __init__(self, scores, class_names):
        super().__init__(scores)
        output = scores.view_values.classifiers[""]
        self.label = output.label.astype(int)
        self.predicted = output.predicted.astype(int)
        self.confidence = output.confidence
        self.right = output.right & self.mask
        self.broken = self.mask & ~self.right & self.right[:, :1]
        last = max(self.label.max(), self.predicted.max())
        self.classes = range(last + 1) if class_names is None else class_names
        if isinstance(class_names, str | dict) or last >= len(self.classes):
            raise ValueError(
                "`class_names` must be a list with a name for each class. "
                f"Received: {class_names!r}, and class {last}"
            )

    def tiles(self):
        of_examples = self.right.sum(axis=1) / self.mask.sum(axis=1)
        shares = {
            "right as they are": self.right[:, 0].mean(),
            "right, mean of the views": of_examples.mean(),
            "right under every view": (of_examples == 1).mean(),
        }
        for accuracy in [*self.scores.mean_prediction.values()][:1]:
            shares["right by the mean prediction"] = accuracy
        return [(name, f"{share:.1%}") for name, share in shares.items()]

    def remarks(self):
        by_view, names = self.broken.sum(axis=0), self.scores.view_names
        worst = np.argsort(-by_view, kind="stable")[:3]
        worst = [f"{names[j]} ({by_view[j]})" for j in worst if by_view[j]]
        sentence = (
            f"{self.broken.any(1).sum()} of {self.right[:, 0].sum()} examples "
            "that are right as they are break under at least one view, most "
            f"under: {', '.join(worst) or 'none'}."
        )
        return [*super().remarks(), sentence]

    def columns(self, place):
        shown = [f"right, % (95 % interval) {place}"]
        for of_view, right in zip(self.mask.T, self.right.T, strict=True):
            if not of_view.any():
                shown.append("no example")
                continue
            low, high = wilson(right.sum(), of_view.sum())
            share = right.sum() / of_view.sum()
            text = f"{100 * share:.1f} ({100 * low:.1f} to {100 * high:.1f})"
            shown.append({"share": share, "text": text})
        return [shown, ["broken", *self.broken.sum(axis=0)]]

    def by_class(self):
        """Rows of the table by class, the heading first."""
        rows = []
        for label in np.unique(self.label[self.mask]):
            of_class = self.mask & (self.label == label)
            with np.errstate(invalid="ignore"):  # no example has such a view
                values = self.right.sum(0, where=of_class) / of_class.sum(0)
            cells = [
                "" if np.isnan(value) else f"{100 * value:.0f}"
                for value in values
            ]
            worst = np.nanargmin(values)
            if values[worst] < values[0]:
                cells[worst] = {"marked": cells[worst]}
            rows.append((np.nanmean(values), [self.classes[label], *cells]))
        rows.sort(key=lambda row: row[0])
        shown = [cells for _, cells in rows[:_CLASSES]]
        return [["class", *self.scores.view_names], *shown]

    def confusions(self):
        """Rows of a view, what it makes of a class, and how often."""
        places = np.nonzero(self.broken)
        pairs = self.label[places], self.predicted[places]
        counts = collections.Counter(zip(places[1], *pairs, strict=True))
        rows = []
        for (view, label, other), count in counts.most_common(_CONFUSED):
            of_class = self.right[:, 0] & (self.label[:, view] == label)
            right = (of_class & self.mask[:, view]).sum()
            taken = f"{self.classes[label]} is taken for {self.classes[other]}"
            view_name = self.scores.view_names[view]
            rows.append((view_name, taken, f"{count} of {right}"))
        return rows

    def chosen(self):
        counts = self.broken.sum(axis=1)
        sure = np.where(self.broken, self.confidence, 0).max(axis=1)
        order = np.lexsort((-sure, -counts))
        rows = [(at, np.flatnonzero(self.broken[at])) for at in order]
        by_several = [row for row in rows if len(row[1]) > 1]
        by_one = [row for row in rows if len(row[1]) == 1]
        return {
            "They break under most views": by_several[:_EXAMPLES],
            "One view alone breaks them": by_one[:_EXAMPLES],
        }

    def label_of(self, at, view):
        name = self.scores.view_names[view]
        predicted = self.classes[self.predicted[at, view]]
        return f"{name}: {predicted} ({self.confidence[at, view]:.2f})"
