"""Pictures for notebooks: of view weights, of groups, and of a run."""

import dataclasses
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_mmel.diagnostics import content
from keras_mmel.diagnostics import drawing
from keras_mmel.diagnostics.run import Run
from keras_mmel.diagnostics.run import as_run
from keras_mmel.pages import pictures


def plot_view_weights(
    weights: Any,
    mask: Any = None,
    *,
    view_names: Sequence[str] | None = None,
    record: int = -1,
) -> Any:
    """Which views weigh more than others, and how unevenly groups weigh.

    Args:
        weights: View weights `(groups, num_views)`, from
            `MMELModel.view_weights`, or a `Run`. NaN is not drawn.
        mask: None, or bool of the same shape, `False` for padding.
        view_names: A name for each view index.
        record: Which record of a `Run`.

    Returns:
        The figure of matplotlib.

    Raises:
        ValueError: If shapes do not match, a weight is negative, or there is
            no such record.
        ImportError: If matplotlib is not installed.

    Example:

    ```python
    weights = mmel.view_weights({"views": views}, labels)
    plot_view_weights(weights)
    ```
    """
    run = _run_of(weights, mask, view_names, record)
    return drawing.make_figure(drawing.draw_weights, run, record)


def plot_groups(
    views: Any,
    weights: Any = None,
    mask: Any = None,
    *,
    rows: int = 4,
    order: "str | Sequence[int]" = "uneven",
    view_names: Sequence[str] | None = None,
    record: int = -1,
) -> Any:
    """Groups with their views, images or texts, and the weight of each.

    Args:
        views: A `Run` with images or texts; or images of shape `(groups,
            num_views, height, width, channels)`, alone or in a batch of
            groups; or for each group a list of texts (strings, pairs or
            `keras_mmel.text.Augmented`).
        weights: View weights `(groups, num_views)`; not for a `Run`.
        mask: None, or bool `(groups, num_views)`, `False` for padding.
        rows: How many groups to show.
        order: `"uneven"`: those with the most uneven weights; `"first"`; or
            the numbers of the groups.
        view_names: A name for each view index.
        record: Which record of a `Run`.

    Returns:
        The figure of matplotlib.

    Raises:
        ValueError: If there is nothing to show or shapes do not match.
        ImportError: If matplotlib is not installed.

    Example:

    ```python
    weights = mmel.view_weights({"views": images}, labels)
    plot_groups(images, weights, rows=3)
    ```
    """
    if isinstance(views, Run):
        run = _run_of(views, mask, view_names, record)
    else:
        if isinstance(views, Mapping) and "views" in views:
            mask = views.get("mask") if mask is None else mask
            views = views["views"]
        held = _images_or_texts(views)
        run = _run_of(weights, mask, view_names, record, **held)
    if run.images is None and run.texts is None:
        raise ValueError(
            "`views` must hold images or texts. Received: a run without them"
        )
    is_texts = run.images is None
    draw = drawing.draw_texts if is_texts else drawing.draw_images
    chosen = _choose(order, run, record, rows)
    return drawing.make_figure(draw, run, record, chosen)


def plot_run(run: Any) -> Any:
    """Losses and view weights over a run.

    Args:
        run: A `Run`, the path of a saved one, the `History` that `fit` returns,
            or a dict of curves, one number per epoch (what there is of `loss`,
            `original_loss`, `val_loss` and `effective_views` is drawn).

    Returns:
        The figure of matplotlib.

    Raises:
        TypeError: If `run` is none of these.
        ValueError: If there is nothing to draw.
        ImportError: If matplotlib is not installed.

    Example:

    ```python
    history = mmel.fit(groups, epochs=20, callbacks=[watch])
    plot_run(watch.run)
    plot_run(history)
    ```
    """
    run = as_run(run)
    if not drawing.panels(run):
        raise ValueError(
            "`run` must have records or a curve of `loss`, `original_loss`, "
            "`val_loss` or `effective_views`. Received: a run without them"
        )
    return drawing.make_figure(drawing.draw_run, run)


def _run_of(weights, mask, view_names, record, **held):
    """A run with one record, or the given run under other names."""
    names = [] if view_names is None else [str(name) for name in view_names]
    if isinstance(weights, Run):
        if mask is not None:
            raise ValueError(
                "`mask` must be left out for a `Run`, which has its own. "
                f"Received: mask of shape {np.shape(mask)}"
            )
        names = names or weights.view_names
        run = dataclasses.replace(weights, view_names=names)
    else:
        weights = np.asarray(weights, dtype="float32")
        if weights.ndim != 2:
            raise ValueError(
                "`weights` must have shape (groups, num_views). "
                f"Received: weights.shape={weights.shape}"
            )
        if (weights < 0).any():
            raise ValueError(
                "`weights` must not be negative: they are shares of a group. "
                f"Received: a smallest one of {np.nanmin(weights)}"
            )
        if mask is None:
            mask = np.ones(weights.shape, dtype=bool)
        # The soft objective gives the original no weight.
        soft = weights.shape[1] > 1 and not weights[:, 0].any()
        run = Run(mask, original_counts=not soft, view_names=names, **held)
        run.add(weights, np.zeros_like(weights), step=0, epoch=0)
    count = len(run.weights)
    if not -count <= record < count:
        raise ValueError(
            f"`record` must be the number of one of {count} records. "
            f"Received: record={record}"
        )
    return run


def _images_or_texts(views):
    if isinstance(views, (list, tuple)):
        for row in views:
            if not isinstance(row, (list, tuple)):
                raise ValueError(
                    "`views` must hold a list of texts for each group. "
                    f"Received: a {type(row).__name__} in place of a list"
                )
        return {"texts": [list(map(content.as_text, row)) for row in views]}
    views = np.asarray(views) if hasattr(views, "shape") else views
    found = pictures.find_images(views)
    if found is None:
        raise ValueError(
            "`views` must be images of shape (groups, num_views, height, "
            "width, channels) or lists of texts. "
            f"Received: {getattr(views, 'shape', type(views).__name__)}"
        )
    return {"images": pictures.thumbnails(found)}


def _choose(order, run, record, rows):
    if rows < 1:
        raise ValueError(f"`rows` must be at least 1. Received: rows={rows}")
    available = len(run.mask)
    if isinstance(order, str):
        if order not in ("uneven", "first"):
            raise ValueError(
                '`order` must be "uneven", "first" or numbers of groups. '
                f"Received: order={order!r}"
            )
        uneven = run.records[record].uneven
        order = uneven if order == "uneven" else range(available)
    chosen = np.asarray(order, dtype="int64")[:rows]
    if not len(chosen) or chosen.min() < 0 or chosen.max() >= available:
        raise ValueError(
            f"There are {available} groups to show. "
            f"Received: rows={rows}, order={order!r}"
        )
    return chosen
