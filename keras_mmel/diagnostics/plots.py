"""Pictures of a run by matplotlib: its course, its weights, its groups."""

from collections.abc import Callable
from typing import Any

import numpy as np

from keras_mmel import extras
from keras_mmel.diagnostics.run import Run
from keras_mmel.pages import figures

# Okabe and Ito's colours: told apart by all readers and on grey print.
_BLUE, _ORANGE, _GREEN = "#0072b2", "#d55e00", "#009e73"
_CYCLE = (_ORANGE, _BLUE, _GREEN, "#cc79a7", "#56b4e9", "#e69f00")
INK, _GREY = "#333333", "#8a8a8a"
_DASHED = {"color": INK, "linestyle": (0, (3, 2)), "linewidth": 1}
SETTINGS = {
    "font.size": 9,
    "text.parse_math": False,  # names may have dollars
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.titlesize": 10,
    "boxplot.boxprops.color": INK,
    "boxplot.capprops.color": INK,
    "boxplot.medianprops.color": _ORANGE,
    "boxplot.whiskerprops.color": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    # Text stays text, and the same picture gives the same file.
    "svg.fonttype": "none",
    "svg.hashsalt": "keras_mmel",
}
_LOSSES = {
    "loss": ("objective R", _ORANGE),
    "original_loss": ("originals", _BLUE),
    "val_loss": ("validation", _GREEN),
}


def plot_run(run: Run) -> Any:
    """Losses and view weights over a run.

    Args:
        run: A run with records.

    Returns:
        The figure of matplotlib.

    Raises:
        ValueError: If there is nothing to draw.
        ImportError: If matplotlib is not installed.

    Example:

    ```python
    mmel.fit(groups, epochs=20, callbacks=[watch])
    plot_run(watch.run)
    ```
    """
    return make_figure(draw_run, run)


def plot_groups(run: Run, rows: int = 4) -> Any:
    """The groups of the most uneven weights: their images, with the weights.

    Args:
        run: A run with records and images. Texts are in `write_report`.
        rows: How many groups to show.

    Returns:
        The figure of matplotlib.

    Raises:
        ValueError: If there is nothing to draw.
        ImportError: If matplotlib is not installed.
    """
    if run.images is None:
        raise ValueError(
            "`run` must have images: `plot_groups` draws pictures, and "
            "`write_report` shows all others. Received: a run without images"
        )
    return make_figure(_draw_groups, run, rows)


def make_figure(draw: Callable, run: Run, *args: Any) -> Any:
    """A figure of matplotlib with a drawing.

    Args:
        draw: Called with the figure, the run and `args`.
        run: What to draw.
        *args: Settings of the drawing.

    Returns:
        The figure.

    Raises:
        ValueError: If the run has no records.
    """
    if not run.weights:
        raise ValueError(
            "`run` must have records: give the one of a `ViewWeights` that saw "
            "a `fit`. Received: a run without records"
        )
    with extras.need("matplotlib", "plots").rc_context(SETTINGS):
        figure = figures.new_figure()
        draw(figure, run, *args)
    return figure


def draw_run(figure: Any, run: Run) -> None:
    """Draws losses, effective views, weight by view, and spread of the losses.

    Args:
        figure: An empty figure of matplotlib.
        run: A run with records.
    """
    figure.set_size_inches(10, 6)
    panels = (_draw_losses, _draw_effective, _draw_by_view, _draw_spread)
    for axes, draw in zip(figure.subplots(2, 2).flat, panels, strict=True):
        draw(axes, run)


def _curve(run, name):
    """Steps and values of a number of the log, where it is finite."""
    points = [
        (log["step"], log[name])
        for log in run.logs
        if isinstance(log.get(name), (int, float)) and np.isfinite(log[name])
    ]
    return np.array(points, "float64").reshape(-1, 2).T


def _finish(axes, title):
    axes.set(title=title, xlabel="step")
    axes.xaxis.get_major_locator().set_params(integer=True)
    if axes.get_legend_handles_labels()[0]:
        axes.legend()


def _draw_losses(axes, run):
    for name, (label, color) in _LOSSES.items():
        x, values = _curve(run, name)
        if values.size:
            axes.plot(x, values, color=color, label=label, marker=".")
    # A logarithmic axis needs something to show, and nothing at or below 0.
    if axes.dataLim.ymin > 0:
        ticker = extras.need("matplotlib.ticker", "plots")
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_locator(ticker.NullLocator())
    _finish(axes, "Loss of an epoch")


