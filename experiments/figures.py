"""Every figure of the README and the documentation, from records."""

import pathlib
import statistics

import matplotlib.figure
import numpy as np

from examples import quickstart as recipe
from experiments import digits_table
from experiments import growing
from experiments import paper_tables
from experiments import pareto
from experiments import records
from keras_mmel.comparison import Comparison

# Okabe and Ito's colours: told apart by all readers and on grey print.
COLORS = {
    "da": "#8a8a8a",
    "uniform": "#0072b2",
    "mmel-h": "#d55e00",
    "mmel-s": "#009e73",
}
_PERCENT = (2, 5, 10, 20, 40)
PAPER_FIGURES = ("rivals", "lambda_p", "glue_lambda_p", "figure2")


def write(
    results: pathlib.Path, folder: pathlib.Path, scale: str = "small"
) -> list[pathlib.Path]:
    """Draw every figure that has its records.

    Args:
        results: Folder of the records.
        folder: Where the pictures go.
        scale: Of the tables of `experiments.reproduce`.

    Returns:
        The files.
    """
    found = {}
    if (results / "quickstart.json").exists():
        record = records.read_record(results / "quickstart.json")
        found["quickstart"] = quickstart(record)
    mechanism_path = results / "evidence" / "mechanism.json"
    if mechanism_path.exists():
        found["mechanism"] = mechanism(records.read_record(mechanism_path))
    if digits := digits_table.read(results):
        found["digits"] = label_loss(digits)
    for name in growing.DIALS:
        if (record := growing.record_of(name, results)) is not None:
            found[name] = pareto.draw(record)
    for table in PAPER_FIGURES:
        lines = paper_tables.lines_of(table, scale, results)
        lines = [line for line in lines if line.records]
        if len(lines) > 1:
            found[f"{scale}-{table}"] = of_table(table, lines)
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in found.items():
        # No version inside: the same records, the same file.
        figure.savefig(
            folder / f"{name}.png", dpi=130, metadata={"Software": None}
        )
    return [folder / f"{name}.png" for name in found]


# The quickstart


def quickstart(record: dict) -> matplotlib.figure.Figure:
    """Weighted views of digits, and clean against worst accuracy."""
    comparison = Comparison(record["runs"], record["baseline"])
    groups, weights = record["views"]["pixels"], record["views"]["weights"]
    figure = matplotlib.figure.Figure((9, 3.2), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(3, 2))
    panels = left.subplots(len(groups), len(groups[0]), squeeze=False)
    for row, group in enumerate(groups):
        for column, pixels in enumerate(group):
            panel = panels[row, column]
            panel.imshow(np.array(pixels), cmap="gray_r", vmin=0, vmax=16)
            panel.set_title(f"{weights[row][column]:.2f}", fontsize="small")
            panel.set_axis_off()
    left.suptitle("Views of three digits and their weights", fontsize="medium")
    recipe.clean_against_worst(comparison, right.subplots())
    return figure


# While a network learns


