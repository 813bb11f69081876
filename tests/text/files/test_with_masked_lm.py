"""The files of the real augmenter; `tests/cli` has more of them."""

import dataclasses

import pytest

from keras_mmel.text import MaskedLMAugmenter
from keras_mmel.text import files
from tests.text import made_records

ROWS = [
    ("a good film and a long one", "it was good"),
    ("", "it was"),
    ("the", ""),
    ("", ""),
    ("Caf\u00e9 \U0001f389 the film", "\u4e2d\u6587"),
    *((f"the film was {n} long", f"a {n} film") for n in range(7)),
]


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
    source = files.from_csv(table, columns, "y", "id")
    options = {"num_shards": 3, "progress": False}
    files.write_augmented(tmp_path, source, augmenter, **options)
    texts = [made_records.as_text(one.texts) for one in source.records]
    ids = [one.example_id for one in source.records]
    encoded = augmenter.tokenizer.encode(texts, augmenter.max_length)
    expected = augmenter.augment(texts, ids)
    found = list(files.read_records(tmp_path))
    assert sum(len(record.views) for record in found) > len(ROWS)
    for record, example, samples, original in zip(
        found, source.records, expected, encoded, strict=True
    ):
        assert record.token_ids == original.token_ids
        assert [
            (made_records.as_text(v.texts), v.token_ids, v.positions)
            for v in record.views
        ] == [(s.text, s.token_ids, s.positions) for s in samples]
        plain = dataclasses.replace(record, token_ids=(), views=())
        assert plain == example