def _draw_effective(axes, run):
    x, logged = _curve(run, "effective_views")
    if logged.size:
        axes.plot(x, logged, color=_GREY, label="training (log)", marker=".")
    bands = np.full((len(run.records), 2), np.nan)
    for band, record in zip(bands, run.records, strict=True):
        if np.isfinite(record.effective).any():
            band[:] = np.nanpercentile(record.effective, [10, 90])
    axes.fill_between(run.steps, *bands.T, color=_ORANGE, alpha=0.15, lw=0)
    label = "probe in inference (band: 80 % of groups)"
    means = [summary["effective_views"] for summary in run.summaries]
    axes.plot(run.steps, means, color=_ORANGE, label=label, marker=".")
    most = int(run.counted.sum(axis=1).max(initial=0))
    axes.axhline(most, **_DASHED)
    _finish(axes, f"Effective views (dashed: {most}, equal weights)")


def _draw_by_view(axes, run):
    values = np.array([s["relative_weight"] for s in run.summaries])
    for index, of_view in enumerate(values.T):
        if np.isfinite(of_view).any():
            color = _CYCLE[(index - 1) % len(_CYCLE)] if index else INK
            # More names than colours would tell nothing.
            label = run.view_names[index] if index <= len(_CYCLE) else None
            axes.plot(run.steps, of_view, color=color, label=label, marker=".")
    axes.axhline(1, **_DASHED)
    _finish(axes, "Mean weight of each view, in equal shares")


def _draw_spread(axes, run):
    spreads = [summary["spread"] for summary in run.summaries]
    label = "standard deviation in a group"
    axes.plot(run.steps, spreads, color=_ORANGE, marker=".", label=label)
    lambdas = np.array(run.lambda_p)
    if np.isfinite(lambdas).any():
        lambdas[np.isinf(lambdas)] = np.nan
        axes.plot(run.steps, lambdas, color=INK, label="lambda_p")
    _finish(axes, "Spread of the view losses beside lambda_p")


def draw_weights(figure: Any, run: Run) -> None:
    """Draws relative weights by view and effective views by group, at the end.

    Args:
        figure: An empty figure of matplotlib.
        run: A run with records.
    """
    figure.set_size_inches(9, 3.2)
    relative = run.records[-1].relative
    by_view, by_group = figure.subplots(1, 2, width_ratios=(1.6, 1))
    weights = [of_view[np.isfinite(of_view)] for of_view in relative.T]
    shown = [index for index, values in enumerate(weights) if values.size]
    by_view.boxplot(
        [weights[index] for index in shown], whis=(5, 95), showfliers=False
    )
    by_view.axhline(1, **_DASHED)
    names = [run.view_names[index] for index in shown]
    turned = {"rotation": 30, "ha": "right"} if len(shown) > 4 else {}
    by_view.set_xticklabels(names, **turned)
    by_view.set(
        title="Weight of each view, in equal shares",
        xlabel="orange: median of the groups; box: half of them; line: 90 %",
        ylabel="weight x number of views",
        ylim=(0, None),
    )
    effective = run.records[-1].effective
    effective = effective[np.isfinite(effective) & run.counted.any(axis=1)]
    most = max(int(run.counted.sum(axis=1).max(initial=1)), 2)
    bins = np.linspace(1, most + 1e-6, 21)
    by_group.hist(effective, bins=bins, color=_ORANGE)
    by_group.set(
        title="Effective views of a group",
        xlabel=f"from 1 (one view has all) to {most} (equal)",
        ylabel="groups",
    )


def _draw_groups(figure, run, rows):
    """A row for each group: its views, and below each a bar for its weight."""
    groups, weights = run.records[-1].uneven[:rows], run.weights[-1]
    _, columns, height, width, _ = np.shape(run.images)
    # Pictures are 0.9 wide, in columns of 1 and rows of this height.
    tall = 0.9 * height / width
    step = tall + 0.4
    figure.set_size_inches(columns + 1, len(groups) * step + 0.5)
    axes = figure.subplots()
    for row, group in enumerate(groups):
        equal_share = 1 / max(run.counted[group].sum(), 1)
        bottom = row * step + tall
        for view in np.flatnonzero(run.mask[group]):
            picture = run.images[group, view][..., :3]
            picture = picture.repeat(3 // picture.shape[-1], axis=-1)
            place = (view, view + 0.9, bottom, row * step)
            axes.imshow(picture, extent=place, interpolation="nearest")
            weight = weights[group, view]
            shares = 0.9, 0.9 * np.nan_to_num(weight)
            colors = "#e2e2e2", _ORANGE
            axes.barh(bottom + 0.1, shares, 0.1, left=view, color=colors)
            font = {"fontsize": 8, "ha": "right", "va": "center"}
            font["fontweight"] = "bold" if weight > equal_share else "normal"
            axes.text(view + 0.9, bottom + 0.24, f"{weight:.2f}", font)
    axes.set(xlim=(-0.1, columns), ylim=(len(groups) * step, -0.1))
    axes.set_xticks(np.arange(columns) + 0.45, run.view_names)
    names = [run.group_name(group).replace(", ", "\n") for group in groups]
    middles = step * np.arange(len(groups)) + tall / 2
    axes.set_yticks(middles, names, parse_math=False)
    axes.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
    axes.spines[:].set_visible(False)
