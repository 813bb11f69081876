"""One record of a run as summaries in TensorBoard."""

import os
from typing import Any

import numpy as np

from keras_mmel import extras
from keras_mmel.diagnostics.run import Run
from keras_mmel.pages import pictures
from keras_mmel.pages.words import mark

_PREFIX = "view_weights"
# A page of TensorBoard with more curves or rows would not be looked at.
MOST_CLASSES = 20
MOST_VIEWS = 32
GRID_ROWS = 6
GRID_COLUMNS = 12


def open_writer(log_dir: str | os.PathLike) -> Any:
    """A summary writer of TensorFlow; TensorBoard shows its folder as a run.

    Args:
        log_dir: The folder.

    Raises:
        ImportError: If TensorBoard or TensorFlow is not installed.
    """
    # TensorFlow's summaries are those of the package of TensorBoard.
    extras.need("tensorboard", "tensorboard")
    tf = extras.need("tensorflow", "tensorboard")
    with tf.device("CPU:0"):
        return tf.summary.create_file_writer(os.fspath(log_dir))


def write_record(writer: Any, run: Run, record: int = -1) -> None:
    """Writes one record.

    Args:
        writer: From `open_writer`.
        run: With at least one record.
        record: Which one.
    """
    import tensorflow as tf

    with (
        tf.device("CPU:0"),
        writer.as_default(run.steps[record]),
        # Keras's own callback turns recording off for most steps.
        tf.summary.record_if(True),
    ):
        _write_numbers(tf.summary, run, record)
        if run.images is not None:
            _write_images(tf.summary, run, record)
        if run.texts is not None:
            _write_texts(tf.summary, run, record)
        writer.flush()


def _write_numbers(summary, run, record):
    of_record = run.records[record]
    found = of_record.summary
    names = ("effective_views", "heaviest_share", "loss", "spread")
    values = {name: found[name] for name in (*names, "not_finite")}
    values["lambda_p"] = run.lambda_p[record]
    for index, name in enumerate(run.view_names[:MOST_VIEWS]):
        for kind in ("relative_weight", "view_loss"):
            values[f"{kind}/{_tag(name)}"] = found[kind][index]
    for index, of_class in list(found["per_class"].items())[:MOST_CLASSES]:
        for kind in ("effective_views", "heaviest_share"):
            name = f"class_{kind}/{_tag(run.class_name(index))}"
            values[name] = of_class[kind]
    for name, value in values.items():
        if np.isfinite(value):
            summary.scalar(f"{_PREFIX}/{name}", value)
    for name, array in (
        ("relative_weights", of_record.relative),
        ("effective_views_of_groups", of_record.effective),
        ("view_losses", of_record.losses[run.counted]),
    ):
        if len(finite := array[np.isfinite(array)]):
            summary.histogram(f"{_PREFIX}/{name}", finite)


def _write_images(summary, run, record):
    of_record = run.records[record]
    shown = {
        "most_uneven_groups": np.s_[of_record.uneven[:GRID_ROWS], :GRID_COLUMNS]
    }
    columns = min(len(of_record.hardest), GRID_COLUMNS)
    if columns:
        # Whole rows, each view with the bar of its weight in its group.
        size = min(len(of_record.hardest) // columns, 2) * columns
        for name, order in _by_hardness(of_record):
            shown[name] = tuple(order[:size].T.reshape(2, -1, columns))
    for name, places in shown.items():
        grid = pictures.grid(run.images[places], of_record.weights[places])
        summary.image(f"{_PREFIX}/{name}", grid[None])


def _by_hardness(of_record):
    hardest = of_record.hardest
    return ("hardest_views", hardest), ("easiest_views", hardest[::-1])


def _write_texts(summary, run, record):
    of_record = run.records[record]
    for name, order in _by_hardness(of_record):
        lines = ["loss | weight | view", "---: | ---: | :---"]
        for group, view in order[:GRID_COLUMNS].tolist():
            texts = run.texts[group]
            lines.append(
                f"{of_record.losses[group, view]:.3f} | "
                f"{of_record.weights[group, view]:.2f} | "
                + _markdown(texts[0], texts[view])
            )
        summary.text(f"{_PREFIX}/{name}", "\n".join(lines))


def _markdown(original, view):
    """One line with the words bold that differ, and no other markup."""
    words = []
    for piece, differs in mark(original, " ".join(view.split())):
        for character in "\\`*_{}[]<>#|~$":
            piece = piece.replace(character, "\\" + character)
        words.append(f"**{piece}**" if differs else piece)
    return "".join(words)


def _tag(name):
    return str(name).strip().replace(" ", "_").replace("/", "_")
