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
    fakes.write(folder, fakes.make_source(40, 2, names="abc"))
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
    assert other["sha256"] != plain["sha256"]


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
        ({"columns": ["text_a", "x"]}, "`columns` must name feat.*eived: 'x'"),
        ({"columns": "token_ids"}, "a feature of texts.*'token_ids'"),
        ({"columns": ["text_a"] * 3}, "`columns` must name one column"),
        ({"label": "text_a"}, "`label` must name a feature of one number"),
        ({"label": "teacher"}, "`label` must name a feature of one number"),
        ({"id": "label"}, "'0' for examples 0 and 3"),
        ({"id": "views"}, "`id` must name a feature of words or integers"),
        ({"split": "test"}, "Unknown split 'test'"),
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


def test_hidden_labels_are_refused_at_once(tmp_path):
    fakes.write(tmp_path, fakes.make_source(4, 1, None))
    with pytest.raises(ValueError, match="give `None`.* -1 in example 0"):
        files.from_tfds(tmp_path, "train", "text_a", "label", "example_id")


@pytest.mark.parametrize(
    "task", ["cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte"]
)
def test_text_columns_of_glue_are_known(task, monkeypatch):
    (config,) = (c for c in glue.Glue.BUILDER_CONFIGS if c.name == task)
    columns = []

    def stop(features, asked, label, id):
        columns.extend(asked)
        raise KeyboardInterrupt

    info = types.SimpleNamespace(features={})
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
