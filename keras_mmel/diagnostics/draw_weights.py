"""Pictures of one set of view weights: distributions, and groups."""

from typing import Any

import numpy as np

from keras_mmel.diagnostics import statistics
from keras_mmel.diagnostics import style
from keras_mmel.pages import words

_CHARACTERS = 52


def draw_distributions(
    figure: Any, weights: Any, counted: Any, view_names: list[str]
) -> None:
    """Relative weights by view, and effective views by group.

    Args:
        figure: A figure or subfigure of matplotlib.
        weights: Shape `(groups, num_views)`.
        counted: Bool of the same shape: which views share the weight.
        view_names: One for each view index.
    """
    counted = np.asarray(counted, dtype=bool)
    relative = statistics.relative_weights(weights, counted)
    by_view, by_group = figure.subplots(1, 2, width_ratios=(1.6, 1))
    shown = [
        (index, relative[:, index][np.isfinite(relative[:, index])])
        for index in range(relative.shape[1])
    ]
    shown = [(index, values) for index, values in shown if values.size]
    for place, (index, values) in enumerate(shown):
        lowest, low, median, high, highest = np.percentile(
            values, [5, 25, 50, 75, 95]
        )
        color = style.INK if index == 0 else style.ORANGE
        by_view.plot([place] * 2, [lowest, highest], color=color, linewidth=1)
        by_view.plot([place] * 2, [low, high], color=color, linewidth=6)
        by_view.plot(place, median, "o", color="white", markersize=3.5)
    by_view.axhline(1, color=style.INK, linestyle=(0, (3, 2)), linewidth=1)
    by_view.set_xticks(
        range(len(shown)),
        [view_names[index] for index, _ in shown],
        rotation=30 if len(shown) > 4 else 0,
        ha="right" if len(shown) > 4 else "center",
    )
    by_view.set_ylim(bottom=0)
    by_view.set_title("Weight of each view, in equal shares")
    by_view.set_ylabel("weight x number of views")
    by_view.set_xlabel(
        "dot: median of the groups; bar: half of them; line: 90 %",
        fontsize=8,
    )
    weights = np.asarray(weights, dtype="float64")
    finite = np.isfinite(weights).all(axis=1) & counted.any(axis=1)
    effective = np.exp(statistics.entropy(weights[finite]))
    most = max(int(counted.sum(axis=1).max(initial=1)), 2)
    by_group.hist(
        effective,
        bins=np.linspace(1, most + 1e-6, 21),
        color=style.ORANGE,
    )
    by_group.set(
        title="Effective views of a group",
        xlabel=f"from 1 (one view has all) to {most} (equal)",
        ylabel="groups",
    )


def draw_image_groups(
    figure: Any,
    images: Any,
    weights: Any,
    counted: Any,
    view_names: list[str],
    names: list[str],
) -> None:
    """A row for each group: its views, and below each a bar for its weight.

    Args:
        figure: A figure or subfigure of matplotlib.
        images: Uint8 `(rows, num_views, height, width, channels)`.
        weights: Shape `(rows, num_views)`.
        counted: Bool of the same shape.
        view_names: One for each view index.
        names: One for each row.
    """
    rows, columns = np.shape(weights)
    axes = figure.subplots(rows, columns, squeeze=False)
    for row in range(rows):
        equal = 1 / max(int(np.sum(counted[row])), 1)
        for column in range(columns):
            cell = axes[row, column]
            weight = float(weights[row, column])
            if counted[row, column] or column == 0:
                _draw_image(cell, images[row, column], weight, equal)
            else:
                cell.axis("off")
        axes[row, 0].text(
            -0.08,
            0.5,
            names[row],
            transform=axes[row, 0].transAxes,
            rotation=90,
            ha="right",
            va="center",
            fontsize=8,
        )
    for column in range(columns):
        axes[0, column].set_title(view_names[column], fontsize=8)


def _draw_image(axes, image, weight, equal):
    height, width, channels = image.shape
    settings = {"cmap": "gray", "vmin": 0, "vmax": 255} if channels == 1 else {}
    axes.imshow(
        image[..., 0] if channels == 1 else image,
        extent=(0, width, height, 0),
        **settings,
    )
    top, thick = 1.06 * height, 0.09 * height
    rectangle = style.matplotlib("patches").Rectangle
    axes.add_patch(rectangle((0, top), width, thick, color=style.TRACK))
    if np.isfinite(weight):
        axes.add_patch(
            rectangle((0, top), width * weight, thick, color=style.ORANGE)
        )
    axes.plot(
        [width * equal] * 2,
        [top - 0.03 * height, top + thick + 0.03 * height],
        color=style.INK,
        linewidth=1,
    )
    axes.text(
        width,
        top + 1.4 * thick,
        f"{weight:.2f}",
        ha="right",
        va="top",
        fontsize=8,
        fontweight="bold" if weight > equal else "normal",
    )
    axes.set(xlim=(0, width), ylim=(1.42 * height, 0))
    axes.axis("off")


def draw_text_groups(
    figure: Any,
    texts: list[list[str]],
    weights: Any,
    counted: Any,
    view_names: list[str],
    names: list[str],
) -> None:
    """For each group a bar per view, with the words that differ beside it.

    Args:
        figure: A figure or subfigure of matplotlib.
        texts: Views of each row, the original first.
        weights: Shape `(rows, num_views)`.
        counted: Bool of the same shape.
        view_names: One for each view index.
        names: One for each row.
    """
    rows, columns = np.shape(weights)
    axes = figure.subplots(rows, 1, squeeze=False)[:, 0]
    for row, cell in enumerate(axes):
        shown = [
            column
            for column in range(columns)
            if (counted[row, column] or column == 0)
            and column < len(texts[row])
        ]
        values = np.nan_to_num(np.asarray(weights[row], "float64")[shown])
        places = np.arange(len(shown))
        cell.barh(places, np.ones(len(shown)), color=style.TRACK, height=0.5)
        cell.barh(places, values, color=style.ORANGE, height=0.5)
        equal = 1 / max(int(np.sum(counted[row])), 1)
        cell.axvline(equal, color=style.INK, linewidth=1, linestyle=(0, (3, 2)))
        for place, column in enumerate(shown):
            cell.text(
                1.02,
                place,
                f"{weights[row, column]:.2f}  "
                + _shortened(texts[row][0], texts[row][column], column),
                va="center",
                fontsize=8,
                parse_math=False,
            )
        cell.set_yticks(places, [view_names[column] for column in shown])
        cell.set(xlim=(0, 4), ylim=(len(shown) - 0.4, -0.6))
        cell.set_xticks([])
        cell.spines[["left", "bottom"]].set_visible(False)
        cell.tick_params(length=0)
        cell.set_title(names[row], fontsize=8, loc="left")


def _shortened(original, view, column):
    """The original's beginning, or the words of a view that differ."""
    if column == 0:
        text = view
    else:
        marked = words.mark(original, view)
        # A word that stays stands for a run of them.
        parts: list[str] = []
        for word, differs in marked:
            if differs:
                parts.append(word)
            elif not parts or parts[-1] != "…":
                parts.append("…")
        text = " ".join(parts)
    if len(text) > _CHARACTERS:
        text = text[: _CHARACTERS - 2] + " …"
    return text
