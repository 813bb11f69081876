"""The picture of the README, drawn from the record of the quickstart.

    python -m experiments.quickstart_figure

Left: views of a few digits with the weights that MMEL-H gives them. Right:
test loss and effective number of views during training.
"""

import argparse
import json
import pathlib

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator
from matplotlib.ticker import NullLocator

from experiments import RESULTS

# Okabe and Ito's colours: told apart by all readers and on grey print.
COLORS = {
    "da": "#8a8a8a",
    "uniform": "#0072b2",
    "mmel-h": "#d55e00",
    "mmel-s": "#009e73",
}
INK = "#333333"


def draw(record_path, figure_path):
    """Draw a record.

    Args:
        record_path: what `examples.quickstart` wrote.
        figure_path: the picture; its ending decides the format.
    """
    record = json.loads(pathlib.Path(record_path).read_text(encoding="utf-8"))
    style = {
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": INK,
        "text.color": INK,
        "axes.labelcolor": INK,
    }
    with plt.rc_context(style):
        figure = plt.figure(figsize=(10, 4.4), layout="constrained")
        left, right = figure.subfigures(1, 2, width_ratios=(1.25, 1))
        draw_views(left, record["views"])
        draw_curves(right, record)
        path = pathlib.Path(figure_path)
        path.parent.mkdir(parents=True, exist_ok=True)
        # No date and no version inside: the same record, the same file.
        metadata = {"Software": None} if path.suffix == ".png" else None
        figure.savefig(path, dpi=150, metadata=metadata)
        plt.close(figure)


def draw_views(figure, views):
    """A row for each digit: the views and, below each, its weight."""
    pixels, weights = np.array(views["pixels"]), np.array(views["weights"])
    rows, columns = weights.shape
    figure.suptitle(
        f"Views of {rows} training digits and their weights in MMEL-H after "
        f"{views['after_steps']} steps\n(bar: weight of the view in its "
        "group; dashed: equal weights)",
        fontsize=10,
    )
    axes = figure.subplots(rows, columns, squeeze=False)
    for row in range(rows):
        for column in range(columns):
            draw_view(
                axes[row, column],
                pixels[row, column],
                weights[row, column],
                1 / columns,
            )
    for column in range(columns):
        name = "original" if column == 0 else f"view {column}"
        axes[0, column].set_title(name, fontsize=9)


def draw_view(axes, pixels, weight, equal):
    height, width = pixels.shape
    axes.imshow(
        pixels, cmap="gray_r", vmin=0, vmax=16, extent=(0, width, height, 0)
    )
    box = {"facecolor": "none", "edgecolor": "#bbbbbb", "linewidth": 0.8}
    axes.add_patch(plt.Rectangle((0, 0), width, height, **box))
    bar, thickness = height + 0.5, 0.7
    track = plt.Rectangle((0, bar), width, thickness, color="#e8e8e8")
    filled = plt.Rectangle(
        (0, bar), width * weight, thickness, color=COLORS["mmel-h"]
    )
    axes.add_patch(track)
    axes.add_patch(filled)
    axes.plot(
        [width * equal] * 2,
        [bar - 0.25, bar + thickness + 0.25],
        color=INK,
        linestyle=(0, (2, 1)),
        linewidth=1,
    )
    axes.text(
        width,
        bar + thickness + 0.3,
        f"{weight:.2f}",
        ha="right",
        va="top",
        fontweight="bold" if weight > equal else "normal",
    )
    axes.set(xlim=(-0.1, width + 0.1), ylim=(height + 2.8, -0.1))
    axes.axis("off")


def draw_curves(figure, record):
    """Means over the seeds, with a band of one standard deviation."""
    loss_axes, views_axes = figure.subplots(2, 1, sharex=True)
    steps = record["settings"]["steps_per_epoch"]
    for method, color in COLORS.items():
        for axes, name in (
            (loss_axes, "test_loss"),
            (views_axes, "effective_views"),
        ):
            curves = [
                run["curves"][name]
                for run in record["runs"]
                if run["method"] == method and name in run["curves"]
            ]
            if not curves:
                continue
            mean, deviation = np.mean(curves, axis=0), np.std(curves, axis=0)
            x = steps * np.arange(1, len(mean) + 1)
            axes.plot(x, mean, color=color, label=method, marker=".")
            axes.fill_between(
                x,
                mean - deviation,
                mean + deviation,
                color=color,
                alpha=0.15,
                linewidth=0,
            )
    seeds = record["settings"]["seeds"]
    seeds = f"{seeds} seed" + "s" * (seeds > 1)
    loss_axes.set_title(f"Test loss (mean of {seeds})", fontsize=10)
    loss_axes.set_yscale("log")
    loss_axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    loss_axes.yaxis.set_major_formatter("{x:g}")
    loss_axes.yaxis.set_minor_locator(NullLocator())
    loss_axes.legend(frameon=False, ncols=2)
    views = record["settings"]["num_views"]
    views_axes.set_title(
        f"Effective number of views (of {views}; mmel-s weighs {views - 1})",
        fontsize=10,
    )
    views_axes.set(xlabel="step")


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m experiments.quickstart_figure",
        description=__doc__.partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--record", default=f"{RESULTS}/quickstart.json")
    parser.add_argument("--figure", default="docs/images/quickstart.png")
    args = parser.parse_args(argv)
    draw(args.record, args.figure)


if __name__ == "__main__":
    main()
