"""The report of a run: one HTML page that needs nothing else."""

import base64
import html
import io
import os
import pathlib
from typing import Any

import numpy as np

import keras_mmel.version
from keras_mmel.diagnostics import draw_run
from keras_mmel.diagnostics import draw_weights
from keras_mmel.diagnostics import style
from keras_mmel.diagnostics import summaries
from keras_mmel.diagnostics.remarks import remarks
from keras_mmel.diagnostics.run import as_run
from keras_mmel.pages import page
from keras_mmel.pages import pictures
from keras_mmel.pages import words

_SHOWN_VIEWS = 16
_SHOWN_GROUPS = 6


def write_report(
    run: Any, path: str | os.PathLike, title: str = "View weights of a run"
) -> None:
    """Writes one HTML page about a run.

    It has the final numbers with remarks, the curves, the weights by view and
    by class, the hardest and easiest views and the most uneven groups (images,
    or texts with the words marked that differ from the original), and the log.
    The page holds its pictures and asks for nothing from elsewhere; the same
    run gives the same page.

    Args:
        run: A `Run` or the path of a saved one; also, for a page of curves
            alone, the `History` that `fit` returns or a dict of curves.
        path: The file to write.
        title: Heading of the page.

    Raises:
        TypeError: If `run` is none of these.
        ValueError: If the run has neither a record nor a log.
        ImportError: If matplotlib is not installed.

    Example:

    ```python
    mmel.fit(groups, epochs=20, callbacks=[watch])
    keras_mmel.diagnostics.write_report(watch.run, "report.html")
    ```
    """
    run = as_run(run)
    if not run.weights and not run.logs:
        raise ValueError(
            "`run` must have records or logs to report. Received: an empty run"
        )
    sections = [page.section("", _tiles(run) + _remarks(run))]
    figure = _figure(draw_run.draw_run, run, size=(10, 6))
    sections.append(page.section("Training", figure, _CURVES))
    if run.weights:
        figure = _figure(
            draw_weights.draw_distributions,
            run.weights[-1],
            run.counted,
            run.view_names,
            size=(10, 3.4),
        )
        sections.append(
            page.section("Weights at the last record", figure, _WEIGHTS)
        )
        sections.append(_classes(run))
        if run.images is not None or run.texts is not None:
            sections.append(page.section("Views", _views(run), _HARDEST))
            sections.append(page.section("Groups", _groups(run), _GROUPS))
    sections.append(_log(run))
    html = page.page(title, _subtitle(run), sections)
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(html, encoding="utf-8")


_CURVES = (
    "R is what is trained on; the loss of the originals is comparable to that "
    "of validation. The effective number of views is the exponential of the "
    "weights' entropy."
)
_WEIGHTS = (
    "A view of weight 1 has an equal share of its group. Views without weight "
    "(padding; the original in the soft objective) are left out."
)
_HARDEST = (
    "Views of the probe with the largest and the smallest view losses. "
    "The number is the loss, the bar the weight in the group."
)
_GROUPS = "Groups of the probe whose weights are the most uneven."


def _subtitle(run):
    parts = []
    if run.objective:
        settings = {**run.objective}
        name = settings.pop("name", "objective")
        inside = ", ".join(f"{k}={v}" for k, v in settings.items())
        parts.append(f"objective {name}({inside})")
    if run.weights:
        groups, views = run.mask.shape
        parts.append(f"probe of {groups} groups of {views} views")
        parts.append(f"{len(run.weights)} records")
    parts.append(f"keras_mmel {keras_mmel.version.__version__}")
    return " · ".join(parts)


def _tiles(run):
    tiles = []
    if run.weights:
        found = run.summaries[-1]
        most = run.counted.sum(axis=1).max(initial=0)
        tiles += [
            ("step", str(run.steps[-1])),
            ("effective views", f"{found['effective_views']:.2f} of {most}"),
            ("share of the heaviest view", f"{found['heaviest_share']:.3f}"),
            ("spread of view losses", f"{found['spread']:.3g}"),
        ]
        if np.isfinite(run.lambda_p[-1]) or np.isinf(run.lambda_p[-1]):
            tiles.append(("lambda_p", f"{run.lambda_p[-1]:.3g}"))
    for name in ("original_loss", "val_loss"):
        value = run.logs[-1].get(name) if run.logs else None
        if isinstance(value, float):
            tiles.append((name, f"{value:.4g}"))
    return page.tiles(tiles)


