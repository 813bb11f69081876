"""What TensorBoard gets, read back from the event files."""

import numpy as np
import tensorflow as tf
from numpy.testing import assert_allclose
from numpy.testing import assert_array_equal
from tensorflow.core.util import event_pb2

from keras_mmel.diagnostics import tensorboard
from tests.diagnostics.runs import run_of


def written(run, folder):
    """The events of a run: tag -> step -> (plugin, value)."""
    writer = tensorboard.open_writer(folder)
    tensorboard.write_record(writer, run)
    writer.close()
    found = {}
    (path,) = folder.rglob("events.out.tfevents.*")
    for record in tf.data.TFRecordDataset(str(path)):
        event = event_pb2.Event.FromString(record.numpy())
        for value in event.summary.value:
            tag = value.tag.removeprefix("view_weights/")
            found.setdefault(tag, {})[event.step] = (
                value.metadata.plugin_data.plugin_name,
                tf.make_ndarray(value.tensor),
            )
    return found


def test_scalars_are_those_of_the_summary(tmp_path):
    names = ["original", "crop", "flip / turn"]
    run = run_of([[1, 2, 3], [5, 0, 1]], view_names=names)
    found = written(run, tmp_path)
    scalars = ["effective_views", "heaviest_share", "loss", "spread"]
    for tag in [*scalars, "not_finite"]:
        plugin, value = found[tag][10]
        assert (plugin, value.dtype, value.shape) == ("scalars", "f4", ())
        assert_allclose(value, run.summaries[0][tag], rtol=1e-6)
    for kind in ("relative_weight", "view_loss"):
        _, value = found[f"{kind}/flip___turn"][10]
        assert_allclose(value, run.summaries[0][kind][2], rtol=1e-6)
    assert found["lambda_p"][10][1] == 1.0


def test_histograms_count_every_view_once(tmp_path):
    run = run_of(np.arange(18).reshape(6, 3), padding=(5, 2))
    found = written(run, tmp_path)
    for tag in ("relative_weights", "view_losses"):
        plugin, buckets = found[tag][10]
        assert plugin == "histograms" and buckets[:, 2].sum() == 17
        assert_array_equal(buckets[1:, 0], buckets[:-1, 1])
    assert (buckets[0, 0], buckets[-1, 1]) == (0, 16)
    for left, right, count in buckets[:-1]:
        values = run.losses[0][run.mask]
        assert count == ((values >= left) & (values < right)).sum()


def test_what_is_not_finite_is_left_out(tmp_path):
    found = written(run_of([[np.nan, 1.0]]), tmp_path)
    assert found["not_finite"][10][1] == 1
    assert "effective_views" not in found
    assert "relative_weights" not in found
