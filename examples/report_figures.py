"""Figures of the report: scores with their spread, and the sweep of lambda."""

import base64
import io
import statistics


def as_image(table: str, lines: list) -> str | None:
    """A figure of a table as a `data:` address; None where none helps.

    Args:
        table: those of a sweep of lambda_p give a curve over it, others a row
            of dots for every method.
        lines: `report_tables.Line`s.
    """
    lines = [line for line in lines if line.runs]
    if len(lines) < 2:
        return None
    import matplotlib.figure

    figure = matplotlib.figure.Figure(figsize=(8, 0.3 * len(lines) + 1.2))
    axes = figure.add_subplot()
    if table.endswith("lambda_p"):
        figure.set_size_inches(7, 4)
        draw_lambda(axes, lines)
    else:
        draw_dots(axes, lines)
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=110, bbox_inches="tight")
    text = base64.b64encode(file.getvalue()).decode("ascii")
    return f"data:image/png;base64,{text}"


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
    axes.set_xlabel("score in percent (dots: seeds; x: the paper)")
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
    axes.set_ylabel("score in percent")
    axes.grid(axis="y", alpha=0.3)
