import dataclasses

import keras_hub
import numpy as np
import pytest

from keras_mmel.text import Tokenizer
from keras_mmel.text import load_table
from keras_mmel.text import read_augmented
from keras_mmel.text import read_plain
from keras_mmel.text.files import InMemory
from keras_mmel.text.reading import token_table
from keras_mmel.text.reading.token_table import make_table
from tests.text import made_records


def rows_of(table):
    return [
        tuple(table.token_ids[a:b].tolist())
        for a, b in zip(table.starts[:-1], table.starts[1:], strict=True)
    ]


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize(
    ("stored", "longest"), [(False, 16)] + [(True, n) for n in (3, 4, 9, 16)]
)
def test_rows_are_what_the_tokenizer_gives(tokenizer, pairs, stored, longest):
    records = made_records.make_records(
        40, tokenizer, pairs=pairs, views=(0, 3), teacher=3
    )
    table = make_table(records, None if stored else tokenizer, longest)
    flat = [one for r in records for one in (r, *r.views)]
    encoded = [
        tokenizer.encode([made_records.as_text(one.texts)], longest)[0]
        for one in flat
    ]
    assert rows_of(table) == [one.token_ids for one in encoded]
    assert table.borders.tolist() == [
        one.segment_ids.count(0) for one in encoded
    ]
    assert table.views.tolist() == [1 + len(r.views) for r in records]
    assert all(flat[n] is r for n, r in zip(table.first, records, strict=False))
    np.testing.assert_array_equal(
        table.teacher, np.array([one.teacher for one in flat], "float32")
    )
    assert table.labels.tolist() == [r.label for r in records]
    assert len(table) == 40


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


def test_what_no_table_is_made_of(tokenizer):
    def fails(message, records, *arguments):
        with pytest.raises(ValueError, match=message):
            make_table(records, *arguments)

    records = made_records.make_records(3, tokenizer, teacher=2)
    fails("Received: 0 examples", [], tokenizer)
    message = "`max_length` must be at least 3.*max_length=2"
    fails(message, records, tokenizer, 2)
    without = made_records.make_records(2, None, teacher=3)
    fails("`tokenizer`.*tokenizer=None", without, None)
    fails(r"\[2, 3\]", records + without, tokenizer)
    records[2] = dataclasses.replace(records[2], label=None)
    fails("1 of 3 without one", records, tokenizer)


@pytest.mark.parametrize("data", ["files", "source"])
def test_tokenizers_of_other_libraries_are_named(tmp_path, tokenizer, data):
    records = made_records.make_records(3, tokenizer)
    source = InMemory(records, "class")
    given = source if data == "source" else tmp_path
    made_records.write(tmp_path, records, tokenizer)
    theirs = keras_hub.models.BertTokenizer(tokenizer.vocabulary)
    way = r"keras_mmel.text.Tokenizer`.*Tokenizer\(theirs.backend_tokenizer\)"
    for other, name in (
        (theirs, "BertTokenizer"),
        (tokenizer.tokenizer, "tokenizers.Tokenizer"),
        ("shared/bert", "builtins.str"),
    ):
        reads = [load_table, read_plain]
        if data == "files":
            reads.append(read_augmented)
        for read in reads:
            with pytest.raises(TypeError, match=f"{way}.*{name}"):
                read(given, tokenizer=other)
        if other is not tokenizer.tokenizer:
            with pytest.raises(TypeError, match=f"{way}.*{name}"):
                Tokenizer(other)
    # The way that is named.
    again = Tokenizer(tokenizer.tokenizer)
    assert len(load_table(given, again)) == 3
