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
    """A writer of event files, by the package of TensorBoard."""
    name = "tensorboard.summary.writer.event_file_writer"
    return extras.need(name, "tensorboard").EventFileWriter(os.fspath(log_dir))


def write_record(writer: Any, run: Run) -> None:
    """Writes the last record of a run."""
    record, found = run.records[-1], run.records[-1].summary
    names = ("effective_views", "heaviest_share", "loss", "spread")
    scalars = {name: found[name] for name in (*names, "not_finite")}
    scalars["lambda_p"] = run.lambda_p[-1]
    for index, name in enumerate(run.view_names[:_MOST_VIEWS]):
        tag = name.strip().replace(" ", "_").replace("/", "_")
        for kind in ("relative_weight", "view_loss"):
            scalars[f"{kind}/{tag}"] = found[kind][index]
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
            found = histogram_pb(f"view_weights/{name}", finite)
            event.summary.MergeFrom(found)
    writer.add_event(event)
    writer.flush()
