"""One record of a run as summaries in TensorBoard."""

import os
import time
from typing import Any

import numpy as np

from keras_mmel import extras
from keras_mmel.diagnostics.run import Run

# A page of TensorBoard with more curves would not be looked at.
_MOST_VIEWS = 32


def open_writer(log_dir: str | os.PathLike) -> Any:
    """A writer of event files, by the package of TensorBoard.

    Args:
        log_dir: The folder; TensorBoard shows it as a run.

    Returns:
        Its `EventFileWriter`.

    Raises:
        ImportError: If TensorBoard is not installed.
    """
    name = "tensorboard.summary.writer.event_file_writer"
    return extras.need(name, "tensorboard").EventFileWriter(os.fspath(log_dir))


def write_record(writer: Any, run: Run) -> None:
    """Writes the last record of a run.

    Args:
        writer: From `open_writer`.
        run: With at least one record.
    """
    record = run.records[-1]
    summary = record.summary
    names = ("effective_views", "heaviest_share", "loss", "spread")
    scalars = {name: summary[name] for name in (*names, "not_finite")}
    scalars["lambda_p"] = run.lambda_p[-1]
    for index, name in enumerate(run.view_names[:_MOST_VIEWS]):
        tag = name.strip().replace(" ", "_").replace("/", "_")
        for kind in ("relative_weight", "view_loss"):
            scalars[f"{kind}/{tag}"] = summary[kind][index]
    histograms = {
        "relative_weights": record.relative,
        "effective_views_of_groups": record.effective,
        "view_losses": record.losses[run.counted],
    }
    # Not by `tf.summary`, whose operations take as long as a look.
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.plugins.histogram.summary_v2 import histogram_pb
    from tensorboard.plugins.scalar.summary_v2 import scalar_pb

    event = Event(wall_time=time.time(), step=run.steps[-1])
    for name, value in scalars.items():
        if np.isfinite(value):
            event.summary.MergeFrom(scalar_pb(f"view_weights/{name}", value))
    for name, values in histograms.items():
        if len(finite := values[np.isfinite(values)]):
            tag = f"view_weights/{name}"
            event.summary.MergeFrom(histogram_pb(tag, finite))
    writer.add_event(event)
    writer.flush()
