"""The files of the real augmenter."""

import dataclasses

import pytest

from keras_mmel.text import MaskedLMAugmenter
from keras_mmel.text import load_masked_lm
from keras_mmel.text.files import from_csv
from keras_mmel.text.files import from_tfds
from keras_mmel.text.files import read_records
from keras_mmel.text.files import write_augmented
from keras_mmel.text.files import writing
from tests.text import tiny
from tests.text.files.fakes import contents

ROWS = [
    ("a good film and a long one", "it was good"),
    ("", "it was"),
    ("the", ""),
    ("", ""),
    ("Caf\u00e9 \U0001f389 the film", "\u4e2d\u6587"),
    *((f"the film was {n} long", f"a {n} film") for n in range(7)),
]


@pytest.fixture(scope="module")
def masked_lm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert") / "tiny"
    return load_masked_lm(str(tiny.make_checkpoint(folder) or folder))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "x.csv"
    lines = [f'{i},"{a}","{b}",{i % 2}' for i, (a, b) in enumerate(ROWS)]
    path.write_text("\n".join(["id,a,b,y", *lines, ""]), encoding="utf-8")
    return path


@pytest.mark.parametrize("columns", [["a"], ["a", "b"]])
def test_files_hold_what_the_augmenter_returns(
    tmp_path, masked_lm, table, columns
):
    augmenter = MaskedLMAugmenter(masked_lm, 3, slots=4)
    source = from_csv(table, columns, "y", "id")
    write_augmented(tmp_path, source, augmenter, num_shards=3, progress=False)
    texts = [writing.as_text(one.texts) for one in source.records]
    ids = [one.example_id for one in source.records]
    encoded = augmenter.tokenizer.encode(texts, augmenter.max_length)
    expected = augmenter.augment(texts, ids)
    found = list(read_records(tmp_path))
    assert sum(len(record.views) for record in found) > len(ROWS)
    for record, example, samples, original in zip(
        found, source.records, expected, encoded, strict=True
    ):
        assert record.token_ids == original.token_ids
        assert [
            (writing.as_text(v.texts), v.token_ids, v.positions)
            for v in record.views
        ] == [(s.text, s.token_ids, s.positions) for s in samples]
        plain = dataclasses.replace(record, token_ids=(), views=())
        assert plain == example


def test_files_do_not_depend_on_batches_and_parts(tmp_path, masked_lm, table):
    source = from_csv(table, ["a", "b"], "y", "id")

    def write(folder, slots, **options):
        augmenter = MaskedLMAugmenter(masked_lm, 3, slots=slots)
        options |= {"num_shards": 4, "progress": False}
        write_augmented(tmp_path / folder, source, augmenter, **options)

    write("one", 5)
    write("parts", 5, shard=(1, 2))
    write("parts", 5, shard=(0, 2))
    assert contents(tmp_path / "parts") == contents(tmp_path / "one")
    write("slots", 16)
    assert contents(tmp_path / "slots") == contents(tmp_path / "one")


def test_real_model_on_real_data(tmp_path, shared_dir):
    columns = ["sentence1", "sentence2"]
    data_dir = shared_dir / "data" / "tfds"
    rte = from_tfds(
        "glue/rte", "validation[:5]", columns, "label", "idx", data_dir
    )
    model = load_masked_lm(str(shared_dir / "models" / "bert_tiny_mlm"))
    augmenter = MaskedLMAugmenter(model, unit="word", slots=8)
    write_augmented(tmp_path, rte, augmenter, progress=False)
    for record in read_records(tmp_path):
        rows = (record, *record.views)
        assert len({row.texts for row in rows}) == 5
        encoded = model.tokenizer.encode([row.texts for row in rows], 512)
        assert [one.token_ids for one in encoded] == [
            row.token_ids for row in rows
        ]
