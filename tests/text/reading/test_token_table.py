import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from keras_mmel.text.bert.tokenizer import Tokenizer
from keras_mmel.text.reading import token_table
from keras_mmel.text.reading.token_table import make_table
from tests.text import made_records
from tests.text import tiny


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint")
    return Tokenizer.from_directory(tiny.make_checkpoint(folder))


def rows_of(table):
    return [
        tuple(table.token_ids[a:b].tolist())
        for a, b in zip(table.starts[:-1], table.starts[1:], strict=True)
    ]


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("stored", [False, True])
def test_rows_are_what_the_tokenizer_gives(tokenizer, pairs, stored):
    records = made_records.make_records(
        40, tokenizer, pairs=pairs, views=(0, 3), teacher=3
    )
    table = (
        make_table(records, tokenizer, max_length=16)
        if not stored
        else make_table(records, None, max_length=16)
    )
    flat = [one for r in records for one in (r, *r.views)]
    encoded = [
        tokenizer.encode([made_records.as_text(one.texts)], max_length=16)[0]
        for one in flat
    ]
    assert rows_of(table) == [one.token_ids for one in encoded]
    assert table.borders.tolist() == [
        one.segment_ids.count(0) for one in encoded
    ]
    assert table.views.tolist() == [1 + len(r.views) for r in records]
    for record, row in zip(records, table.first[:-1], strict=True):
        at = [one is record for one in flat].index(True)
        assert row == at
    np.testing.assert_array_equal(
        table.teacher, np.array([one.teacher for one in flat], "float32")
    )
    assert table.labels.tolist() == [r.label for r in records]
    assert len(table) == 40


def test_rows_without_a_word(tokenizer):
    records = made_records.make_records(4, tokenizer)
    message = "`max_length` must be at least 3.*max_length=2"
    with pytest.raises(ValueError, match=message):
        make_table(records, tokenizer, max_length=2)


words = st.lists(st.sampled_from(tiny.WORDS), max_size=14).map(" ".join)


@settings(deadline=None, max_examples=60)
@given(st.tuples(words, words) | words, st.integers(3, 20))
def test_ids_are_cut_as_the_tokenizer_cuts(tokenizer, text, max_length):
    whole = tokenizer.encode([text])[0].token_ids
    expected = tokenizer.encode([text], max_length=max_length)[0].token_ids
    assert tuple(token_table._cut(whole, max_length)) == expected


def test_regression_labels_stay_real(tokenizer):
    records = made_records.make_records(5, tokenizer, regression=True)
    table = make_table(records, tokenizer)
    assert table.labels.dtype == np.float32
    assert table.labels.tolist() == [r.label for r in records]
    assert table.teacher is None


def test_a_chunk_boundary_changes_nothing(tokenizer, monkeypatch):
    records = made_records.make_records(10, tokenizer, views=(1, 3), teacher=2)
    whole = make_table(records, tokenizer)
    monkeypatch.setattr(token_table, "_CHUNK", 3)
    parts = make_table(records, tokenizer)
    for field in dataclasses.fields(whole):
        np.testing.assert_array_equal(
            getattr(whole, field.name), getattr(parts, field.name)
        )


def test_missing_predictions_are_none_at_all(tokenizer):
    records = made_records.make_records(3, tokenizer, teacher=2)
    records[1] = dataclasses.replace(records[1], teacher=())
    assert make_table(records, tokenizer).teacher is None


class TestErrors:
    def test_no_examples(self, tokenizer):
        with pytest.raises(ValueError, match="Received: 0 examples"):
            make_table([], tokenizer)

    def test_ids_that_are_not_there(self):
        records = made_records.make_records(2, None)
        with pytest.raises(ValueError, match="`tokenizer`.*tokenizer=None"):
            make_table(records, None)

    def test_some_labels_are_missing(self, tokenizer):
        records = made_records.make_records(3, tokenizer)
        records[2] = dataclasses.replace(records[2], label=None)
        with pytest.raises(ValueError, match="1 of 3 without one"):
            make_table(records, tokenizer)

    def test_teachers_of_two_kinds(self, tokenizer):
        records = made_records.make_records(2, tokenizer, teacher=2)
        records += made_records.make_records(2, tokenizer, teacher=3)
        with pytest.raises(ValueError, match=r"\[2, 3\]"):
            make_table(records, tokenizer)
