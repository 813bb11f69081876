import json
import shutil
import subprocess
import sys
import weakref

import pytest
import tensorflow_datasets as tfds

from keras_mmel.text.files import Example
from keras_mmel.text.files import First
from keras_mmel.text.files import Record
from keras_mmel.text.files import View
from keras_mmel.text.files import read_manifest
from keras_mmel.text.files import read_records
from keras_mmel.text.files import write_augmented
from keras_mmel.text.files import write_records
from tests.text.files.fakes import FakeAugmenter
from tests.text.files.fakes import MadeSource
from tests.text.files.fakes import contents


def expected_records(source, augmenter):
    for number in range(len(source)):
        example = source.example(number)
        views = augmenter.views(example.example_id, example.texts)
        yield Record(
            example.example_id,
            example.texts,
            example.label,
            tuple(map(ord, "".join(example.texts))),
            tuple(
                View(
                    (v.text,) if isinstance(v.text, str) else v.text,
                    v.token_ids,
                    v.positions,
                    v.log_prob,
                )
                for v in views
            ),
        )


def write(directory, source=None, augmenter=None, **options):
    return write_augmented(
        directory,
        MadeSource() if source is None else source,
        augmenter or FakeAugmenter(),
        **{"num_shards": 3, "progress": False} | options,
    )


@pytest.mark.parametrize("num_texts", [1, 2])
@pytest.mark.parametrize("label_kind", ["class", None])
def test_what_is_read_is_what_was_made(tmp_path, num_texts, label_kind):
    source = MadeSource(10, num_texts, label_kind)
    written = write(tmp_path / "x" / "y", source)
    assert (written.num_written, written.missing) == (3, ())
    found = list(read_records(tmp_path / "x" / "y"))
    assert found == list(expected_records(source, FakeAugmenter()))


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
    write(tmp_path, split="dev", label_names=("n", "m", "p"))
    done = subprocess.run(
        [sys.executable, "-c", _READ, str(tmp_path)],
        capture_output=True,
        text=True,
        # Not from the project's folder, which would offer the package.
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    expected = []
    for one in expected_records(MadeSource(), FakeAugmenter()):
        texts = [view.texts[0] for view in one.views]
        ids = [str(list(view.token_ids)) for view in one.views]
        row = [one.example_id, str(one.label), *texts, *ids, "[]"]
        expected.append("|".join(row))
    assert sorted(done.stdout.splitlines()) == sorted(expected)


def test_tfds_reads_values(tmp_path):
    write(tmp_path, MadeSource(5, 1, "value"))
    builder = tfds.builder_from_directory(tmp_path)
    rows = builder.as_dataset(split="train").as_numpy_iterator()
    found = sorted(float(row["label"]) for row in rows)
    assert found == pytest.approx([n / 7 for n in range(5)])


def test_same_call_does_nothing_more(tmp_path):
    write(tmp_path)
    before = contents(tmp_path)
    assert write(tmp_path).num_written == 0
    assert contents(tmp_path) == before


def test_missing_shard_is_made_again(tmp_path):
    write(tmp_path)
    before = contents(tmp_path)
    (tmp_path / "augmented-train.tfrecord-00001-of-00003").unlink()
    assert write(tmp_path).num_written == 1
    assert contents(tmp_path) == before


def test_parts_of_the_work_add_up(tmp_path):
    write(tmp_path / "whole")
    first = write(tmp_path / "parts", shard=(1, 2))
    assert first.num_written == 2
    assert first.missing == ("augmented-train.tfrecord-00000-of-00003",)
    with pytest.raises(ValueError, match="lacks 1 of 3 shards"):
        list(read_records(tmp_path / "parts"))
    assert write(tmp_path / "parts", shard=(0, 2)).missing == ()
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


def test_directories_of_parts_are_copied_together(tmp_path):
    """The same call then finds everything made, and finishes the directory."""
    write(tmp_path / "whole")
    write(tmp_path / "a", shard=(0, 2))
    write(tmp_path / "b", shard=(1, 2))
    for path in (tmp_path / "b").glob("*.tfrecord*"):
        shutil.copy(path, tmp_path / "a")
    assert write(tmp_path / "a").num_written == 0
    assert contents(tmp_path / "a") == contents(tmp_path / "whole")


@pytest.mark.parametrize(
    ("options", "difference"),
    [
        ({"augmenter": FakeAugmenter(1)}, r"made.augmenter.seed \(0 there, 1"),
        ({"source": MadeSource(11)}, r"num_examples \(10 there, 11 now\)"),
        ({"num_shards": 2}, r"num_shards \(3 there, 2 now\)"),
        ({"split": "dev"}, r'split \("train" there, "dev" now\)'),
        ({"label_names": ("a", "b", "c")}, "label_names"),
        ({"source": MadeSource(10, 2)}, r"num_texts \(1 there, 2 now\)"),
    ],
)
def test_other_settings_are_refused(tmp_path, options, difference):
    write(tmp_path)
    before = contents(tmp_path)
    with pytest.raises(ValueError, match=difference):
        write(tmp_path, **options)
    assert contents(tmp_path) == before


def test_directory_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("the only copy")
    with pytest.raises(ValueError, match="'thesis.tex'"):
        write(tmp_path)
    assert list(contents(tmp_path)) == ["thesis.tex"]


@pytest.mark.parametrize("shard", [(2, 2), (-1, 2), (0, 4), (0, 0), 1, (1,)])
def test_impossible_part_is_refused(tmp_path, shard):
    with pytest.raises(ValueError, match="`shard` must be .*Received: shard="):
        write(tmp_path, shard=shard)
    assert not contents(tmp_path)


@pytest.mark.parametrize("num_shards", [0, 11])
def test_impossible_number_of_shards_is_refused(tmp_path, num_shards):
    with pytest.raises(ValueError, match="`num_shards` must be from 1"):
        write(tmp_path, num_shards=num_shards)


def test_no_examples_are_refused(tmp_path):
    with pytest.raises(ValueError, match="must be examples"):
        write(tmp_path, MadeSource(0))


def test_shards_hold_at_most_512_examples(tmp_path):
    write(tmp_path, MadeSource(1025), num_shards=None)
    lengths = [len(r) for r in read_manifest(tmp_path).ranges()]
    assert lengths == [341, 342, 342]


def test_augmenter_that_fails_leaves_whole_shards(tmp_path):
    class Fails(FakeAugmenter):
        def views(self, example_id, texts):
            if example_id == "id-7":
                raise RuntimeError("out of luck")
            return super().views(example_id, texts)

    with pytest.raises(RuntimeError, match="out of luck"):
        write(tmp_path / "a", augmenter=Fails())
    left = contents(tmp_path / "a")
    assert list(left) == [
        "augmented-train.tfrecord-00000-of-00003",
        "augmented-train.tfrecord-00001-of-00003",
        "augmented.json",
    ]
    assert write(tmp_path / "a").num_written == 1
    write(tmp_path / "b")
    whole = contents(tmp_path / "b")
    assert contents(tmp_path / "a") == whole
    assert left.items() <= whole.items()


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (2, "for each of its 3 examples. Received: 2 records"),
        (4, "one record for each example. Received: more"),
    ],
)
def test_wrong_number_of_records_is_an_error(tmp_path, number, message):
    made = (Record(str(n), ("x",), 0) for n in range(number))
    with pytest.raises(ValueError, match=message):
        write_records(
            tmp_path,
            lambda ranges, tick: made,
            num_examples=3,
            num_texts=1,
            label_kind="class",
            made={},
            progress=False,
        )
    assert "dataset_info.json" not in contents(tmp_path)


