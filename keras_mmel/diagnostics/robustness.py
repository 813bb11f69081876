"""What breaks a model: scores by view and class, confusions, examples."""

import collections
import math
import os
import time
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import keras
import numpy as np

from keras_mmel import whole_files
from keras_mmel.diagnostics import probe
from keras_mmel.pages import page
from keras_mmel.pages import pictures
from keras_mmel.scores import held_out
from keras_mmel.scores.of_views import ViewScorer
from keras_mmel.tasks import nests

_AT_ONCE = 32
_CLASSES, _CONFUSED, _EXAMPLES = 20, 12, 6  # at most
_Z = 1.959964  # of the normal distribution, for 95 %

_NOTES = {
    "Score by view": "Broken: right as they are, and wrong under this view.",
    "By class": "Right, in percent, hardest class first, worst view marked.",
    "Confusions": "What a view makes of examples that are right as they are.",
    "Examples": "Below a view what it is taken for, and the probability of it.",
    "Scores by view": "Losses and metrics, each over all examples.",
    "Losses": "Below a view its loss.",
}


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
        ImportError: If there are pictures, and Pillow is not installed.

    Example:

    ```python
    groups = keras_mmel.data.grid_views(
        test, keras_mmel.data.corruptions(severity=3), batch_size=32
    )
    keras_mmel.diagnostics.write_robustness_report(model, groups, "card.html")
    ```
    """
    if iter(groups) is groups:  # it is gone through several times
        groups = list(groups)
    cards = [_Card("first" if second else "", model, groups, class_names)]
    if second is not None:
        cards.append(_Card("second", second, groups, class_names))
    columns = [["view", *cards[0].scores.view_names]]
    sections = []
    for card in cards:
        columns += card.columns()
        sections.append(page.section(card.name, card.summary()))
    by_view = page.table([*zip(*columns, strict=True)])
    is_classifier = cards[0].found is not None
    heading = "Score by view" if is_classifier else "Scores by view"
    sections.append(_section(heading, by_view))
    for card in cards:
        for heading, content in card.details(groups):
            sections.append(_section(heading, content, card.name))
    examples, views = cards[0].mask.shape
    subtitle = f"{examples} examples under {views} views · "
    subtitle += f"keras_mmel {version('keras-mmel')}"
    html = page.page("Which view breaks the model", subtitle, sections)
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


def _section(heading, content, name=""):
    title = f"{heading} · {name}" if name else heading
    return page.section(title, content, _NOTES[heading])


class _Card:
    """One model on the groups: what the page says of it.

    Args:
        place: Which model it is, where there are two.
        model: A compiled model.
        groups: Batches of groups, or arrays.
        class_names: Or None.
    """

    def __init__(self, place, model, groups, class_names):
        self.scorer = scorer = ViewScorer(model, by_view=True)
        # Traced before the clock runs.
        scorer(held_out.batches_of(groups, _AT_ONCE), steps=1)
        start = time.perf_counter()
        self.scores = scorer(held_out.batches_of(groups, _AT_ONCE))
        seconds = time.perf_counter() - start
        values = self.scores.view_values
        self.mask, self.losses = values.mask.astype(bool), values.loss
        self.rate = len(self.mask) / seconds
        self.name = place and f"{place} model, {model.name}"
        inner = getattr(model, "model", model)
        self.tokenizer = getattr(inner, "tokenizer", None)
        outputs = [*values.classifiers.values()]
        # The one output that is a classifier, or None.
        self.found = outputs[0] if len(outputs) == 1 else None
        self.class_names = class_names
        if self.found is None:
            return
        self.right = self.found.right & self.mask
        self.broken = self.mask & ~self.right & self.right[:, :1]
        classes = int(max(self.found.label.max(), self.found.predicted.max()))
        named = len(class_names) if class_names is not None else classes + 1
        if isinstance(class_names, str | dict) or classes >= named:
            raise ValueError(
                "`class_names` must be a list with a name for each class. "
                f"Received: {class_names!r}, and class {classes}"
            )

    def summary(self):
        """Tiles, and what stands out."""
        rate = ("examples a second", f"{self.rate:,.1f}")
        if self.found is None:
            kinds = ("original_loss", "mean_loss", "worst_loss")
            losses = [(kind, f"{self.scores[kind]:.4g}") for kind in kinds]
            tiles = page.tiles([*losses, rate])
            return page.Html(tiles + page.bullets(self._remarks()))
        of_examples = self.right.sum(axis=1) / self.mask.sum(axis=1)
        shares = {
            "right as they are": self.right[:, 0].mean(),
            "right, mean of the views": of_examples.mean(),
            "right under every view": (of_examples == 1).mean(),
        }
        for accuracy in [*self.scores.mean_prediction.values()][:1]:
            shares["right by the mean prediction"] = accuracy
        of_shares = ((name, f"{share:.1%}") for name, share in shares.items())
        by_view, names = self.broken.sum(axis=0), self.scores.view_names
        worst = np.argsort(-by_view, kind="stable")[:3]
        worst = [f"{names[j]} ({by_view[j]})" for j in worst if by_view[j]]
        sentence = (
            f"{self.broken.any(1).sum()} of {self.right[:, 0].sum()} examples "
            "that are right as they are break under at least one view, most "
            f"under: {', '.join(worst) or 'none'}."
        )
        bullets = page.bullets([*self._remarks(), sentence])
        top = page.tiles([*of_shares, rate]), bullets
        return page.Html("".join(top))

    def _remarks(self):
        num_broken = np.sum(self.mask & ~np.isfinite(self.losses))
        if not num_broken:
            return []
        of_all = f"{num_broken} of {self.mask.sum()} views"
        return [f"The loss of {of_all} is not finite: none of them is right."]

    def columns(self):
        """Columns of the table by view, with their headings."""
        if self.found is None:
            rows = self.scores.table()[: self.mask.shape[1] + 1]
            return [*zip(*rows, strict=True)][1:]
        place = self.name.partition(" ")[0]
        shown: list = [f"right, % (95 % interval) {place}"]
        for of_view, right in zip(self.mask.T, self.right.T, strict=True):
            low, high = wilson(right.sum(), max(of_view.sum(), 1))
            share = right.sum() / max(of_view.sum(), 1)
            text = f"{100 * share:.1f} ({100 * low:.1f} to {100 * high:.1f})"
            bar = page.Html(page.bar(share) + text)
            shown.append(bar if of_view.any() else "no example")
        broken = [str(count) for count in self.broken.sum(axis=0)]
        return [shown, ["broken", *broken]]

    def details(self, groups):
        """Headings and contents of the other sections."""
        if self.found is not None:
            yield "By class", self._by_class()
            yield "Confusions", self._confusions()
            yield "Examples", self._examples(groups)
        else:
            yield "Losses", self._examples(groups)

    def _by_class(self):
        rows = []
        for label in np.unique(self.found.label[self.mask]):
            of_class = self.mask & (self.found.label == label)
            with np.errstate(invalid="ignore"):  # no example has such a view
                values = self.right.sum(0, where=of_class) / of_class.sum(0)
            cells = [f"{100 * value:.0f}" for value in values]
            worst = np.nanargmin(values)
            if values[worst] < values[0]:
                cells[worst] = page.Html(f"<mark>{cells[worst]}</mark>")
            rows.append((np.nanmean(values), [self._class(label), *cells]))
        rows.sort(key=lambda row: row[0])
        shown = [cells for _, cells in rows[:_CLASSES]]
        table = page.table([["class", *self.scores.view_names], *shown])
        return page.Html(f'<div class="narrow">{table}</div>')

    def _confusions(self):
        found, places = self.found, np.nonzero(self.broken)
        pairs = found.label[places], found.predicted[places]
        counts = collections.Counter(zip(places[1], *pairs, strict=True))
        rows = []
        for (view, label, other), count in counts.most_common(_CONFUSED):
            of_class = self.right[:, 0] & (found.label[:, view] == label)
            right = (of_class & self.mask[:, view]).sum()
            taken = f"{self._class(label)} is taken for {self._class(other)}"
            view_name = self.scores.view_names[view]
            rows.append((view_name, taken, f"{count} of {right}"))
        return page.table(rows) if rows else "None."

    def _examples(self, groups):
        chosen = self._chosen()
        wanted = np.unique([at for rows in chosen.values() for at, _ in rows])
        if not wanted.size:
            return "None."
        shown = self._picked(groups, wanted)
        images = probe.images_of(shown)
        texts = (
            probe.texts_of(shown, self.tokenizer) if images is None else None
        )
        kind, html = "texts" if images is None else "images", ""
        for heading, rows in chosen.items():
            html += f"<h3>{page.escape(heading)}</h3>" if rows else ""
            for at, views in rows:
                row, cells = np.searchsorted(wanted, at), ""
                for view in [0, *views]:
                    said = self._said(at, view)
                    cells += pictures.view((row, view), said, images, texts)
                html += f'<div class="{kind}">{cells}</div>'
        return page.Html(html)

    def _chosen(self):
        """Headings; for each, examples and those of their views that broke."""
        if self.found is None:
            rise = np.where(
                self.mask, self.losses - self.losses[:, :1], -np.inf
            )
            order = np.argsort(-rise.max(axis=1), kind="stable")
            rows = [(at, [rise[at].argmax()]) for at in order[:_EXAMPLES]]
            return {"Their loss rises most": rows}
        counts = self.broken.sum(axis=1)
        sure = np.where(self.broken, self.found.confidence, 0).max(axis=1)
        order = np.lexsort((-sure, -counts))
        rows = [(at, np.flatnonzero(self.broken[at])) for at in order]
        by_several = [row for row in rows if len(row[1]) > 1]
        by_one = [row for row in rows if len(row[1]) == 1]
        return {
            "They break under most views": by_several[:_EXAMPLES],
            "One view alone breaks them": by_one[:_EXAMPLES],
        }

    def _class(self, label):
        names, label = self.class_names, int(label)
        return str(label if names is None else names[label])

    def _said(self, at, view):
        name = self.scores.view_names[view]
        if self.found is None:
            return f"{name}: loss {self.losses[at, view]:.3g}"
        predicted = self._class(self.found.predicted[at, view])
        return f"{name}: {predicted} ({self.found.confidence[at, view]:.2f})"

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
            again[:, 0], self.losses[wanted, 0], 1e-2, 1e-3, equal_nan=True
        ):
            raise ValueError(
                "`groups` must have the same examples in the same order in "
                "every pass, such as `image_dataset_from_directory` gives with "
                "`shuffle=False`. Received: others in a second pass"
            )
        return [batch[0]["views"] for batch in batches]
