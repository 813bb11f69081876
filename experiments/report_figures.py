"""Figures of the report: scores with their spread, sweeps, and curves."""

import io
import statistics


def as_png(table: str, lines: list) -> bytes | None:
    """A figure of a table as a PNG file; None where none helps.

    Args:
        table: those of a sweep of lambda_p give a curve over it, `figure2` a
            curve over epochs, others a row of dots for every method.
        lines: `report_tables.Line`s.
    """
    lines = [line for line in lines if line.runs]
    if len(lines) < 2:
        return None
    import matplotlib.figure

    figure = matplotlib.figure.Figure(layout="constrained")
    if table.endswith("lambda_p"):
        figure.set_size_inches(7, 4)
        draw_lambda(figure.add_subplot(), lines)
    elif table == "figure2":
        rows = list(dict.fromkeys(line.cell.row for line in lines))
        figure.set_size_inches(9, 2.7 * ((len(rows) + 1) // 2))
        places = figure.subplots((len(rows) + 1) // 2, 2, squeeze=False)
        for axes in places.flat[len(rows) :]:
            axes.set_axis_off()
        for axes, row in zip(places.flat, rows, strict=False):
            draw_curves(axes, [ln for ln in lines if ln.cell.row == row])
            axes.set_title(row)
        places.flat[0].legend()
    else:
        figure.set_size_inches(8, 0.3 * len(lines) + 1.2)
        draw_dots(figure.add_subplot(), lines)
    file = io.BytesIO()
    # Without the version of matplotlib in it, so that it changes less often.
    figure.savefig(file, format="png", dpi=110, metadata={"Software": None})
    return file.getvalue()


def draw_dots(axes, lines: list) -> None:
    """One row for every cell: each seed a dot, the mean a line."""
    for place, line in enumerate(lines):
        values = line.values[0]
        axes.plot(values, [place] * len(values), "o", color="C0", alpha=0.5)
        axes.plot([statistics.mean(values)], [place], "|k", markersize=14)
        if line.cell.paper:
            axes.plot([line.cell.paper.mean[0]], [place], "x", color="C3")
    names = [f"{line.cell.row}  {line.cell.column}" for line in lines]
    axes.set_yticks(range(len(lines)), names)
    axes.invert_yaxis()
    dots = "score in percent (dots: seeds"
    with_paper = any(line.cell.paper for line in lines)
    axes.set_xlabel(dots + ("; x: the paper)" if with_paper else ")"))
    axes.grid(axis="x", alpha=0.3)


def draw_lambda(axes, lines: list) -> None:
    """Accuracy over lambda_p, from the maximum (0) to the mean (inf)."""
    places = range(len(lines))
    for place, line in enumerate(lines):
        values = line.values[0]
        axes.plot([place] * len(values), values, "o", color="C0", alpha=0.4)
    axes.plot(places, [statistics.mean(line.values[0]) for line in lines], "k-")
    names = [line.cell.column.rpartition("=")[2] for line in lines]
    axes.set_xticks(places, names)
    axes.set_xlabel("lambda_p (0: the hardest view, inf: the mean)")
    axes.set_ylabel("score in percent (dots: seeds)")
    axes.grid(axis="y", alpha=0.3)


def draw_curves(axes, lines: list) -> None:
    """Development scores by epoch: the mean over seeds, and their range."""
    for line in lines:
        metric = line.cell.scores[0].rpartition(".")[2]
        curves = [record["curves"] for record in line.records]
        epochs = curves[0]["val_epoch"]
        columns = list(
            zip(*(curve[f"val_{metric}"] for curve in curves), strict=True)
        )
        means = [100 * statistics.mean(column) for column in columns]
        (drawn,) = axes.plot(epochs, means, ".-", label=line.cell.column)
        low = [100 * min(column) for column in columns]
        high = [100 * max(column) for column in columns]
        axes.fill_between(
            epochs, low, high, color=drawn.get_color(), alpha=0.15, linewidth=0
        )
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("epoch")
    axes.set_ylabel("score in percent")
    axes.grid(alpha=0.3)
