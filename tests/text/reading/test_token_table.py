import dataclasses
import os

import keras_hub
import numpy as np
import pytest
import tokenizers

from keras_mmel.text import MaskedLMAugmenter
from keras_mmel.text import Tokenizer
from keras_mmel.text import TokenTable
from keras_mmel.text import files
from keras_mmel.text import load_table
from keras_mmel.text import read_augmented
from keras_mmel.text import read_plain
from keras_mmel.text.files import InMemory
from keras_mmel.text.reading import batches
from keras_mmel.text.reading import table_loading
from keras_mmel.text.reading.table_loading import make_table
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
    monkeypatch.setattr(table_loading, "_CHUNK", 3)
    parts = make_table(records, tokenizer)
    for field in dataclasses.fields(whole):
        np.testing.assert_array_equal(
            getattr(whole, field.name), getattr(parts, field.name)
        )


@pytest.mark.parametrize("longest", [5, 128])
@pytest.mark.parametrize("kind", ["class", "value", None])
def test_files_at_once_are_their_records_one_by_one(
    tmp_path, tokenizer, monkeypatch, kind, longest
):
    """Parsed by TensorFlow, beside protobuf's objects."""
    monkeypatch.setattr(table_loading, "_CHUNK", 7)
    records = made_records.make_records(
        20,
        tokenizer,
        pairs=True,
        views=(0, 3),
        teacher=1 if kind == "value" else 3,
        regression=kind == "value",
    )
    if kind is None:
        records = [dataclasses.replace(r, label=None) for r in records]
    made_records.write(tmp_path, records, tokenizer, num_shards=3)
    found = load_table(tmp_path, max_length=longest)
    check_equal(found, make_table(records, None, longest))


def check_equal(found, expected):
    for field in dataclasses.fields(expected):
        one, other = (getattr(table, field.name) for table in (found, expected))
        if field.name != "fingerprint":
            np.testing.assert_array_equal(one, other, field.name)
            assert getattr(one, "dtype", 0) == getattr(other, "dtype", 0)


def bytes_in(folder):
    return {path: path.read_bytes() for path in folder.iterdir()}


