"""Pictures for notebooks: of view weights, of groups, and of a run."""

import dataclasses
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_mmel.diagnostics import draw_run
from keras_mmel.diagnostics import draw_weights
from keras_mmel.diagnostics import style
from keras_mmel.diagnostics import summaries
from keras_mmel.diagnostics.run import Run
from keras_mmel.diagnostics.run import as_run
from keras_mmel.pages import pictures
from keras_mmel.pages import words


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
    run = _run_of(weights, mask, view_names)
    _check_record(run, record)
    pyplot = style.matplotlib("pyplot")
    with pyplot.rc_context(style.SETTINGS):
        figure = pyplot.figure(figsize=(9, 3.2), layout="constrained")
        draw_weights.draw_distributions(
            figure, run.weights[record], run.counted, run.view_names
        )
    return figure


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
        run = _run_of(views, mask, view_names)
    else:
        if isinstance(views, Mapping) and "views" in views:
            mask = views.get("mask") if mask is None else mask
            views = views["views"]
        run = _run_of(weights, mask, view_names)
        run.images, run.texts = _images_or_texts(views)
        _check_sizes(run)
    _check_record(run, record)
    kept = run.images if run.images is not None else run.texts
    if kept is None:
        raise ValueError(
            "`views` must hold images or texts. Received: a run without them"
        )
    chosen = _choose(order, run, record, rows, len(kept))
    pyplot = style.matplotlib("pyplot")
    names = [f"group {group}" for group in chosen]
    if run.classes is not None:
        names = [
            f"{name}, {run.class_name(run.classes[group])}"
            for name, group in zip(names, chosen, strict=True)
        ]
    others = (
        run.weights[record][chosen],
        run.counted[chosen],
        run.view_names,
        names,
    )
    num_views = run.mask.shape[1]
    with pyplot.rc_context(style.SETTINGS):
        if run.images is not None:
            size = (max(1.0 * num_views, 3), 1.5 * len(chosen) + 0.3)
            figure = pyplot.figure(figsize=size, layout="constrained")
            draw_weights.draw_image_groups(figure, run.images[chosen], *others)
        else:
            size = (9, (0.22 * num_views + 0.4) * len(chosen))
            figure = pyplot.figure(figsize=size, layout="constrained")
            texts = [run.texts[group] for group in chosen]
            draw_weights.draw_text_groups(figure, texts, *others)
    return figure


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
        ImportError: If matplotlib is not installed.

    Example:

    ```python
    history = mmel.fit(groups, epochs=20, callbacks=[watch])
    plot_run(watch.run)
    plot_run(history)
    ```
    """
    run = as_run(run)
    pyplot = style.matplotlib("pyplot")
    with pyplot.rc_context(style.SETTINGS):
        figure = pyplot.figure(figsize=(10, 6), layout="constrained")
        draw_run.draw_run(figure, run)
    return figure


def _run_of(weights, mask, view_names):
    """A run with one record, or the given run under other names."""
    if isinstance(weights, Run):
        if mask is not None:
            raise ValueError(
                "`mask` must be left out for a `Run`, which has its own. "
                f"Received: mask of shape {np.shape(mask)}"
            )
        run = weights
        if not run.weights:
            raise ValueError(
                "The run must have a record. Received: a run without one"
            )
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
        run = Run(mask=mask, original_counts=not soft)
        run.add(weights, np.zeros_like(weights), step=0, epoch=0)
    if view_names is not None:
        names = [str(name) for name in view_names]
        if len(names) != run.mask.shape[1]:
            raise ValueError(
                f"`view_names` must have {run.mask.shape[1]} names, one for "
                f"each view. Received: view_names={names}"
            )
        return dataclasses.replace(run, view_names=names)
    return run


def _images_or_texts(views):
    found = None
    if not isinstance(views, (list, tuple)):
        array = np.asarray(views) if hasattr(views, "shape") else views
        found = pictures.find_images(array)
    if found is not None:
        return pictures.thumbnails(found), None
    if isinstance(views, (list, tuple)):
        for row in views:
            if not isinstance(row, (list, tuple)):
                raise ValueError(
                    "`views` must hold a list of texts for each group. "
                    f"Received: a {type(row).__name__} in place of a list"
                )
        return None, [[words.as_text(view) for view in row] for row in views]
    raise ValueError(
        "`views` must be images of shape (groups, num_views, height, width, "
        "channels) or lists of texts. "
        f"Received: {getattr(views, 'shape', type(views).__name__)}"
    )


def _check_sizes(run):
    """Raises ValueError where views and weights do not match."""
    groups, num_views = run.mask.shape
    kept = run.images if run.images is not None else run.texts
    # Pictures of later groups may have been left out to save memory.
    if len(kept) > groups or (run.texts is not None and len(kept) < groups):
        raise ValueError(
            "`views` and `weights` must have the same groups. Received: "
            f"{len(kept)} groups of views for {groups} groups of weights"
        )
    if run.images is not None and run.images.shape[1] != num_views:
        raise ValueError(
            "`views` and `weights` must have the same number of views. "
            f"Received: {run.images.shape[1]} views for {num_views} weights"
        )
    for group, texts in enumerate(run.texts or []):
        needed = int(np.flatnonzero(run.mask[group]).max(initial=-1)) + 1
        if len(texts) < needed:
            raise ValueError(
                "`views` must have a text for each view. Received: "
                f"{len(texts)} texts for the {needed} views of group {group}"
            )


def _check_record(run, record):
    count = len(run.weights)
    if not -count <= record < count:
        raise ValueError(
            f"`record` must be the number of one of {count} records. "
            f"Received: record={record}"
        )


def _choose(order, run, record, rows, available):
    if rows < 1:
        raise ValueError(f"`rows` must be at least 1. Received: rows={rows}")
    if not isinstance(order, str):
        chosen = np.asarray(order, dtype="int64")[:rows]
    elif order == "uneven":
        chosen = summaries.uneven_groups(run, record)
        chosen = chosen[chosen < available][:rows]
    elif order == "first":
        chosen = np.arange(min(rows, available))
    else:
        raise ValueError(
            '`order` must be "uneven", "first" or numbers of groups. '
            f"Received: order={order!r}"
        )
    if not len(chosen) or chosen.min() < 0 or chosen.max() >= available:
        raise ValueError(
            f"There are {available} groups to show. "
            f"Received: rows={rows}, order={order!r}"
        )
    return chosen