def test_id_that_occurs_twice_is_named(tmp_path):
    class Twice(MadeSource):
        def example(self, number):
            return super().example(5 if number == 8 else number)

    with pytest.raises(ValueError, match="'id-5' for the examples 5 and 8"):
        write(tmp_path, Twice())
    assert "dataset_info.json" not in contents(tmp_path)


def test_first_examples(tmp_path):
    source = First(MadeSource(10), 4)
    write(tmp_path, source)
    found = [record.example_id for record in read_records(tmp_path)]
    assert found == ["id-0", "id-1", "id-2", "id-3"]
    assert read_manifest(tmp_path).made["source"]["limit"] == 4
    assert len(First(MadeSource(10), 99)) == 10
    with pytest.raises(ValueError, match="`limit` must be at least 1"):
        First(MadeSource(10), 0)


def test_manifest_tells_how_the_files_were_made(tmp_path):
    write(tmp_path)
    fields = json.loads((tmp_path / "augmented.json").read_text())
    assert fields["made"] == {
        "source": {"kind": "made", "length": 10},
        "augmenter": {"seed": 0, "kind": "fake"},
    }
    assert fields["num_examples"] == 10
    assert str(tmp_path) not in json.dumps(fields)


def test_memory_does_not_grow_with_the_examples(tmp_path):
    alive, most = weakref.WeakSet(), []

    class Counts(MadeSource):
        def example(self, number):
            example = super().example(number)
            alive.add(example)
            most.append(len(alive))
            return example

    write(tmp_path, Counts(3000), num_shards=3)
    assert len(most) == 3000
    assert max(most) < 300


def test_progress_is_told(tmp_path):
    told = []
    write(tmp_path, shard=(1, 2), progress=lambda *pair: told.append(pair))
    assert told == [(n, 7) for n in range(1, 8)]
    (tmp_path / "augmented-train.tfrecord-00002-of-00003").unlink()
    told.clear()
    write(tmp_path, progress=lambda *pair: told.append(pair))
    assert told == [(n, 10) for n in range(4, 11)]


def test_progress_is_shown(tmp_path, capsys):
    write(tmp_path, MadeSource(10, 2), progress=True)
    shown = capsys.readouterr().err
    assert "20/20" in shown
    assert "sentences/s" in shown


def test_example_is_a_plain_value():
    assert Example("a", ("x",)) == Example("a", ("x",), None)
