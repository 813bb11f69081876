import pathlib
import subprocess
import sys

import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

from keras_mmel.text.files import AugmentedFiles
from keras_mmel.text.files import read_manifest
from keras_mmel.text.files import read_records
from tests.text.files.fakes import make_source
from tests.text.files.fakes import write

OLD = pathlib.Path(__file__).parents[2] / "saved_by_0_1" / "augmented"

_READ = """
import sys
import tensorflow_datasets as tfds
builder = tfds.builder_from_directory(sys.argv[1])
for row in builder.as_dataset(split="dev"):
    views = row["views"]
    print(
        row["example_id"].numpy().decode(),
        int(row["label"]),
        *(text.decode() for text in views["text_a"].numpy()),
        *views["token_ids"].to_list(),
        row["teacher"].numpy().tolist(),
        sep="|",
    )
assert "keras_mmel" not in sys.modules
assert builder.info.features["label"].names == ["n", "m", "p"]
assert builder.info.splits["dev"].num_examples == 10
"""


def test_tfds_reads_the_files_by_itself(tmp_path):
    write(tmp_path, make_source(names="nmp"), split="dev")
    done = subprocess.run(
        [sys.executable, "-c", _READ, str(tmp_path)],
        capture_output=True,
        text=True,
        # Not from the project's folder, which would offer the package.
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    expected = []
    for one in read_records(tmp_path):
        texts = [view.texts[0] for view in one.views]
        ids = [str(list(view.token_ids)) for view in one.views]
        row = [one.example_id, str(one.label), *texts, *ids, "[]"]
        expected.append("|".join(row))
    assert sorted(done.stdout.splitlines()) == sorted(expected)


def test_tfds_knows_the_size(tmp_path):
    write(tmp_path, make_source(5, 1, "value"))
    builder = tfds.builder_from_directory(tmp_path)
    paths = sorted(map(str, tmp_path.glob("*.tfrecord*")))
    records = list(tf.data.TFRecordDataset(paths).as_numpy_iterator())
    assert builder.info.splits["train"].num_bytes == sum(map(len, records))
    rows = builder.as_dataset(split="train").as_numpy_iterator()
    found = sorted(float(row["label"]) for row in rows)
    assert found == pytest.approx([n / 7 for n in range(5)])


def test_files_of_version_0_1_are_read_by_all(tmp_path):
    """They have log-probabilities; `tests/test_saved_by_0_1.py` has more."""
    records = list(read_records(OLD))
    rows = tfds.builder_from_directory(OLD).as_dataset(split="train")
    for record, row in zip(records, rows.as_numpy_iterator(), strict=True):
        assert record.example_id == row["example_id"].decode()
        views = [text.decode() for text in row["views"]["text_a"]]
        assert [view.texts[0] for view in record.views] == views


@pytest.fixture
def written(tmp_path):
    write(tmp_path / "written", make_source(30, 2))
    return tmp_path / "written"


def test_reading_from_any_place_on(written):
    everything = list(read_records(written))
    files = AugmentedFiles(written)
    assert len(files) == 30
    assert (files.num_texts, files.label_kind) == (2, "class")
    for start, stop in ((0, 30), (9, 11), (10, 20), (29, 99), (5, 5)):
        assert list(files.read(start, stop)) == everything[start:stop]


def test_damaged_shard_is_named(written):
    path = sorted(written.glob("*.tfrecord*"))[2]
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    message = f"{path.name}' is damaged: behind record [0-9]+, [a-z 0-9]+\\."
    with pytest.raises(ValueError, match=message):
        list(read_records(written))
    # TFDS finds it too, by the same checksum, but does not name the file.
    rows = tfds.builder_from_directory(written).as_dataset(split="train")
    with pytest.raises(tf.errors.DataLossError):
        list(rows)


def test_missing_shard_is_named(written):
    sorted(written.glob("*.tfrecord*"))[1].unlink()
    with pytest.raises(ValueError, match="lacks 1 of 3 shards.*00001-of-00003"):
        next(read_records(written))


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_directory_without_examples(tmp_path, name):
    (tmp_path / "empty").mkdir()
    for reads in (read_manifest, AugmentedFiles):
        with pytest.raises(FileNotFoundError, match=f"{name}'"):
            reads(tmp_path / name)


def test_files_of_a_newer_version_are_refused(written):
    path = written / "augmented.json"
    path.write_text(path.read_text().replace('"format": 2', '"format": 3'))
    with pytest.raises(ValueError, match="of a newer one"):
        read_manifest(written)