class TestSaved:
    @pytest.fixture
    def table(self, tokenizer):
        records = made_records.make_records(9, tokenizer, pairs=True, teacher=2)
        table = make_table(records, tokenizer)
        return dataclasses.replace(table, fingerprint="0123")

    def test_load_gives_what_was_saved(self, table, tmp_path):
        ids = ("\0", "a\0", "\ud800", "ü", *table.example_ids[4:])
        table = dataclasses.replace(table, example_ids=ids)
        table.save(tmp_path / "new" / "table")
        found = TokenTable.load(tmp_path / "new" / "table", "0123")
        check_equal(found, table)
        assert found.fingerprint == "0123"
        # Mapped, not read.
        assert not found.token_ids.flags.owndata
        assert not found.token_ids.flags.writeable
        for one in (found, table):
            batch = next(iter(read_plain(one, batch_size=9)))
            np.testing.assert_array_equal(batch[1], table.labels)

    def test_without_labels_and_teacher(self, table, tmp_path):
        table.save(tmp_path)
        without = dataclasses.replace(table, labels=None, teacher=None)
        without.save(tmp_path)
        check_equal(TokenTable.load(tmp_path), without)

    def test_every_damage_is_refused_by_name(self, table, tmp_path):
        table.save(tmp_path)
        named = f"{tmp_path}"
        for path, whole in bytes_in(tmp_path).items():
            middle = len(whole) // 2
            flipped = bytes([whole[middle] ^ 1])
            for damage in (
                b"",
                whole[:middle],
                whole + b"0",
                whole[:middle] + flipped + whole[middle + 1 :],
                bytes(len(whole)),
            ):
                path.write_bytes(damage)
                with pytest.raises(ValueError, match=named):
                    TokenTable.load(tmp_path)
            path.unlink()
            with pytest.raises((ValueError, FileNotFoundError), match=named):
                TokenTable.load(tmp_path)
            path.write_bytes(whole)
        check_equal(TokenTable.load(tmp_path), table)

    def test_what_is_foreign_is_refused_by_name(self, table, tmp_path):
        with pytest.raises(
            FileNotFoundError, match=f"{tmp_path}/token_table.json"
        ):
            TokenTable.load(tmp_path)
        for text in ("[]", "3", "{}", '{"format": 2, "fingerprint": "0123"}'):
            (tmp_path / "token_table.json").write_text(text)
            with pytest.raises(ValueError, match=f"format 1.*{tmp_path}"):
                TokenTable.load(tmp_path)
        table.save(tmp_path)
        with pytest.raises(ValueError, match=f"'4567'.*{tmp_path}.*'0123'"):
            TokenTable.load(tmp_path, "4567")

    def test_texts_are_not_saved(self, tokenizer, tmp_path):
        records = made_records.make_records(3, tokenizer)
        table = make_table(records, None, as_text=True)
        with pytest.raises(ValueError, match="a table of texts"):
            table.save(tmp_path)

    def test_a_cache_is_of_these_files_and_this_tokenizer(
        self, tokenizer, tmp_path, monkeypatch
    ):
        def caches():
            return {path.name for path in folder.glob("table-*")}

        folder = tmp_path / "data"
        records = made_records.make_records(9, tokenizer, teacher=2)
        made_records.write(folder, records, tokenizer)
        first = load_table(folder, cache=folder)
        (name,) = caches()
        assert name == f"table-{first.fingerprint}"
        # The same tokenizer says nothing new.
        monkeypatch.setattr(table_loading, "_gather", None)
        for given in (None, tokenizer):
            again = load_table(folder, given, cache=folder)
            check_equal(again, first)
            assert not again.token_ids.flags.owndata
        monkeypatch.undo()
        # One that was killed while it was made is made again.
        (folder / name / "token_table.json").unlink()
        check_equal(load_table(folder, cache=folder), first)
        (folder / name / "starts.npy").write_bytes(b"")
        with pytest.raises(ValueError, match=f"{name}.*starts"):
            load_table(folder, cache=folder)
        load_table(folder, max_length=5, cache=folder)
        pieces = tokenizer.vocabulary
        vocabulary = {piece: i for i, piece in enumerate(pieces[::-1])}
        other = Tokenizer(tokenizers.BertWordPieceTokenizer(vocabulary))
        load_table(folder, other, cache=folder)
        assert len(caches()) == 3
        # As if written anew.
        shard = next(iter(folder.glob("*.tfrecord*")))
        os.utime(shard, ns=(1, 1))
        assert load_table(folder, cache=folder).fingerprint not in (
            first.fingerprint
        )
        assert len(caches()) == 4
        assert len(list(files.read_records(folder))) == 9

    def test_what_no_cache_is_for(self, table, tokenizer, tmp_path):
        source = InMemory(made_records.make_records(3, tokenizer), "class")
        for data in (table, source):
            with pytest.raises(ValueError, match="`cache` keeps the token ids"):
                load_table(data, tokenizer, cache=tmp_path)
        with pytest.raises(ValueError, match="as_text=True"):
            load_table(tmp_path, as_text=True, cache=tmp_path)


def test_files_that_were_cut_shorter_are_encoded_anew(masked_lm, tmp_path):
    """Their ids are taken where no tokenizer is given, or no more is asked."""
    source = files.from_columns({"t": ["a good old film " * 4]}, "t")
    augmenter = MaskedLMAugmenter(masked_lm, max_length=8)
    files.write_augmented(tmp_path, source, augmenter, progress=False)
    tokenizer, lengths = augmenter.tokenizer, []
    for given, max_length in ((tokenizer, 14), (tokenizer, 8), (None, 14)):
        # One after the other in one cache: each has a table of its own.
        table = load_table(
            tmp_path, given, max_length=max_length, cache=tmp_path
        )
        lengths.append(set(table.lengths.tolist()))
    assert lengths == [{14}, {8}, {8}]
    (record,) = files.read_records(tmp_path)
    (expected,) = tokenizer.encode(list(record.texts), 14)
    table = load_table(tmp_path, tokenizer, max_length=14)
    assert rows_of(table)[0] == expected.token_ids


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


def test_a_table_has_its_tokenizer_and_its_lengths(tokenizer):
    records = made_records.make_records(3, tokenizer)
    table = load_table(InMemory(records, "class"), tokenizer)
    for options in ({"tokenizer": tokenizer}, {"max_length": 16}):
        with pytest.raises(ValueError, match="go to `load_table`"):
            read_augmented(table, **options)


def test_rows_are_all_looked_at_once(tokenizer, monkeypatch):
    """Not for each batch, which a teacher asks for eagerly."""
    records = made_records.make_records(3, tokenizer)
    table, calls = load_table(InMemory(records, "class"), tokenizer), []

    def longest_row(of_table):
        calls.append(of_table)
        return of_table.lengths.max()

    monkeypatch.setattr(batches, "_longest_row", longest_row)
    inputs_of = batches.gatherer(table)
    for row in range(3):
        inputs_of(np.array([row]))
    assert len(calls) == 1
