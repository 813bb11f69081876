"""One record of a run, as summaries in TensorBoard."""

import numpy as np

from keras_mmel.diagnostics import statistics
from keras_mmel.diagnostics.run import Run
from keras_mmel.diagnostics.tensorboard import Writer
from keras_mmel.pages import pictures
from keras_mmel.pages import words

_PREFIX = "view_weights"
# A page of TensorBoard with more curves or rows would not be looked at.
MOST_CLASSES = 20
MOST_VIEWS = 32
GRID_ROWS = 6
GRID_COLUMNS = 12


def hardness(run: Run, record: int = -1) -> np.ndarray:
    """View losses of a record, NaN for views that share no weight.

    Args:
        run: With at least one record.
        record: Which one.

    Returns:
        Float64 `(groups, num_views)`.
    """
    losses = np.where(
        run.counted, np.asarray(run.losses[record], "float64"), np.nan
    )
    return np.where(np.isfinite(losses), losses, np.nan)


def order_by_hardness(run: Run, record: int, groups: int) -> np.ndarray:
    """Views of the first groups from the smallest loss to the largest.

    Args:
        run: With at least one record.
        record: Which one.
        groups: How many groups to look at.

    Returns:
        Int `(views, 2)`: group and view index, padding left out.
    """
    losses = hardness(run, record)[:groups]
    flat = np.argsort(losses, axis=None, kind="stable")
    flat = flat[: int(np.isfinite(losses).sum())]
    return np.stack(np.unravel_index(flat, losses.shape), axis=1)


def uneven_groups(run: Run, record: int = -1) -> np.ndarray:
    """Groups from the most uneven weights to the most even.

    Args:
        run: With at least one record.
        record: Which one.

    Returns:
        Int `(groups,)`; groups with weights that are not finite come last.
    """
    relative = statistics.relative_weights(run.weights[record], run.counted)
    largest = np.max(np.where(np.isfinite(relative), relative, -1), axis=1)
    return np.argsort(-largest, kind="stable")


def write_record(writer: Writer, run: Run, record: int = -1) -> None:
    """Writes one record.

    Args:
        writer: Of the folder.
        run: With at least one record.
        record: Which one.
    """
    with writer.record(run.steps[record]):
        _write_numbers(writer, run, record)
        if run.images is not None:
            _write_images(writer, run, record)
        if run.texts is not None:
            _write_texts(writer, run, record)


def _write_numbers(writer, run, record):
    found = run.summaries[record]

    def scalar(name, value):
        if value is not None and np.isfinite(value):
            writer.scalar(f"{_PREFIX}/{name}", value)

    for name in (
        "effective_views",
        "entropy",
        "heaviest_share",
        "loss",
        "spread",
        "not_finite",
    ):
        scalar(name, found[name])
    scalar("lambda_p", run.lambda_p[record])
    for index, name in enumerate(run.view_names[:MOST_VIEWS]):
        scalar(f"relative_weight/{_tag(name)}", found["relative_weight"][index])
        scalar(f"view_loss/{_tag(name)}", found["view_loss"][index])
    for index, of_class in list(found["per_class"].items())[:MOST_CLASSES]:
        name = _tag(run.class_name(index))
        scalar(f"class_effective_views/{name}", of_class["effective_views"])
        scalar(f"class_heaviest_share/{name}", of_class["heaviest_share"])
    relative = statistics.relative_weights(run.weights[record], run.counted)
    writer.histogram(f"{_PREFIX}/relative_weights", relative)
    effective = np.exp(statistics.entropy(run.weights[record]))
    writer.histogram(f"{_PREFIX}/effective_views_of_groups", effective)
    writer.histogram(f"{_PREFIX}/view_losses", hardness(run, record))


def _write_images(writer, run, record):
    images = run.images
    rows = uneven_groups(run, record)
    rows = rows[rows < len(images)][:GRID_ROWS]
    weights = run.weights[record]
    columns = slice(GRID_COLUMNS)
    writer.image(
        f"{_PREFIX}/most_uneven_groups",
        pictures.grid(images[rows, columns], weights[rows, columns]),
    )
    order = order_by_hardness(run, record, len(images))
    size = min(len(order), 2 * GRID_COLUMNS)
    size = size // GRID_COLUMNS * GRID_COLUMNS or size
    if not size:
        return
    # The hardest first, each with the bar of its weight in its group.
    for name, chosen in (
        ("hardest_views", order[::-1][:size]),
        ("easiest_views", order[:size]),
    ):
        group, view = chosen.T
        shape = (-1, min(size, GRID_COLUMNS))
        picked = images[group, view]
        writer.image(
            f"{_PREFIX}/{name}",
            pictures.grid(
                picked.reshape(*shape, *picked.shape[1:]),
                weights[group, view].reshape(shape),
            ),
        )


def _write_texts(writer, run, record):
    order = order_by_hardness(run, record, len(run.texts))
    for name, chosen in (
        ("hardest_views", order[::-1][:GRID_COLUMNS]),
        ("easiest_views", order[:GRID_COLUMNS]),
    ):
        lines = ["loss | weight | view", "---: | ---: | :---"]
        for group, view in chosen.tolist():
            texts = run.texts[group]
            if view < len(texts):
                lines.append(
                    f"{run.losses[record][group, view]:.3f} | "
                    f"{run.weights[record][group, view]:.2f} | "
                    + words.marked_markdown(texts[0], texts[view])
                )
        writer.text(f"{_PREFIX}/{name}", "\n".join(lines))


def _tag(name):
    return str(name).strip().replace(" ", "_").replace("/", "_")
