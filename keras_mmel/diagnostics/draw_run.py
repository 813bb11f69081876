"""The picture of a run: losses and weights over its steps."""

from typing import Any

import numpy as np

from keras_mmel.diagnostics import statistics
from keras_mmel.diagnostics import style
from keras_mmel.diagnostics.run import Run

_LOSSES = {
    "loss": ("objective R", style.ORANGE),
    "original_loss": ("originals", style.BLUE),
    "val_loss": ("validation", style.GREEN),
}
_MOST_LINES = 6
_MOST_CLASSES = 20


def draw_run(figure: Any, run: Run) -> None:
    """Losses, effective views, weight by view, and weight by class.

    Args:
        figure: A figure of matplotlib.
        run: With logs, records or both.
    """
    losses, effective, by_view, last = figure.subplots(2, 2).ravel()
    x = np.array([log.get("step", log["epoch"]) for log in run.logs])
    _draw_losses(losses, run, x)
    _draw_effective(effective, run, x)
    _draw_by_view(by_view, run)
    if run.summaries and run.summaries[-1]["per_class"]:
        _draw_classes(last, run)
    else:
        _draw_spread(last, run)
    # Logs that come from elsewhere know epochs alone.
    unit = "step" if all("step" in log for log in run.logs) else "epoch"
    for axes in (losses, effective, by_view):
        axes.set_xlabel(unit)


def curve(run: Run, name: str) -> np.ndarray:
    """A number of the log over the epochs, NaN where it is missing.

    Args:
        run: Its logs are read.
        name: A key of the log, such as `"loss"`.

    Returns:
        Float64 `(epochs,)`.
    """
    values = [log.get(name) for log in run.logs]
    return np.array(
        [
            value if isinstance(value, (int, float)) else np.nan
            for value in values
        ],
        dtype="float64",
    )


def _draw_losses(axes, run, x):
    positive = True
    for name, (label, color) in _LOSSES.items():
        values = curve(run, name)
        shown = np.isfinite(values)
        if shown.any():
            axes.plot(
                x[shown],
                values[shown],
                color=color,
                label=label,
                marker="." if shown.sum() < 30 else None,
            )
            positive &= bool((values[shown] > 0).all())
    axes.set_title("Loss of an epoch")
    if axes.lines:
        if positive:
            axes.set_yscale("log")
            _plain_ticks(axes)
        axes.legend()


def _plain_ticks(axes):
    ticker = style.matplotlib("ticker")
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_locator(ticker.NullLocator())


def _draw_effective(axes, run, x):
    logged = curve(run, "effective_views")
    if np.isfinite(logged).any():
        axes.plot(
            x, logged, color=style.GREY, label="training (log)", marker="."
        )
    if run.weights:
        bands = []
        for weights in run.weights:
            finite = np.isfinite(weights).all(axis=1)
            values = np.exp(statistics.entropy(weights[finite]))
            bands.append(
                np.percentile(values, [10, 90])
                if values.size
                else [np.nan, np.nan]
            )
        low, high = np.array(bands).T
        axes.fill_between(
            run.steps, low, high, color=style.ORANGE, alpha=0.15, linewidth=0
        )
        axes.plot(
            run.steps,
            [found["effective_views"] for found in run.summaries],
            color=style.ORANGE,
            label="probe in inference (band: 80 % of groups)",
            marker=".",
        )
    most = int(run.counted.sum(axis=1).max(initial=0))
    title = "Effective views"
    if most:
        axes.axhline(most, color=style.INK, linestyle=(0, (3, 2)), linewidth=1)
        title += f" (dashed: {most}, equal weights)"
    axes.set_title(title)
    if axes.get_legend_handles_labels()[0]:
        axes.legend()


def _draw_by_view(axes, run):
    axes.set_title("Mean weight of each view, in equal shares")
    if not run.weights:
        return
    values = np.array([found["relative_weight"] for found in run.summaries])
    has_legend = values.shape[1] <= _MOST_LINES + 1
    for index in range(values.shape[1]):
        if not np.isfinite(values[:, index]).any():
            continue
        color = style.CYCLE[(index - 1) % len(style.CYCLE)]
        if index and not has_legend:
            color = style.ORANGE
        label = run.view_names[index]
        if not has_legend and index:
            label = "augmented" if index == 1 else None
        axes.plot(
            run.steps,
            values[:, index],
            color=color if index else style.INK,
            label=label,
            marker=".",
            linewidth=1.5 if has_legend or not index else 0.8,
        )
    if axes.lines:
        axes.legend(ncols=2)
    axes.axhline(1, color=style.INK, linestyle=(0, (3, 2)), linewidth=1)


def _draw_classes(axes, run):
    per_class = run.summaries[-1]["per_class"]
    found = sorted(
        per_class.items(), key=lambda item: item[1]["heaviest_share"]
    )[-_MOST_CLASSES:]
    places = range(len(found))
    axes.barh(
        places,
        [values["heaviest_share"] for _, values in found],
        color=style.ORANGE,
        height=0.6,
    )
    axes.set_yticks(
        places,
        [run.class_name(index) for index, _ in found],
        fontsize=8 if len(found) < 12 else 6,
        parse_math=False,
    )
    equal = statistics.mean(1 / np.maximum(run.counted.sum(axis=1), 1))
    axes.axvline(equal, color=style.INK, linestyle=(0, (3, 2)), linewidth=1)
    axes.set_title("Share of the heaviest view, by class (last record)")


def _draw_spread(axes, run):
    axes.set_title("Spread of the view losses beside lambda_p")
    axes.set_xlabel("step")
    if not run.weights:
        return
    axes.plot(
        run.steps,
        [found["spread"] for found in run.summaries],
        color=style.ORANGE,
        marker=".",
        label="standard deviation in a group",
    )
    lambdas = np.array(run.lambda_p)
    shown = np.isfinite(lambdas)
    if shown.any():
        axes.plot(
            np.array(run.steps)[shown],
            lambdas[shown],
            color=style.INK,
            label="lambda_p",
        )
    axes.legend()