def mechanism(record: dict) -> matplotlib.figure.Figure:
    """What share of the views is still wrong, and what that share weighs."""
    figure = matplotlib.figure.Figure((9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    curves: dict[str, list] = {}
    for run in record["runs"]:
        curves.setdefault(run["method"], []).append(run["curves"])

    def mean(method, name):
        return np.mean([one[name] for one in curves[method]], axis=0)

    steps = next(iter(curves.values()))[0]["steps"]
    for method in curves:
        color = COLORS["uniform" if method == "uniform" else "mmel-h"]
        left.plot(steps, 100 * mean(method, "wrong"), label=method, color=color)
    left.set(yscale="log", xlabel="step", ylabel="views still wrong, %")
    left.set_yticks(_PERCENT, _PERCENT, minor=False)
    left.set_yticks([], minor=True)
    left.legend()
    wrong = mean("hard 1", "wrong")
    names = [n for n in curves["hard 1"][0] if n.startswith("weight ")]
    for name in sorted(names, key=lambda n: float(n.split()[1])):
        value = name.split()[1]
        share = mean("hard 1", name) / wrong
        right.plot(100 * wrong, share, ".-", label=f"lambda_p {value}")
    right.axhline(1, color="0.3", label="the mean")
    most = record["settings"]["num_views"]
    right.axhline(most, color="0.6", linestyle=":", label="the most there is")
    right.set(xscale="log", xlabel="views still wrong, %")
    right.set_xticks(_PERCENT, _PERCENT, minor=False)
    right.set_xticks([], minor=True)
    right.set_ylabel("their weight, in times of their share")
    right.invert_xaxis()
    right.legend(fontsize=8)
    for axes in (left, right):
        axes.grid(alpha=0.3)
    return figure


# Digits that lose their label


def label_loss(found: dict) -> matplotlib.figure.Figure:
    """Accuracy by shift, and what views without their label weigh."""
    figure = matplotlib.figure.Figure((9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    shifts = sorted({shift for _, shift in found if shift})

    def scores(method, shift, name):
        values = digits_table.scores(found[method, shift], name)
        return list(values.values())

    for number, method in enumerate(digits_table.ORDER):
        style = {"color": f"C{number}", "label": method}
        if (method, None) in found:
            level = statistics.mean(scores(method, None, "accuracy"))
            left.axhline(level, linestyle=":", **style)
            continue
        at = [shift for shift in shifts if (method, shift) in found]
        if not at:
            continue
        kind = method.partition("-")[2]
        style |= {"marker": "o", "markersize": 4}
        style["linestyle"] = {"whole": "--", "fewer": ":"}.get(kind, "-")
        values = [scores(method, shift, "accuracy") for shift in at]
        left.errorbar(
            [shift + 0.04 * (number - 3) for shift in at],
            [statistics.mean(v) for v in values],
            [statistics.stdev(v) if v[1:] else 0.0 for v in values],
            capsize=2,
            **style,
        )
        weights = [scores(method, shift, "lost_weight") for shift in at]
        right.plot(at, [statistics.mean(w) for w in weights], **style)
    left.set_ylabel("test accuracy in percent")
    right.set_ylabel("weight of views that lost\ntheir label, in percent")
    for axes in (left, right):
        axes.set(xticks=shifts, xlabel="largest shift, pixels of 8")
        axes.grid(axis="y", alpha=0.3)
    left.legend(fontsize=8)
    return figure


# Tables of the paper


def of_table(table: str, lines: list) -> matplotlib.figure.Figure:
    """A curve over lambda_p or epochs; for others a row of dots a cell."""
    figure = matplotlib.figure.Figure(layout="constrained")
    if table.endswith("lambda_p"):
        figure.set_size_inches(7, 4)
        _draw_lambda(figure.add_subplot(), lines)
    elif table == "figure2":
        rows = list(dict.fromkeys(line.cell.row for line in lines))
        height = (len(rows) + 1) // 2
        figure.set_size_inches(9, 2.7 * height)
        places = figure.subplots(height, 2, squeeze=False).flat
        for axes, row in zip(places, rows, strict=False):
            draw_curves(axes, [ln for ln in lines if ln.cell.row == row])
            axes.set_title(row)
        for axes in figure.axes[len(rows) :]:
            axes.set_axis_off()
        figure.axes[0].legend()
    else:
        figure.set_size_inches(8, 0.3 * len(lines) + 1.2)
        _draw_dots(figure.add_subplot(), lines)
    return figure


def _values(line):
    return list(line.scores(line.cell.scores[0]).values())


def _draw_dots(axes, lines):
    for place, line in enumerate(lines):
        values = _values(line)
        axes.plot(values, [place] * len(values), "o", color="C0", alpha=0.5)
        axes.plot([statistics.mean(values)], [place], "|k", markersize=14)
        if line.cell.paper:
            axes.plot([line.cell.paper.mean[0]], [place], "x", color="C3")
    names = [f"{line.cell.row}  {line.cell.column}" for line in lines]
    axes.set_yticks(range(len(lines)), names)
    axes.invert_yaxis()
    axes.set_xlabel("score in percent (dots: seeds; x: the paper, if any)")
    axes.grid(axis="x", alpha=0.3)


def _draw_lambda(axes, lines):
    for place, line in enumerate(lines):
        values = _values(line)
        axes.plot([place] * len(values), values, "o", color="C0", alpha=0.4)
    axes.plot([statistics.mean(_values(line)) for line in lines], "k-")
    names = [line.cell.column.rpartition("=")[2] for line in lines]
    axes.set_xticks(range(len(lines)), names)
    axes.set_xlabel("lambda_p (0: the hardest view, inf: the mean)")
    axes.set_ylabel("score in percent (dots: seeds)")
    axes.grid(axis="y", alpha=0.3)


def draw_curves(axes, lines: list) -> None:
    """Development scores by epoch: the mean over seeds, and their range."""
    for line in lines:
        name = "val_" + line.cell.scores[0].rpartition(".")[2]
        curves = [record["curves"] for record in line.records]
        values = 100 * np.array([curve[name] for curve in curves])
        epochs = curves[0]["val_epoch"]
        (drawn,) = axes.plot(
            epochs, values.mean(axis=0), ".-", label=line.cell.column
        )
        axes.fill_between(
            epochs,
            values.min(axis=0),
            values.max(axis=0),
            color=drawn.get_color(),
            alpha=0.15,
            linewidth=0,
        )
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set(xlabel="epoch", ylabel="score in percent")
    axes.grid(alpha=0.3)
