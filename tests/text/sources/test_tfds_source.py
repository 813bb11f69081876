import types

import pytest
import tensorflow_datasets as tfds
from tensorflow_datasets.text import glue

from keras_mmel.text import files
from keras_mmel.text.sources import tfds as tfds_source
from tests.text.files import fakes

PAIR = ["text_a", "text_b"]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A directory that TFDS has prepared, of several files."""
    folder = tmp_path_factory.mktemp("prepared")
    fakes.write(folder, fakes.make_source(40, 2, names=list("abc")))
    return folder


def read(prepared, split="train", columns=PAIR, label="label"):
    return files.from_tfds(prepared, split, columns, label, "example_id")


def test_examples_of_a_split(prepared):
    source, records = read(prepared), fakes.make_source(40, 2).records
    assert source.records == records
    assert (source.label_kind, source.label_names) == ("class", tuple("abc"))
    part = read(prepared, "train[:10%]+train[20:22]")
    assert part.records == records[:4] + records[20:22]


def test_description_changes_with_the_examples_alone(prepared):
    plain = read(prepared).describe()
    assert read(prepared).describe() == plain
    assert str(prepared) not in str(plain)
    other = read(prepared, label=None).describe()
    assert other["records"] != plain["records"]


def test_neither_labels_nor_ids(prepared):
    source = files.from_tfds(prepared, "train[3:5]", "text_b", None)
    texts = [record.texts[1] for record in fakes.make_source(5, 2).records[3:]]
    assert source.label_kind is None
    assert source.records == [
        files.Record(str(i), (text,)) for i, text in enumerate(texts)
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"columns": ["text_a", "x"]},
            "augmented.*no column 'x'; there are",
        ),
        (
            {"columns": "token_ids"},
            "'token_ids' must be a feature of texts.*int32",
        ),
        ({"columns": ["text_a"] * 3}, "`columns` must name one column"),
        ({"label": "text_a"}, "'text_a' must be a feature of one number"),
        ({"label": "teacher"}, "'teacher' must be a feature of one number"),
        ({"label": "x"}, "no column 'x'"),
        ({"id": "label"}, "example 4: the id '0' is that of example 1"),
        ({"id": "views"}, "'views' must be a feature of words or integers"),
        ({"split": "test"}, "Unknown split 'test'"),
        ({"split": "train[:0]"}, "corresponds to no data"),
    ],
)
def test_bad_names(prepared, options, message):
    options = {"split": "train", "columns": PAIR, "id": "example_id"} | options
    with pytest.raises(ValueError, match=message):
        files.from_tfds(prepared, **options)


def test_data_that_are_not_there_are_not_downloaded(tmp_path):
    with pytest.raises(
        FileNotFoundError, match="`data_dir` must have glue/rte"
    ):
        files.from_tfds("glue/rte", "train", PAIR, data_dir=tmp_path)


def test_the_data_set_says_what_its_labels_are(tmp_path):
    """Whole numbers may be values, and names of classes may be numbers."""
    records = [files.Record(str(i), ("x",), 2.0 * i) for i in range(3)]
    fakes.write(tmp_path / "values", files.InMemory(records, "value"))
    source = files.from_tfds(str(tmp_path / "values"), columns="text_a")
    assert (source.label_kind, source.notes) == ("value", ())
    assert [record.label for record in source.records] == [0.0, 2.0, 4.0]
    made = fakes.make_source(4, names=list("123"))
    fakes.write(tmp_path / "classes", made)
    source = files.from_tfds(str(tmp_path / "classes"), columns="text_a")
    assert source.label_names == tuple("123")
    assert [record.label for record in source.records] == [0, 1, 2, 0]


def test_hidden_labels_are_refused_at_once(tmp_path):
    fakes.write(tmp_path, fakes.make_source(4, 1, None))
    message = "augmented.*, example 1: 'label' must be a class.* -1; .*hidden"
    with pytest.raises(ValueError, match=message):
        files.from_tfds(tmp_path, "train", "text_a", "label", "example_id")


@pytest.mark.parametrize(
    "task", ["cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte"]
)
def test_text_columns_of_glue_are_known(task, monkeypatch):
    (config,) = (c for c in glue.Glue.BUILDER_CONFIGS if c.name == task)
    columns = []

    def stop(table, features, asked, label, id):
        columns.extend(asked)
        raise KeyboardInterrupt

    info = types.SimpleNamespace(features={}, full_name=task)
    builder = types.SimpleNamespace(info=info, builder_config=config)
    monkeypatch.setattr(tfds_source, "prepared", lambda *_: builder)
    monkeypatch.setattr(tfds_source, "_check_features", stop)
    with pytest.raises(KeyboardInterrupt):
        files.from_tfds(f"glue/{task}")
    assert columns == list(config.text_features)


def test_real_data(shared_dir):
    """Values; `tests/cli/test_commands.py` reads the classes of a pair."""
    data_dir, split = shared_dir / "data" / "tfds", "validation"
    name, columns = "glue/stsb", ["sentence1", "sentence2"]
    source = files.from_tfds(name, split, id="idx", data_dir=data_dir)
    rows = tfds.load(name, split=split, data_dir=data_dir, download=False)
    assert source.records == [
        files.Record(
            str(row["idx"]),
            tuple(row[column].decode() for column in columns),
            row["label"].item(),
        )
        for row in rows.as_numpy_iterator()
    ]
    assert (source.label_kind, source.label_names) == ("value", None)
