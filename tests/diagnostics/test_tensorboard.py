"""What TensorBoard gets, read back from the event files."""

import sys

import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose
from numpy.testing import assert_array_equal
from tensorflow.core.util import event_pb2

from keras_mmel.diagnostics import ViewWeights
from keras_mmel.diagnostics import tensorboard
from tests.diagnostics import watched


def events(folder):
    """Tag -> step -> (plugin, value)."""
    found = {}
    for path in sorted(folder.rglob("events.out.tfevents.*")):
        for record in tf.data.TFRecordDataset(str(path)):
            event = event_pb2.Event.FromString(record.numpy())
            for value in event.summary.value:
                tag = value.tag.removeprefix("view_weights/")
                found.setdefault(tag, {})[event.step] = (
                    value.metadata.plugin_data.plugin_name,
                    tf.make_ndarray(value.tensor),
                )
    return found


def test_a_fit_writes_its_numbers(tmp_path):
    x, y = watched.data(watched.images)
    callback = ViewWeights(
        (x, y),
        every_n_steps=1,
        log_dir=tmp_path,
        view_names=["original", "crop", "flip / turn", "noise"],
    )
    mmel = watched.compiled(watched.images, run_eagerly=True)
    mmel.fit(x, y, epochs=2, verbose=0, callbacks=[callback])
    found = events(tmp_path / "view_weights")
    run = callback.run
    names = ["effective_views", "heaviest_share", "loss", "spread"]
    for tag in [*names, "not_finite"]:
        for record, step in enumerate([1, 2]):
            plugin, value = found[tag][step]
            assert (plugin, value.dtype, value.shape) == ("scalars", "f4", ())
            assert_allclose(value, run.summaries[record][tag], rtol=1e-6)
    _, value = found["relative_weight/flip___turn"][2]
    assert_allclose(value, run.summaries[1]["relative_weight"][2], rtol=1e-6)
    assert found["lambda_p"][1][1] == 1.0


def written(run, folder):
    """The events of a run."""
    writer = tensorboard.open_writer(folder)
    tensorboard.write_record(writer, run)
    writer.close()
    return events(folder)


def test_histograms_count_every_view_once(tmp_path):
    run = watched.run_of(np.arange(18).reshape(6, 3), padding=(5, 2))
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
    found = written(watched.run_of([[np.nan, 1.0]]), tmp_path)
    assert found["not_finite"][10][1] == 1
    assert "effective_views" not in found
    assert "relative_weights" not in found


def test_without_tensorboard_the_extra_is_named(tmp_path, monkeypatch):
    for name in list(sys.modules):
        if name.partition(".")[0] == "tensorboard":
            # As if it were not installed.
            monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="install 'keras-mmel.tensorboard.'"):
        tensorboard.open_writer(tmp_path)
