"""The table and the figure of the digits, from their records."""

import pathlib
import statistics

from examples import records
from experiments import readme_tables
from experiments import report_tables

ORDER = ("plain", "uniform", "hard", "soft", "uniform-whole", "hard-whole")
ORDER += ("uniform-fewer", "hard-fewer")
REFERENCES = {
    "hard": "uniform",
    "soft": "uniform",
    "hard-whole": "uniform-whole",
    "hard-fewer": "uniform-fewer",
}
CONTRASTS = (
    ("uniform-whole", "uniform"),
    ("hard-whole", "hard"),
    ("uniform-whole", "uniform-fewer"),
    ("hard-whole", "hard-fewer"),
)
TABLE = records.ROOT / "docs" / "tables" / "digits.md"
FIGURE = records.ROOT / "docs" / "images" / "digits.png"
_SHARES = ("lost_views", "lost_weight", "cut_views", "cut_weight")
_HEADER = ("shift", "method", "runs", "accuracy", "minus uniform")
_HEADER += ("p (Welch)", "shifted", "p (Welch)", "effective views")
_HEADER += ("label lost", "its weight", "cut", "its weight")


def text_of(found: list[dict]) -> str:
    """The records as a Markdown page."""
    found = sorted(found, key=_place)
    rows, last = [], None
    for record in found:
        shift, method = record["settings"]["shift"], record["method"]
        name = "" if shift is None else str(shift)
        rows.append([name if name != last else "", f"`{method}`"])
        last = name
        rows[-1] += _numbers(record, _reference(record, found))
    # Some were made one by one; this makes them all.
    command = "python -m experiments.digits"
    origins = dict.fromkeys(
        readme_tables.origin(record, command) for record in found
    )
    return (
        "# Digits\n\n"
        "200 digits of scikit-learn, groups of an original and five views "
        "shifted by up to so many pixels of 8. Accuracy on the other digits, "
        "as they are and shifted by a pixel, in percent (mean ± standard "
        "deviation over the runs); differences to `uniform`, of `hard-whole` "
        "and `hard-fewer` to `uniform-whole` and `uniform-fewer`, with Welch's "
        "test. Last columns, in percent: views that lost their label or over "
        "20 % of their ink, and the weight they have in the objective.\n\n"
        + report_tables.markdown(list(_HEADER), rows)
        + _contrasts(found)
        + f"\nTogether {sum(r['cpu_seconds'] for r in found) / 60:.1f} CPU "
        f"minutes. {' '.join(origins)}\n"
    )


def draw(found: list[dict], path: pathlib.Path) -> None:
    """Accuracy by shift, and what bad views weigh."""
    import matplotlib.figure

    figure = matplotlib.figure.Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    shifts = sorted({r["settings"]["shift"] or 0 for r in found} - {0})
    for number, method in enumerate(ORDER):
        of = {r["settings"]["shift"]: r for r in found if r["method"] == method}
        if not of:
            continue
        style = {"color": f"C{number}", "label": method}
        if None in of:
            level = 100 * statistics.mean(_scores(of[None], "accuracy"))
            left.axhline(level, linestyle=":", **style)
            continue
        line = {"whole": "--", "fewer": ":"}.get(method.partition("-")[2], "-")
        at = [shift for shift in shifts if shift in of]
        values = [[100 * v for v in _scores(of[s], "accuracy")] for s in at]
        left.errorbar(
            [s + 0.04 * (number - 3) for s in at],
            [statistics.mean(v) for v in values],
            [statistics.stdev(v) if v[1:] else 0.0 for v in values],
            linestyle=line,
            marker="o",
            markersize=4,
            capsize=2,
            **style,
        )
        shares = [
            100 * statistics.mean(_scores(of[s], "lost_weight")) for s in at
        ]
        right.plot(
            at, shares, linestyle=line, marker="o", markersize=4, **style
        )
    left.set_ylabel("test accuracy in percent")
    right.set_ylabel("weight of views that lost\ntheir label, in percent")
    for axes in (left, right):
        axes.set_xticks(shifts)
        axes.set_xlabel("largest shift, pixels of 8")
        axes.grid(axis="y", alpha=0.3)
    left.legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    # No version inside: the same records, the same file.
    figure.savefig(path, dpi=130, metadata={"Software": None})


def write(
    found: list[dict],
    table: pathlib.Path = TABLE,
    figure: pathlib.Path = FIGURE,
) -> tuple[pathlib.Path, pathlib.Path]:
    """Write the page and the figure."""
    table.parent.mkdir(parents=True, exist_ok=True)
    table.write_text(text_of(found), encoding="utf-8")
    draw(found, figure)
    return table, figure


def _contrasts(found):
    """What leaving views out changed, as a table; nothing without records."""
    by = {(r["method"], r["settings"]["shift"]): r for r in found}
    rows = []
    for one, other in CONTRASTS:
        for shift in sorted({s for method, s in by if method == one}):
            if (other, shift) in by:
                rows.append([f"`{one}` minus `{other}`", str(shift)])
                rows[-1] += _contrast(by[one, shift], by[other, shift])
    if not rows:
        return ""
    header = ["", "shift", "accuracy", "p (Welch)", "shifted", "p (Welch)"]
    return (
        "\nViews left out, because they are cut or whatever they are:\n\n"
        + report_tables.markdown(header, rows)
    )


def _contrast(record, other):
    cells = []
    for name in ("accuracy", "accuracy_shifted"):
        difference, p = report_tables.welch(
            *([100 * v for v in _scores(r, name)] for r in (record, other))
        )
        cells.append("" if difference is None else f"{difference:+.2f}")
        cells.append(report_tables.probability(p))
    return cells


def _place(record):
    settings = record["settings"]
    return settings["shift"] or 0, ORDER.index(record["method"])


def _reference(record, found):
    wanted = REFERENCES.get(record["method"])
    for other in found:
        same = other["settings"]["shift"] == record["settings"]["shift"]
        if same and other["method"] == wanted:
            return other
    return None


def _scores(record, name):
    return [run["scores"][name] for run in record["runs"]]


def _numbers(record, reference):
    cells = [str(len(record["runs"]))]
    for name in ("accuracy", "accuracy_shifted"):
        values = [100 * value for value in _scores(record, name)]
        cells.append(readme_tables.spread(values))
        difference = p = None
        if reference is not None:
            others = [100 * value for value in _scores(reference, name)]
            difference, p = report_tables.welch(values, others)
        if name == "accuracy":
            cells.append("" if difference is None else f"{difference:+.2f}")
        cells.append(report_tables.probability(p))
    if record["method"] == "plain":
        return [*cells, *[""] * (1 + len(_SHARES))]
    cells.append(f"{statistics.mean(_scores(record, 'effective_views')):.2f}")
    for name in _SHARES:
        cells.append(f"{100 * statistics.mean(_scores(record, name)):.1f}")
    return cells
