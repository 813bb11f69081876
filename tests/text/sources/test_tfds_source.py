import pytest
import tensorflow_datasets as tfds

from keras_mmel.text.files import Example
from keras_mmel.text.files import from_tfds
from tests.text.files.fakes import make_source
from tests.text.files.fakes import write

PAIR = ["text_a", "text_b"]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A directory that TFDS has prepared, of several files."""
    folder = tmp_path_factory.mktemp("prepared")
    write(folder, make_source(40, 2, names="abc"))
    return folder


def expected(numbers):
    records = make_source(40, 2).records
    return [records[number] for number in numbers]


@pytest.mark.parametrize(
    ("split", "numbers"),
    [
        ("train", list(range(40))),
        ("train[:10%]+train[20:22]", [0, 1, 2, 3, 20, 21]),
    ],
)
def test_examples_of_a_split(prepared, split, numbers):
    source = from_tfds(prepared, split, PAIR, "label", "example_id")
    assert len(source) == len(numbers)
    assert source.records == expected(numbers)


def test_what_a_source_says_of_itself(prepared):
    source = from_tfds(prepared, "train", PAIR, "label", "example_id")
    assert source.num_texts == 2
    assert (source.label_kind, source.label_names) == ("class", ("a", "b", "c"))
    plain = source.describe()
    again = from_tfds(prepared, "train", PAIR, "label", "example_id")
    assert again.describe() == plain
    assert str(prepared) not in str(plain)
    other = from_tfds(prepared, "train", PAIR, None, "example_id")
    assert other.describe()["sha256"] != plain["sha256"]


def test_neither_labels_nor_ids(prepared):
    source = from_tfds(prepared, "train[3:5]", "text_b", None)
    texts = [example.texts[1] for example in expected([3, 4])]
    assert (source.num_texts, source.label_kind) == (1, None)
    assert source.records == [
        Example("0", (texts[0],)),
        Example("1", (texts[1],)),
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": ["text_a", "x"]}, "`columns` must name feat.*eived: 'x'"),
        (
            {"columns": "token_ids"},
            "must name a feature of texts.*'token_ids'",
        ),
        ({"columns": ["text_a"] * 3}, "`columns` must name one or two"),
        ({"label": "text_a"}, "`label` must name a feature of one number"),
        ({"label": "teacher"}, "`label` must name a feature of one number"),
        ({"id": "label"}, "'0' for the examples 0 and 3"),
        ({"id": "views"}, "`id` must name a feature of words or integers"),
        ({"split": "test"}, "Unknown split 'test'"),
    ],
)
def test_bad_names(prepared, options, message):
    options = {"split": "train", "columns": PAIR, "id": "example_id"} | options
    with pytest.raises(ValueError, match=message):
        from_tfds(prepared, **options)


def test_hidden_labels_are_refused_at_once(tmp_path):
    write(tmp_path, make_source(4, 1, None))
    with pytest.raises(ValueError, match="give `None`.* -1 in example 0"):
        from_tfds(tmp_path, "train", "text_a", "label", "example_id")


@pytest.mark.parametrize("name", ["rte", "stsb"])
def test_real_data(shared_dir, name):
    data_dir = shared_dir / "data" / "tfds"
    columns = ["sentence1", "sentence2"]
    split = "validation"
    source = from_tfds(f"glue/{name}", split, columns, "label", "idx", data_dir)
    rows = tfds.load(
        f"glue/{name}", split=split, data_dir=data_dir, download=False
    )
    expected = [
        Example(
            str(row["idx"]),
            tuple(row[column].decode() for column in columns),
            row["label"].item(),
        )
        for row in rows.as_numpy_iterator()
    ]
    assert source.records == expected
    names = ("entailment", "not_entailment") if name == "rte" else None
    assert source.label_names == names
    assert source.label_kind == ("class" if name == "rte" else "value")