def _remarks(run):
    return page.bullets(remarks(run))


def _figure(draw, *args, size):
    """A drawing as inline SVG."""
    style.matplotlib()
    context = style.matplotlib("pyplot").rc_context
    with context(style.SETTINGS):
        # Not one of pyplot's figures, which a notebook would show.
        figure = style.matplotlib("figure").Figure(
            figsize=size, layout="constrained"
        )
        draw(figure, *args)
        file = io.StringIO()
        figure.savefig(
            file, format="svg", metadata={"Date": None, "Creator": None}
        )
    svg = file.getvalue()
    return svg[svg.index("<svg") :]


def _classes(run):
    found = run.summaries[-1]["per_class"]
    if not found:
        return ""
    rows = [
        (
            run.class_name(index),
            str(values["groups"]),
            f"{values['effective_views']:.2f}",
            f"{values['heaviest_share']:.3f}",
            f"{values['loss']:.4g}",
        )
        for index, values in found.items()
    ]
    heading = ("class", "groups", "effective views", "heaviest share", "loss")
    return page.section("Classes", page.table(heading, rows))


def _views(run):
    kept = run.images if run.images is not None else run.texts
    order = summaries.order_by_hardness(run, -1, len(kept))
    size = min(_SHOWN_VIEWS, max(len(order) // 2, 1))
    parts = []
    for name, chosen in (
        ("Hardest", order[::-1][:size]),
        ("Easiest", order[:size]),
    ):
        cells = "".join(
            _view(run, group, view, f"group {group}, {run.view_names[view]}")
            for group, view in chosen.tolist()
        )
        kind = "images" if run.images is not None else "texts"
        parts.append(f'<h3>{name}</h3><div class="{kind}">{cells}</div>')
    return "".join(parts)


def _groups(run):
    kept = run.images if run.images is not None else run.texts
    chosen = summaries.uneven_groups(run)
    chosen = chosen[chosen < len(kept)][:_SHOWN_GROUPS]
    parts = []
    for group in chosen.tolist():
        name = f"Group {group}"
        if run.classes is not None:
            name += f", class {run.class_name(run.classes[group])}"
        cells = "".join(
            _view(run, group, view, run.view_names[view])
            for view in range(run.mask.shape[1])
            if run.mask[group, view]
        )
        kind = "images" if run.images is not None else "texts"
        parts.append(
            f'<h3>{html.escape(name)}</h3><div class="{kind}">{cells}</div>'
        )
    return "".join(parts)


def _view(run, group, view, name):
    weight = float(run.weights[-1][group, view])
    loss = float(run.losses[-1][group, view])
    if run.images is not None:
        data = base64.b64encode(pictures.png(run.images[group, view]))
        source = f"data:image/png;base64,{data.decode('ascii')}"
        content = f'<img src="{source}" alt="{html.escape(name)}">'
    else:
        texts = run.texts[group]
        text = texts[view] if view < len(texts) else ""
        content = _marked(texts[0], text)
    return page.view(name, content, weight, loss)


def _marked(original, text):
    return " ".join(
        f"<mark>{html.escape(word)}</mark>" if differs else html.escape(word)
        for word, differs in words.mark(original, text)
    )


def _log(run):
    if not run.logs:
        return ""
    names = ["epoch", "step"]
    for log in run.logs:
        names += [name for name in log if name not in names]
    rows = [
        [
            f"{value:.4g}" if isinstance(value, float) else str(value)
            for value in (log.get(name, "") for name in names)
        ]
        for log in run.logs
    ]
    table = page.table(names, rows)
    return page.section(
        "Log", f"<details><summary>All epochs</summary>{table}</details>"
    )
