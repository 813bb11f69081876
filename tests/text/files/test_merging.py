import json
import shutil

import pytest

from keras_mmel.text.files import merge
from keras_mmel.text.files import write_augmented
from tests.text.files.fakes import FakeAugmenter
from tests.text.files.fakes import MadeSource
from tests.text.files.fakes import contents


def write(directory, seed=0, **options):
    return write_augmented(
        directory,
        MadeSource(),
        FakeAugmenter(seed),
        **{"num_shards": 4, "progress": False} | options,
    )


@pytest.fixture
def parts(tmp_path):
    """Three directories of a part each; one shard is in two of them."""
    folders = [tmp_path / f"part-{i}" for i in range(3)]
    write(folders[0], shard=(0, 2))
    write(folders[1], shard=(1, 2))
    write(folders[2], shard=(1, 4))
    return folders


def test_merged_is_as_if_one_process_had_made_all(tmp_path, parts):
    write(tmp_path / "whole")
    merged = merge(parts, tmp_path / "merged")
    assert (merged.num_written, merged.missing) == (4, ())
    assert contents(tmp_path / "merged") == contents(tmp_path / "whole")


def test_merging_again_does_nothing(tmp_path, parts):
    merge(parts, tmp_path / "merged")
    before = contents(tmp_path / "merged")
    assert merge(parts, tmp_path / "merged").num_written == 0
    assert contents(tmp_path / "merged") == before


def test_merge_into_one_of_the_parts(tmp_path, parts):
    write(tmp_path / "whole")
    assert merge(parts, parts[0]).num_written == 2
    assert contents(parts[0]) == contents(tmp_path / "whole")


def test_missing_shard_is_named(tmp_path, parts):
    with pytest.raises(ValueError, match="none with 2 of 4, the first .*00002"):
        merge([parts[0], parts[2]], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_other_settings_are_named(tmp_path, parts):
    write(tmp_path / "other", 1, shard=(1, 2))
    with pytest.raises(ValueError, match=r"other'.*made.augmenter.seed \(1 th"):
        merge([parts[0], tmp_path / "other"], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_another_version_of_the_package_is_refused(tmp_path, parts):
    path = parts[1] / "augmented.json"
    fields = json.loads(path.read_text())
    fields["software"] |= {"tensorflow": "2.0"}
    path.write_text(json.dumps(fields))
    merge(parts, tmp_path / "merged")
    fields["software"] |= {"keras_mmel": "0.0"}
    path.write_text(json.dumps(fields))
    with pytest.raises(ValueError, match=r'software.keras_mmel \("0.0" there'):
        merge(parts, tmp_path / "other")


def test_damaged_shard_is_named_and_not_copied(tmp_path, parts):
    name = "augmented-train.tfrecord-00003-of-00004"
    content = bytearray((parts[1] / name).read_bytes())
    content[40] ^= 1
    (parts[1] / name).write_bytes(content)
    with pytest.raises(ValueError, match=f"{name}' is damaged.*part-1"):
        merge(parts, tmp_path / "merged")
    assert not (tmp_path / "merged" / name).exists()


def test_shards_that_contradict_each_other_are_named(tmp_path, parts):
    write(tmp_path / "other", 1)
    name = "augmented-train.tfrecord-00001-of-00004"
    shutil.copy(tmp_path / "other" / name, parts[2] / name)
    with pytest.raises(ValueError, match=f"{name}' must be the same"):
        merge(parts, tmp_path / "merged")


@pytest.mark.parametrize("directories", [[], "part-0"])
def test_no_directories_are_refused(tmp_path, directories):
    with pytest.raises(ValueError, match="`directories` must name one"):
        merge(directories, tmp_path / "merged")


def test_directory_without_examples(tmp_path, parts):
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="empty'.*augmented.json"):
        merge([*parts, tmp_path / "empty"], tmp_path / "merged")
