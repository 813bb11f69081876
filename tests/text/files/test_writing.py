import concurrent.futures
import dataclasses
import json
import os
import pathlib
import shutil
import sys
import threading

import fsspec
import pytest
from etils import epath
from etils.epath import gpath
from fsspec.implementations import memory

from keras_mmel.text import MaskedLMAugmenter
from keras_mmel.text import files
from keras_mmel.whole_files import is_left_over
from tests.text import made_records
from tests.text.files import fakes


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What `write` makes where nothing happens."""
    folder = tmp_path_factory.mktemp("whole") / "x" / "y"
    written = fakes.write(folder)
    assert (written.num_written, written.missing) == (3, ())
    return folder


def name(index):
    return f"augmented-train.tfrecord-{index:05d}-of-00003"


def test_views_of_a_source_are_kept(tmp_path):
    records = [
        files.Record("a", ("x",), views=(files.View(("y",)),)),
        files.Record("b", ("z",)),
    ]
    source = files.InMemory(records, description={"file": "views.csv"})
    files.write_augmented(tmp_path, source, progress=False)
    assert list(files.read_records(tmp_path)) == source.records
    assert source.describe()["file"] == "views.csv"
    assert files.read_manifest(tmp_path).made == {
        "source": source.describe(),
        "augmenter": {"name": "imported", "tokenizer": None},
    }


def test_views_of_a_source_are_not_lost_to_an_augmenter(tmp_path):
    records = [
        files.Record("id-0", ("x",)),
        files.Record("id-1", ("z",), views=(files.View(("y",)),)),
    ]
    with pytest.raises(
        ValueError, match="`augmenter=None`.*Received: 1 views of .*'id-1'"
    ):
        fakes.write(tmp_path, files.InMemory(records), num_shards=1)


@pytest.mark.parametrize("sides", [1, 2])
def test_files_hold_what_the_augmenter_returns(tmp_path, masked_lm, sides):
    rows = [("a good film, a long one", "it was good"), ("", "it was")]
    rows += [("the", ""), ("", ""), ("Caf\u00e9 \U0001f389", "\u4e2d\u6587")]
    rows += [(f"the film was {n} long", f"a {n} film") for n in range(7)]
    examples = [
        files.Record(f"{i}", row[:sides], i % 2) for i, row in enumerate(rows)
    ]
    augmenter = MaskedLMAugmenter(masked_lm, 3, slots=4)
    source = files.InMemory(examples, "class")
    fakes.write(tmp_path, source, augmenter)
    texts = [made_records.as_text(one.texts) for one in examples]
    encoded = augmenter.tokenizer.encode(texts, augmenter.max_length)
    expected = augmenter.augment(texts)
    found = list(files.read_records(tmp_path))
    assert sum(len(record.views) for record in found) > len(rows)
    for record, example, samples, original in zip(
        found, examples, expected, encoded, strict=True
    ):
        assert record.token_ids == original.token_ids
        assert [
            (made_records.as_text(v.texts), v.token_ids, v.positions)
            for v in record.views
        ] == [(s.text, s.token_ids, s.positions) for s in samples]
        plain = dataclasses.replace(record, token_ids=(), views=())
        assert plain == example


def test_several_write_into_one_directory(tmp_path, whole):
    """All at the same time, and some of them the same."""
    parts = [(0, 3), (1, 3), (2, 3), (1, 3), (0, 1)]
    barrier = threading.Barrier(len(parts))

    def run(part):
        barrier.wait()
        fakes.write(tmp_path, shard=part)

    with concurrent.futures.ThreadPoolExecutor(len(parts)) as pool:
        list(pool.map(run, parts))
    fakes.write(tmp_path)
    assert fakes.contents(tmp_path) == fakes.contents(whole)


def test_killed_at_any_line_it_ends_as_if_it_had_never_been(tmp_path, whole):
    """What lies there at each line of the package, and the same call again."""
    package = str(pathlib.Path(files.__file__).parent)
    directory, states = tmp_path / "made", {}
    directory.mkdir()

    def trace(frame, event, argument):
        path = frame.f_code.co_filename
        if not path.startswith(package) or path.endswith("format.py"):
            return None
        found = {e.name: e.stat().st_size for e in os.scandir(directory)}
        if (key := tuple(sorted(found.items()))) not in states:
            states[key] = tmp_path / f"killed{len(states)}"
            shutil.copytree(directory, states[key])
        return trace

    tracing = sys.gettrace()  # such as that of a coverage
    sys.settrace(trace)
    fakes.write(directory)
    sys.settrace(tracing)
    assert len(states) > 15
    for killed in states.values():
        half = fakes.contents(killed)
        for file in half.keys() - fakes.contents(whole).keys():
            assert is_left_over(file)
        if "dataset_info.json" in half:
            assert half.keys() >= fakes.contents(whole).keys()
        fakes.write(killed)
        assert fakes.contents(killed) == fakes.contents(whole)


class Fails(fakes.FakeAugmenter):
    def views(self, example_id, texts):
        if example_id == "id-7":
            raise RuntimeError("out of luck")
        return super().views(example_id, texts)


def test_augmenter_that_fails_leaves_whole_shards(tmp_path, whole):
    with pytest.raises(RuntimeError, match="out of luck"):
        fakes.write(tmp_path, augmenter=Fails())
    left = fakes.contents(tmp_path)
    assert list(left) == [name(0), name(1), "augmented.json"]
    assert fakes.write(tmp_path).num_written == 1
    assert fakes.contents(tmp_path) == fakes.contents(whole)


@pytest.fixture
def store(monkeypatch):
    """An `s3://` in memory, which `epath` finds through fsspec."""

    class Store(memory.MemoryFileSystem):
        store, pseudo_dirs = {}, [""]

        @classmethod
        def _strip_protocol(cls, path):
            return super()._strip_protocol(path.removeprefix("s3:/"))

    fsspec.register_implementation("s3", Store, clobber=True)
    monkeypatch.setenv("EPATH_USE_TF", "false")
    gpath._is_tf_installed.cache_clear()
    epath.backend.fsspec_backend._get_filesystem.cache_clear()
    yield Store.store
    gpath._is_tf_installed.cache_clear()


def test_an_object_store_holds_the_same(store, whole):
    place = "s3://bucket/x/y"
    with pytest.raises(RuntimeError, match="out of luck"):
        fakes.write(place, augmenter=Fails())
    with pytest.raises(ValueError, match="lacks 1 of 3 shards"):
        list(files.read_records(place))
    with pytest.raises(ValueError, match="seed=0 in place of .*seed=1"):
        fakes.write(place, augmenter=fakes.FakeAugmenter(1))
    assert fakes.write(place).num_written == 1
    found = {key.split("/")[-1]: one.getvalue() for key, one in store.items()}
    assert found == fakes.contents(whole)
    assert list(files.read_records(place)) == list(files.read_records(whole))


@pytest.mark.parametrize("scheme", ["s3", "ftp", "memory", "file"])
def test_other_object_stores_are_refused(scheme):
    place = f"{scheme}://bucket/x"
    known = "epath: gs://, or s3://, az:// and hf:// with.*EPATH_USE_TF="
    with pytest.raises(ValueError, match=f"{known}.*'{place}'"):
        fakes.write(place)


@pytest.mark.parametrize(
    ("options", "difference"),
    [
        (
            {"augmenter": fakes.FakeAugmenter(1)},
            "seed=0 in place of made.augmenter.seed=1",
        ),
        ({"source": fakes.make_source(11)}, "num_examples=10"),
        ({"split": "dev"}, "split='train' in place of split='dev'"),
        ({"source": fakes.make_source(names=list("abc"))}, "label_names"),
        ({"source": fakes.make_source(10, 2)}, "num_texts=1 in place"),
    ],
)
def test_other_settings_are_refused(whole, options, difference):
    before = fakes.contents(whole)
    with pytest.raises(ValueError, match=f"or delete it.*{difference}"):
        fakes.write(whole, **options)
    assert fakes.contents(whole) == before


def test_what_has_no_shard_is_taken_over(tmp_path, whole):
    """Also from a run that still goes on, whose shards are then refused."""

    class Robbed(fakes.FakeAugmenter):
        def views(self, example_id, texts):
            if not (tmp_path / name(0)).exists():
                fakes.write(tmp_path)
            return super().views(example_id, texts)

    with pytest.raises(ValueError, match="seed=0 in place of .*seed=1"):
        fakes.write(tmp_path, augmenter=Robbed(1))
    assert fakes.contents(tmp_path) == fakes.contents(whole)


def test_data_and_models_as_they_are_get_a_way(tmp_path, masked_lm):
    for data in ([("so good",)], "reviews.csv", {"text": ["so good"]}):
        with pytest.raises(
            TypeError, match=r"from_columns.*Received: source of"
        ):
            files.write_augmented(tmp_path / "out", data)
    source = files.InMemory([files.Record("0", ("so good",), 1)], "class")
    with pytest.raises(
        TypeError, match=r"`MaskedLMAugmenter\(masked_lm\)`.*Rec"
    ):
        files.write_augmented(tmp_path / "out", source, masked_lm)
    with pytest.raises(TypeError, match="Received: augmenter of type int"):
        files.write_augmented(tmp_path / "out", source, 4)
    with pytest.raises(TypeError, match="`num_shards` must be an integer"):
        files.write_augmented(tmp_path / "out", source, num_shards=1.0)
    with pytest.raises(ValueError, match="'value' or None. Received.*'klass'"):
        files.InMemory([files.Record("0", ("so good",), 1)], "klass")


def test_directory_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("the only copy")
    with pytest.raises(ValueError, match="'thesis.tex'"):
        fakes.write(tmp_path)
    assert list(fakes.contents(tmp_path)) == ["thesis.tex"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(
            ({"shard": part}, "`shard` must be .*Received: shard=")
            for part in ((2, 2), (-1, 2), (0, 4), (0, 0))
        ),
        ({"num_shards": 0}, "`num_shards` must be from 1"),
        ({"num_shards": 11}, "`num_shards` must be from 1"),
        ({"split": "a-b"}, "`split` must be a name"),
    ],
)
def test_bad_settings_are_refused(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        fakes.write(tmp_path, **options)
    assert not fakes.contents(tmp_path)


@pytest.mark.parametrize(
    ("ids", "message"),
    [("021", "'2' for '1'"), ("01", "None for '2'"), ("0123", "'3' for None")],
)
def test_function_that_changes_the_examples(tmp_path, ids, message):
    with pytest.raises(ValueError, match=f"for each example.*{message}"):
        files.write_records(
            tmp_path,
            files.InMemory([files.Record(i, ("x",)) for i in "012"]),
            lambda records: iter([files.Record(i, ("x",)) for i in ids]),
            made={},
            progress=False,
        )
    assert list(fakes.contents(tmp_path)) == ["augmented.json"]


def test_manifest_tells_how_the_files_were_made(whole):
    text = (whole / "augmented.json").read_text("utf-8")
    assert files.read_manifest(whole).to_json() == text
    fields = json.loads(text)
    assert fields.pop("software").keys() == {"keras_mmel"}
    assert fields == {
        "format": 2,
        "split": "train",
        "num_examples": 10,
        "num_shards": 3,
        "num_texts": 1,
        "label_kind": "class",
        "label_names": None,
        "made": {
            "source": fakes.make_source().describe(),
            "augmenter": {"seed": 0, "kind": "fake"},
        },
    }


def test_shards_hold_at_most_512_examples(tmp_path):
    fakes.write(tmp_path, fakes.make_source(1025), num_shards=None)
    lengths = list(map(len, files.read_manifest(tmp_path).shards().values()))
    assert lengths == [341, 342, 342]


def test_progress_is_shown(tmp_path, capsys):
    fakes.write(tmp_path, fakes.make_source(10, 2), progress=True)
    shown = capsys.readouterr().err
    assert "20/20" in shown
    assert "sentences/s" in shown
