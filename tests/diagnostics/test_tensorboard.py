"""What TensorBoard gets, read back from the event files."""

import io
import types

import numpy as np
import PIL.Image
import tensorflow as tf
from numpy.testing import assert_allclose
from numpy.testing import assert_array_equal
from tensorflow.core.util import event_pb2

from keras_mmel.diagnostics import Run
from keras_mmel.diagnostics import ViewWeights
from keras_mmel.diagnostics import tensorboard
from keras_mmel.pages import pictures
from tests.diagnostics import watched


def events(folder):
    """Tag -> step -> (plugin, value)."""
    found = {}
    for path in sorted(folder.rglob("events.out.tfevents.*")):
        for record in tf.data.TFRecordDataset(str(path)):
            event = event_pb2.Event.FromString(record.numpy())
            for value in event.summary.value:
                found.setdefault(value.tag, {})[event.step] = (
                    value.metadata.plugin_data.plugin_name,
                    tf.make_ndarray(value.tensor),
                )
    return found


def written(run, folder):
    writer = tensorboard.open_writer(folder)
    for record in range(len(run.weights)):
        tensorboard.write_record(writer, run, record)
    writer.close()
    return events(folder)


def test_a_fit_writes_its_summaries(tmp_path):
    x, y = watched.data(watched.images)
    callback = ViewWeights(
        (x, y),
        every_n_epochs=1,
        log_dir=tmp_path,
        view_names=["original", "crop", "flip / turn", "noise"],
        class_names=["cat", "dog", "tree"],
    )
    mmel = watched.compiled(watched.images, run_eagerly=True)
    # Keras's own callback turns summaries off between its own.
    with tf.summary.record_if(False):
        mmel.fit(x, y, epochs=2, batch_size=4, verbose=0, callbacks=[callback])
    found = events(tmp_path / "view_weights")
    run = callback.run
    for tag in (
        "effective_views",
        "heaviest_share",
        "loss",
        "spread",
        "not_finite",
    ):
        values = found[f"view_weights/{tag}"]
        for record, step in enumerate([3, 6]):
            plugin, value = values[step]
            assert plugin == "scalars"
            assert value.dtype == np.float32 and value.shape == ()
            assert_allclose(value, run.summaries[record][tag], rtol=1e-6)
    _, value = found["view_weights/relative_weight/flip___turn"][6]
    assert_allclose(value, run.summaries[1]["relative_weight"][2], rtol=1e-6)
    _, value = found["view_weights/class_heaviest_share/dog"][6]
    expected = run.summaries[1]["per_class"][1]["heaviest_share"]
    assert_allclose(value, expected, rtol=1e-6)
    assert found["view_weights/lambda_p"][3][1] == 1.0


def one_record(**settings):
    """Six groups whose view losses are 0, 1, 2, ... in the order of views."""
    losses = np.arange(18, dtype="float32").reshape(6, 3)
    mask = np.ones((6, 3), bool)
    mask[5, 2] = False
    weights = np.where(mask, np.exp(losses - losses.max(1, keepdims=True)), 0)
    weights /= weights.sum(axis=1, keepdims=True)
    run = Run(mask=mask, **settings)
    run.add(weights, losses, step=7, epoch=1)
    return run


def test_histograms_count_every_view_once(tmp_path):
    run = one_record()
    found = written(run, tmp_path)
    for tag, count in (("relative_weights", 17), ("view_losses", 17)):
        plugin, buckets = found[f"view_weights/{tag}"][7]
        assert plugin == "histograms"
        assert buckets[:, 2].sum() == count
        assert_array_equal(buckets[1:, 0], buckets[:-1, 1])
    _, buckets = found["view_weights/view_losses"][7]
    assert (buckets[0, 0], buckets[-1, 1]) == (0, 16)
    for left, right, count in buckets[:-1]:
        losses = run.losses[0][run.mask]
        assert count == ((losses >= left) & (losses < right)).sum()


def test_a_histogram_of_one_value(tmp_path):
    run = Run(mask=np.ones((2, 2), bool))
    run.add(np.full((2, 2), 0.5), np.ones((2, 2)), step=1, epoch=1)
    _, buckets = written(run, tmp_path)["view_weights/view_losses"][1]
    assert buckets[:, 2].sum() == 4


def test_what_is_not_finite_is_left_out(tmp_path):
    run = Run(mask=np.ones((1, 2), bool))
    run.add([[np.nan, np.nan]], [[np.inf, 1.0]], step=1, epoch=1)
    found = written(run, tmp_path)
    assert found["view_weights/not_finite"][1][1] == 1
    assert "view_weights/effective_views" not in found
    assert "view_weights/relative_weights" not in found


def test_images_show_the_hardest_and_the_easiest_views(tmp_path):
    images = np.zeros((6, 3, 8, 8, 3), "uint8")
    images[...] = np.arange(18).reshape(6, 3, 1, 1, 1) * 10
    run = one_record(images=images)
    found = written(run, tmp_path)

    def read(tag):
        plugin, value = found[f"view_weights/{tag}"][7]
        assert plugin == "images"
        with PIL.Image.open(io.BytesIO(value[2])) as opened:
            picture = np.asarray(opened)
        assert [int(side) for side in value[:2]] == [*picture.shape[1::-1]]
        return picture

    width = 8 + 2
    hardest, easiest = read("hardest_views"), read("easiest_views")
    # View 17 is padding.
    for column in range(12):
        assert hardest[2, column * width + 3, 0] == 10 * (16 - column)
        assert easiest[2, column * width + 3, 0] == 10 * column
    uneven = run.records[0].uneven
    assert_array_equal(
        read("most_uneven_groups"),
        pictures.grid(images[uneven], run.weights[0][uneven]),
    )
    assert uneven[-1] == 5


def test_texts_mark_the_words_that_differ(tmp_path):
    texts = [[f"a film {g}", f"a movie {g}", f"no film {g}"] for g in range(6)]
    found = written(one_record(texts=texts), tmp_path)
    plugin, value = found["view_weights/hardest_views"][7]
    assert plugin == "text"
    lines = value.item().decode("utf-8").splitlines()
    assert lines[0] == "loss | weight | view"
    assert lines[2] == "16.000 | 0.73 | a **movie** 5"
    assert lines[3] == "15.000 | 0.27 | a film 5"
    assert lines[4] == "14.000 | 0.67 | **no** film 4"
    easiest = found["view_weights/easiest_views"][7][1].item().decode("utf-8")
    assert easiest.splitlines()[2] == "0.000 | 0.09 | a film 0"


def test_a_tokenizer_is_enough_for_text(tmp_path):
    x, y = watched.data(watched.text)
    tokenizer = types.SimpleNamespace(vocabulary=list("PCSabcdef"))
    callback = ViewWeights((x, y), tokenizer=tokenizer, log_dir=tmp_path)
    mmel = watched.compiled(watched.text, run_eagerly=True)
    mmel.fit(x, y, verbose=0, callbacks=[callback])
    value = events(tmp_path)["view_weights/hardest_views"][1][1]
    assert "**" in value.item().decode("utf-8")
