"""The report of a run: one HTML page that needs nothing else."""

import io
import math
import os

import numpy as np

from keras_mmel import arrays
from keras_mmel import extras
from keras_mmel import whole_files
from keras_mmel.diagnostics import plots
from keras_mmel.diagnostics.run import Run
from keras_mmel.pages import page

_SHOWN_VIEWS = 16
_SHOWN_GROUPS = 6
# Where weights count as nearly equal, or nearly all on one view: the share
# of the way from 1 effective view to all of them.
_NEARLY_EQUAL = 0.98
# So much of that way may training, an epoch, and the probe differ by.
_APART = 0.05
_NEARLY_ONE = 0.25
_HEAVY = 1.5


def write_report(
    run: Run, path: str | os.PathLike, title: str = "View weights of a run"
) -> None:
    """Writes one HTML page about a run.

    It has the final numbers with remarks, the curves, the weights by view, the
    hardest and easiest views and the most uneven groups (images, or texts with
    the words marked that differ from the original). The page holds its
    pictures and asks for nothing from elsewhere; the same run gives the same
    page.

    Args:
        run: A run with records.
        path: The file to write.
        title: Heading of the page.

    Raises:
        ValueError: If the run has no records.
        ImportError: If matplotlib is not installed.

    Example:

    ```python
    mmel.fit(groups, epochs=20, callbacks=[watch])
    keras_mmel.diagnostics.write_report(watch.run, "report.html")
    ```
    """
    template = page.template("report.html")
    html = template.render(
        run=run,
        curves=_figure(plots.draw_run, run),
        weights=_figure(plots.draw_weights, run),
        title=title,
        numbers=_numbers(run),
        remarks=remarks(run),
        rows=_rows(run),
    )
    with whole_files.replacing(path) as half:
        half.write_text(html, encoding="utf-8")


def _numbers(run):
    """Names and values of what is said first."""
    summary = run.records[-1].summary
    # As in the remarks: groups may have fewer views, and one none.
    sizes = run.counted.sum(axis=1)
    size = sizes[sizes > 0].mean() if sizes.any() else 0
    numbers = [
        ("step", str(run.steps[-1])),
        ("effective views", f"{summary['effective_views']:.2f} of {size:.3g}"),
        ("share of the heaviest view", f"{summary['heaviest_share']:.3f}"),
        ("spread of view losses", f"{summary['spread']:.3g}"),
    ]
    if not math.isnan(run.lambda_p[-1]):
        numbers.append(("lambda_p", f"{run.lambda_p[-1]:.3g}"))
    for name in ("original_loss", "val_loss"):
        value = run.logs[-1].get(name) if run.logs else None
        if isinstance(value, float):
            numbers.append((name, f"{value:.4g}"))
    return numbers


def remarks(run: Run) -> list[str]:
    """Remarks on the last record of a run.

    They are rules of thumb, and each says what it saw.

    Args:
        run: With records.

    Returns:
        Sentences; empty where nothing stands out.
    """
    summary = run.records[-1].summary
    sentences = []
    if summary["not_finite"]:
        sentences.append(
            f"{summary['not_finite']} of {summary['groups']} groups have a "
            "view loss that is not finite. They are left out of all numbers "
            "here."
        )
    wrong_views = _unlike_views(run)
    if wrong_views:
        # Weights of views that are wrong would say nothing else.
        return [*sentences, wrong_views]
    counted = run.counted.sum(axis=1)
    effective, lambda_p = summary["effective_views"], run.lambda_p[-1]
    if math.isnan(effective) or math.isnan(lambda_p) or counted.max() <= 1:
        return sentences
    most = counted[counted > 0].mean()
    evenness = (effective - 1) / (most - 1)
    numbers = (
        f"{effective:.2f} of {most:.3g} views count. lambda_p is "
        f"{lambda_p:.3g}, and the view losses of a group spread by "
        f"{summary['spread']:.3g} (standard deviation)."
    )
    logged = run.logs[-1].get("effective_views") if run.logs else None
    settled = _NEARLY_ONE <= evenness <= _NEARLY_EQUAL
    differ = logged and abs(logged - effective) > _APART * (most - 1)
    if differ and not settled:
        sentences.append(
            f"In training {logged:.2f} views counted, here, in inference, "
            f"{numbers} So the two modes of the model differ, as while the "
            "statistics of BatchNormalization have not settled: train longer, "
            "or with a smaller `momentum`."
        )
    elif evenness > _NEARLY_EQUAL:
        sentences.append(
            f"The weights are nearly equal: {numbers} A smaller lambda_p, or "
            "views that differ more, would make a difference to the plain mean."
        )
    elif evenness < _NEARLY_ONE:
        sentences.append(
            f"Nearly all the weight is on one view of a group: {numbers} If "
            "training is unsteady, raise lambda_p."
        )
    heavy = [
        f"{run.view_names[index]} ({weight:.2f})"
        for index, weight in enumerate(summary["relative_weight"])
        if weight > _HEAVY
    ]
    if heavy:
        sentences.append(
            "Some views weigh far more than an equal share of 1: "
            f"{', '.join(heavy)}. Look at them: views that have lost their "
            "label are hard as well, and the weights drive the model there."
        )
    return sentences


def _unlike_views(run):
    """What is wrong with most views, as far as pictures or texts show it."""
    if run.images is None and run.texts is None:
        return None
    views = np.array(run.texts if run.images is None else run.images)
    axes = tuple(range(2, views.ndim))
    same = run.mask & (views == views[:, :1]).all(axis=axes)
    num_same, num_views = same[:, 1:].sum(), run.mask[:, 1:].sum()
    if 2 * num_same > num_views:
        return (
            f"{num_same} of {num_views} views are identical to their "
            "originals: look at the augmentation."
        )
    if run.images is None:
        return None
    is_real = np.expand_dims(run.mask, axes)
    views = np.where(is_real, views, views[:, :1])
    difference = arrays.unlike_originals(views)
    return difference and (
        f"The pictures of views are nothing like those of their originals: "
        f"{difference} An augmentation must keep the range of values."
    )


def _figure(draw, run):
    """A drawing as inline SVG, in the colours of the page."""
    # Not one of pyplot's figures, which a notebook would show.
    figure = plots.make_figure(draw, run)
    file, no_dates = io.StringIO(), {"Date": None, "Creator": None}
    with extras.need("matplotlib", "plots").rc_context(plots.SETTINGS):
        figure.savefig(file, format="svg", transparent=True, metadata=no_dates)
    svg = file.getvalue().replace(plots.INK, "currentColor")
    return page.without_control(svg[svg.index("<svg") :])


def _rows(run):
    """Headings, with the views that stand below each."""
    hardest, uneven = run.records[-1].hardest, run.records[-1].uneven
    size = min(_SHOWN_VIEWS, max(len(hardest) // 2, 1))
    rows = {"Hardest": hardest[:size], "Easiest": hardest[::-1][:size]}
    for group in uneven[:_SHOWN_GROUPS]:
        views = np.flatnonzero(run.mask[group])
        rows[run.group_name(group)] = [(group, view) for view in views]
    return {
        heading: [_view(run, *place) for place in places]
        for heading, places in rows.items()
    }


def _view(run, group, view):
    """A view, and a bar for its weight."""
    weight, loss = run.weights[-1][group, view], run.losses[-1][group, view]
    label = f"group {group}, {run.view_names[view]}: weight {weight:.2f}, "
    label += f"loss {loss:.3g}"
    share = np.clip(np.nan_to_num(weight), 0, 1)
    return {"place": (group, view), "label": label, "share": share}
