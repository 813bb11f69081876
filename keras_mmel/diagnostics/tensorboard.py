"""One record of a run as summaries in TensorBoard."""

import os
from typing import Any

import numpy as np

from keras_mmel import extras
from keras_mmel.diagnostics.run import Run

# A page of TensorBoard with more curves or rows would not be looked at.
_MOST_CLASSES = 20
_MOST_VIEWS = 32


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


def write_record(writer: Any, run: Run) -> None:
    """Writes the last record of a run.

    Args:
        writer: From `open_writer`.
        run: With at least one record.
    """
    record, found = run.records[-1], run.records[-1].summary
    names = ("effective_views", "heaviest_share", "loss", "spread")
    scalars = {name: found[name] for name in (*names, "not_finite")}
    scalars["lambda_p"] = run.lambda_p[-1]
    for index, name in enumerate(run.view_names[:_MOST_VIEWS]):
        for kind in ("relative_weight", "view_loss"):
            scalars[f"{kind}/{_tag(name)}"] = found[kind][index]
    for index, of_class in list(found["per_class"].items())[:_MOST_CLASSES]:
        for kind in ("effective_views", "heaviest_share"):
            name = f"class_{kind}/{_tag(run.class_name(index))}"
            scalars[name] = of_class[kind]
    histograms = {
        "relative_weights": record.relative,
        "effective_views_of_groups": record.effective,
        "view_losses": record.losses[run.counted],
    }
    import tensorflow as tf

    with (
        tf.device("CPU:0"),
        writer.as_default(run.steps[-1]),
        # Keras's own callback turns recording off for most steps.
        tf.summary.record_if(True),
    ):
        for name, value in scalars.items():
            if np.isfinite(value):
                tf.summary.scalar(f"view_weights/{name}", value)
        for name, values in histograms.items():
            if len(finite := values[np.isfinite(values)]):
                tf.summary.histogram(f"view_weights/{name}", finite)
        writer.flush()


def _tag(name):
    return str(name).strip().replace(" ", "_").replace("/", "_")
