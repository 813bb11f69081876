import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

from keras_mmel.text import files
from tests.text.files import fakes


@pytest.fixture
def written(tmp_path):
    fakes.write(tmp_path, fakes.make_source(30, 2, names="nmp"), split="dev")
    return tmp_path


def test_tfds_reads_the_files_by_itself(written):
    """Nothing there names a class of this package, so TFDS needs none."""
    assert "keras_mmel" not in (written / "features.json").read_text()
    builder = tfds.builder_from_directory(written)
    assert builder.info.features["label"].names == ["n", "m", "p"]
    paths = sorted(map(str, written.glob("*.tfrecord*")))
    sizes = map(len, tf.data.TFRecordDataset(paths).as_numpy_iterator())
    assert builder.info.splits["dev"].num_bytes == sum(sizes)
    records = {one.example_id: one for one in files.read_records(written)}
    for row in builder.as_dataset(split="dev"):
        views = row.pop("views")
        record = records.pop(row["example_id"].numpy().decode())
        assert int(row["label"]) == record.label
        assert tuple(row["token_ids"].numpy()) == record.token_ids
        for i, name in enumerate(("text_a", "text_b")):
            assert row[name].numpy().decode() == record.texts[i]
            texts = [text.decode() for text in views[name].numpy()]
            assert texts == [view.texts[i] for view in record.views]
        for name in ("token_ids", "positions", "teacher"):
            found = [tuple(ids) for ids in views[name].to_list()]
            assert found == [getattr(view, name) for view in record.views]
    assert not records


def test_reading_from_any_place_on(written):
    everything = list(files.read_records(written))
    found = files.AugmentedFiles(written)
    assert len(found) == 30
    assert (found.num_texts, found.label_kind) == (2, "class")
    for start, stop in ((0, 30), (9, 11), (10, 20), (29, 99), (5, 5)):
        assert list(found.read(start, stop)) == everything[start:stop]


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_directory_without_examples(tmp_path, name):
    (tmp_path / "empty").mkdir()
    for reads in (files.read_manifest, files.AugmentedFiles):
        with pytest.raises(FileNotFoundError, match=f"{name}'"):
            reads(tmp_path / name)


@pytest.mark.parametrize("other", [1, 3])
def test_files_of_another_format_are_refused(written, other):
    path = written / "augmented.json"
    path.write_text(
        path.read_text().replace('"format": 2', f'"format": {other}')
    )
    for uses in (files.read_manifest, files.AugmentedFiles, fakes.write):
        with pytest.raises(ValueError, match=f"format 2.*of format {other}"):
            uses(written)
