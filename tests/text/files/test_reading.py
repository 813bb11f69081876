import dataclasses
import itertools
import json

import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

from keras_mmel.text.files import Manifest
from keras_mmel.text.files import check_shards
from keras_mmel.text.files import read_manifest
from keras_mmel.text.files import read_records
from keras_mmel.text.files import rewrite
from keras_mmel.text.files import shard_paths
from keras_mmel.text.files import write_augmented
from tests.text.files.fakes import FakeAugmenter
from tests.text.files.fakes import MadeSource
from tests.text.files.fakes import contents


@pytest.fixture
def written(tmp_path):
    folder = tmp_path / "written"
    write_augmented(
        folder,
        MadeSource(30, 2),
        FakeAugmenter(),
        num_shards=4,
        progress=False,
    )
    return folder


def flip(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def labelled(records):
    """What a teacher would do, three records at a time."""
    while block := list(itertools.islice(records, 3)):
        for record in block:
            views = [
                dataclasses.replace(view, teacher=(0.25, 0.75))
                for view in record.views
            ]
            yield dataclasses.replace(
                record, views=tuple(views), teacher=(1.0, 0.0)
            )


def relabel(directory, out, function=labelled, **options):
    made = {"teacher": {"model": "made", "num_classes": 2}}
    return rewrite(
        directory, out, function, made=made, progress=False, **options
    )


def test_damaged_shard_is_named_at_reading(written):
    path = shard_paths(written)[2]
    flip(path, 100)
    for reads in (check_shards, lambda folder: list(read_records(folder))):
        message = (
            f"{path.name}' is damaged: behind record [0-9]+, [a-z 0-9]+\\."
        )
        with pytest.raises(ValueError, match=message):
            reads(written)
    # TFDS finds it too, by the same checksum, but does not name the file.
    rows = tfds.builder_from_directory(written).as_dataset(split="train")
    with pytest.raises(tf.errors.DataLossError):
        list(rows)


def test_damaged_shard_is_made_anew(written):
    before = contents(written)
    path = shard_paths(written)[2]
    flip(path, 100)
    path.unlink()
    write_augmented(
        written,
        MadeSource(30, 2),
        FakeAugmenter(),
        num_shards=4,
        progress=False,
    )
    assert contents(written) == before


def test_damage_before_the_end_is_found_at_the_end(tmp_path):
    def write(part):
        write_augmented(
            tmp_path,
            MadeSource(),
            FakeAugmenter(),
            num_shards=2,
            shard=(part, 2),
            progress=False,
        )

    write(0)
    flip(tmp_path / "augmented-train.tfrecord-00000-of-00002", 60)
    with pytest.raises(ValueError, match="00000-of-00002' is damaged"):
        write(1)
    assert "dataset_info.json" not in contents(tmp_path)


def test_check_of_whole_shards_is_silent(written):
    check_shards(written)


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_directory_without_examples(tmp_path, name):
    (tmp_path / "empty").mkdir()
    for reads in (read_manifest, shard_paths, check_shards):
        with pytest.raises(FileNotFoundError, match=f"{name}'"):
            reads(tmp_path / name)


def test_missing_shard_is_named(written):
    shard_paths(written)[1].unlink()
    with pytest.raises(ValueError, match="lacks 1 of 4 shards.*00001-of-00004"):
        next(read_records(written))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 2}', "{"])
def test_manifest_that_is_no_manifest(written, text):
    (written / "augmented.json").write_text(text)
    with pytest.raises(ValueError, match="cannot be understood"):
        read_manifest(written)


def test_manifest_is_read_back(written):
    manifest = read_manifest(written)
    assert manifest.to_json() == (written / "augmented.json").read_text()
    assert (manifest.num_examples, manifest.num_shards) == (30, 4)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"split": "a-b"}, "`split` must be a name"),
        ({"num_texts": 3}, "one or two texts"),
        ({"label_kind": "int"}, "`label_kind` must be one of"),
        ({"label_kind": None, "label_names": ("a",)}, "`label_names` must be"),
        ({"num_shards": 9}, "`num_shards` must be from 1"),
        ({"made": {"x": float}}, None),
    ],
)
def test_bad_manifest(fields, message):
    good = {
        "split": "train",
        "num_examples": 5,
        "num_shards": 2,
        "num_texts": 1,
        "label_kind": "class",
        "label_names": None,
        "made": {},
    }
    assert Manifest(**good).ranges() == [range(2), range(2, 5)]
    with pytest.raises(ValueError if message else TypeError, match=message):
        Manifest(**good | fields)


def test_rewritten_records(tmp_path, written):
    relabel(written, tmp_path / "out")
    pairs = zip(
        read_records(written), read_records(tmp_path / "out"), strict=True
    )
    for before, after in pairs:
        assert after == next(labelled(iter([before])))
    assert read_manifest(tmp_path / "out").made == {
        **read_manifest(written).made,
        "teacher": {"model": "made", "num_classes": 2},
    }
    row = next(
        tfds.builder_from_directory(tmp_path / "out")
        .as_dataset(split="train")
        .as_numpy_iterator()
    )
    assert row["teacher"].tolist() == [1.0, 0.0]


def test_rewriting_in_parts(tmp_path, written):
    relabel(written, tmp_path / "whole")
    assert relabel(written, tmp_path / "parts", shard=(1, 2)).num_written == 2
    assert relabel(written, tmp_path / "parts").num_written == 2
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


def test_rewriting_with_another_teacher_is_refused(tmp_path, written):
    relabel(written, tmp_path / "out")
    with pytest.raises(ValueError, match=r'made.teacher.model \("made" there'):
        rewrite(
            written,
            tmp_path / "out",
            labelled,
            made={"teacher": {"model": "other", "num_classes": 2}},
        )


def test_rewriting_in_place_is_refused(written):
    before = contents(written)
    with pytest.raises(ValueError, match="`out` must be another directory"):
        relabel(written, written / ".." / "written")
    assert contents(written) == before


def swapped(records):
    first, second, *rest = records
    yield from (second, first, *rest)


def fewer(records):
    yield from itertools.islice(records, 2)


def more(records):
    for record in records:
        yield record
    yield record


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (swapped, "Received: 'id-1' for 'id-0'"),
        (fewer, "Received: no record for 'id-2'"),
        (more, "more than those of"),
    ],
)
def test_function_that_changes_the_examples(
    tmp_path, written, function, message
):
    with pytest.raises(ValueError, match=message):
        relabel(written, tmp_path / "out", function)
    assert list(contents(tmp_path / "out")) == ["augmented.json"]


def test_rewriting_a_damaged_shard_names_it(tmp_path, written):
    flip(shard_paths(written)[0], 100)
    with pytest.raises(ValueError, match="00000-of-00004' is damaged"):
        relabel(written, tmp_path / "out")
    assert list(contents(tmp_path / "out")) == ["augmented.json"]


def test_manifest_has_no_time_and_no_place(written):
    fields = json.loads((written / "augmented.json").read_text())
    assert set(fields) == {
        "format",
        "label_kind",
        "label_names",
        "made",
        "num_examples",
        "num_shards",
        "num_texts",
        "software",
        "split",
    }
