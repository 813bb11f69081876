import json

import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

from keras_mmel.text import files
from tests.text.files import fakes


@pytest.fixture
def written(tmp_path):
    fakes.write(
        tmp_path, fakes.make_source(30, 2, names=list("nmp")), split="dev"
    )
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


def edited(path, **changed):
    fields = json.loads(path.read_text()) | changed
    kept = {name: v for name, v in fields.items() if v != "gone"}
    return json.dumps(kept).encode()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: b"", "JSONDecodeError: Expecting value"),
        (lambda path: path.read_bytes()[:100], "JSONDecodeError"),
        (lambda path: b"\xff" + path.read_bytes(), "UnicodeDecodeError"),
        (lambda path: b"[1]", "TypeError"),
        (lambda path: b"{}", "KeyError: 'format'"),
        (lambda path: edited(path, split="gone"), "TypeError.*'split'"),
        (lambda path: edited(path, spilt="dev"), "TypeError.*'spilt'"),
        (lambda path: edited(path, num_shards="3"), "TypeError"),
        (lambda path: edited(path, num_shards=99), "ValueError: `num_shards`"),
        (lambda path: edited(path, label_names="gone"), "KeyError"),
    ],
)
def test_a_damaged_manifest_is_mended(written, damage, said):
    """By what its message says: deleting it, and the same command."""
    path, before = written / "augmented.json", fakes.contents(written)
    path.write_bytes(damage(path))
    source, options = (
        fakes.make_source(30, 2, names=list("nmp")),
        {"split": "dev"},
    )
    for uses in (
        files.read_manifest,
        files.AugmentedFiles,
        lambda place: fakes.write(place, source, **options),
    ):
        with pytest.raises(
            ValueError, match=rf"'augmented.json' is damaged. Delete.*({said})"
        ):
            uses(written)
    path.unlink()
    assert fakes.write(written, source, **options).num_written == 0
    assert fakes.contents(written) == before


def test_tables_beside_the_shards_do_not_hinder_a_repair(written):
    """`load_table` keeps them where the guide says, in this directory."""
    (written / "table-0123").mkdir()
    (written / "augmented.json").unlink()
    source = fakes.make_source(30, 2, names=list("nmp"))
    assert fakes.write(written, source, split="dev").num_written == 0
    assert (written / "table-0123").exists()


def test_shards_of_other_settings_are_not_taken_for_ones_own(written):
    (written / "augmented.json").unlink()
    before = fakes.contents(written)
    source = fakes.make_source(30, 2, names=list("nmp"))
    message = "must have 'augmented.json' beside.*or-00000-of-00003' is other"
    message = message.replace("or-", "-")
    with pytest.raises(ValueError, match=message):
        fakes.write(written, source, fakes.FakeAugmenter(1), split="dev")
    assert fakes.contents(written) == before


@pytest.mark.parametrize("name", ["dataset_info.json", "features.json"])
@pytest.mark.parametrize("damage", [b"", b"{", b"{}", b"\xff", None])
def test_damaged_files_of_tfds_are_mended(written, name, damage):
    before = fakes.contents(written)
    if damage is None:
        (written / name).unlink()
    else:
        (written / name).write_bytes(damage)
        with pytest.raises(ValueError, match=f"{name}.* must be whole.*writes"):
            files.from_tfds(str(written), "dev", "text_a")
    source = fakes.make_source(30, 2, names=list("nmp"))
    assert fakes.write(written, source, split="dev").num_written == 0
    assert fakes.contents(written) == before
