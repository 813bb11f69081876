import dataclasses

import keras
import numpy as np
import pytest

import keras_mmel
from keras_mmel.text import Tokenizer
from keras_mmel.text import load_table
from keras_mmel.text import read_augmented
from keras_mmel.text import read_plain
from keras_mmel.text.files import InMemory
from keras_mmel.text.files import Record
from keras_mmel.text.reading import batches as batches_lib
from keras_mmel.text.reading import view_choice
from keras_mmel.text.reading.table_loading import make_table
from tests.text import made_records
from tests.text import tiny


@pytest.fixture(scope="module")
def records(tokenizer):
    return made_records.make_records(
        45, tokenizer, pairs=True, views=(4, 6), teacher=3
    )


@pytest.fixture(scope="module")
def directory(records, tokenizer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files") / "data"
    return made_records.write(folder, records, tokenizer)


@pytest.fixture(scope="module")
def table(directory):
    return load_table(directory)


def passes(dataset, count=1):
    """The batches of some passes, as arrays."""
    return [list(dataset.as_numpy_iterator()) for _ in range(count)]


def check_row(inputs, texts, tokenizer, max_length=128):
    """A row (length,) of each input is what the tokenizer makes of texts."""
    text = made_records.as_text(texts)
    encoded = tokenizer.encode([text], max_length)[0]
    size = len(encoded.token_ids)
    padding = [0] * (inputs["token_ids"].shape[-1] - size)
    for name, expected in (
        ("token_ids", encoded.token_ids),
        ("segment_ids", encoded.segment_ids),
        ("padding_mask", [1] * size),
    ):
        assert inputs[name].dtype == np.int32
        assert inputs[name].tolist() == [*expected, *padding], name


def at(inputs, *place):
    return {name: value[place] for name, value in inputs.items()}


class TestGroups:
    def test_batches_are_the_files(self, records, tokenizer):
        """In order, with whole pools: each number can be told by hand."""
        whole = [dataclasses.replace(r, views=r.views[:4]) for r in records]
        dataset = read_augmented(
            make_table(whole, tokenizer, max_length=20),
            batch_size=10,
            shuffle=False,
            drop_remainder=False,
        )
        ((x, y), *_) = batches = passes(dataset)[0]
        assert [len(y["label"]) for _, y in batches] == [10, 10, 10, 10, 5]
        assert "mask" not in x
        for start, (x, y) in zip(range(0, 45, 10), batches, strict=True):
            for i, record in enumerate(whole[start : start + 10]):
                # A pool that fits comes whole; which first is left open.
                left = list(record.views)
                for view in range(5):
                    said = y["teacher"][i, view].tolist()
                    one = record
                    if view:
                        one = next(v for v in left if _teacher(v) == said)
                        left.remove(one)
                    assert said == _teacher(one)
                    row = at(x["views"], i, view)
                    check_row(row, one.texts, tokenizer, 20)
                assert y["label"][i] == record.label
            # Padded to the next multiple of 4, not further.
            longest = x["views"]["padding_mask"].sum(-1).max()
            assert x["views"]["token_ids"].shape[-1] == -(-longest // 4) * 4

    def test_never_wider_than_max_length(self, directory, tokenizer):
        """A model may have no position for the padding beyond."""
        dataset = read_augmented(
            directory, tokenizer=tokenizer, max_length=6, batch_size=9
        )
        for x, _ in passes(dataset)[0]:
            assert x["views"]["token_ids"].shape[-1] <= 6

    def test_a_mask_where_groups_are_small(self, table):
        dataset = read_augmented(table, num_views=7, batch_size=9)
        for x, _ in passes(dataset)[0]:
            assert x["mask"].shape == (9, 7)
            assert x["mask"].dtype == bool and x["mask"][:, :5].all()
            assert not x["mask"].all()

    def test_each_pass_draws_anew_and_a_run_can_go_on(self, table):
        settings = {"num_views": 3, "batch_size": 15, "seed": 4}
        first, second, third = passes(read_augmented(table, **settings), 3)
        assert not _equal(first, second)
        counter = keras_mmel.data.EpochCounter(1)
        resumed = read_augmented(table, epoch_counter=counter, **settings)
        for expected in (second, third):
            assert _equal(expected, passes(resumed)[0])
        assert counter.epoch == 3

    @pytest.mark.parametrize("part", [1, 7, 45])
    def test_rows_are_drawn_in_parts(self, table, monkeypatch, part):
        settings = {"num_views": 7, "batch_size": 9, "seed": 1}
        expected = passes(read_augmented(table, **settings), 2)
        monkeypatch.setattr(batches_lib, "_PART", part)
        found = passes(read_augmented(table, **settings), 2)
        assert all(map(_equal, expected, found))

    def test_arrays_are_read_where_they_lie(self, table):
        """A copy of them would not change with them."""
        own = dataclasses.replace(
            table,
            token_ids=table.token_ids.copy(),
            labels=table.labels.copy(),
            teacher=table.teacher.copy(),
        )
        dataset = read_augmented(own, batch_size=45)
        passes(dataset)
        own.token_ids[:], own.labels[:], own.teacher[:] = 11, 12, 0.5
        ((x, y),) = passes(dataset)[0]
        inputs = x["views"]
        is_token = inputs["padding_mask"] == 1
        assert set(inputs["token_ids"][is_token]) == {11}
        assert set(y["label"]) == {12} and set(y["teacher"].flat) == {0.5}

    def test_every_example_once(self, table):
        dataset = read_augmented(table, batch_size=7, teacher=False)
        assert len(dataset) == 6
        labels = np.concatenate([y for _, y in passes(dataset)[0]])
        assert len(labels) == 42
        dataset = read_augmented(table, batch_size=7, drop_remainder=False)
        (batches,) = passes(dataset)
        assert len(dataset) == len(batches) == 7
        labels = np.concatenate([y["label"] for _, y in batches])
        assert sorted(labels) == sorted(table.labels)

    def test_sorting_saves_padding(self, table):
        def tokens(window):
            dataset = read_augmented(table, batch_size=5, window=window)
            (batches,) = passes(dataset)
            return sum(x["views"]["token_ids"].size for x, _ in batches)

        assert tokens(9) < 0.95 * tokens(1)

    def test_another_tokenizer_encodes_the_texts(
        self, directory, records, tmp_path
    ):
        cased = tiny.make_checkpoint(
            tmp_path, vocabulary=tiny.VOCABULARY[::-1], lowercase=False
        )
        other = Tokenizer.from_directory(cased)
        dataset = read_augmented(
            directory, tokenizer=other, shuffle=False, batch_size=1
        )
        x, _ = next(iter(dataset.as_numpy_iterator()))
        check_row(at(x["views"], 0, 0), records[0].texts, other)


def _teacher(view):
    return np.array(view.teacher, "float32").tolist()


def _equal(one, other):
    a, b = keras.tree.flatten(one), keras.tree.flatten(other)
    return len(a) == len(b) and all(map(np.array_equal, a, b))


class TestPlain:
    def test_originals_in_order(self, directory, records, tokenizer):
        source = InMemory(records, "class", None)
        for dataset in (
            read_plain(directory, batch_size=20),
            read_plain(source, tokenizer=tokenizer, batch_size=20),
        ):
            (batches,) = passes(dataset)
            assert [len(y) for _, y in batches] == [20, 20, 5]
            rows = [(at(x, i), y[i]) for x, y in batches for i in range(len(y))]
            for (inputs, label), record in zip(rows, records, strict=True):
                check_row(inputs, record.texts, tokenizer)
                assert label == record.label

    @pytest.mark.parametrize("teacher", [False, True])
    def test_views_take_turns(self, table, records, tokenizer, teacher):
        dataset = read_plain(
            table, views=3, teacher=teacher, batch_size=45, seed=2
        )
        flat = [one for r in records for one in (r, *r.views)]
        for epoch, ((x, y),) in enumerate(passes(dataset, 4)):
            rows, _ = view_choice.choose_one(table, 3, 2, epoch, np.arange(45))
            rows = rows.numpy()[:, 0]
            for i, row in enumerate(rows):
                check_row(at(x, i), flat[row].texts, tokenizer)
                expected = records[i].label
                if teacher:
                    expected = flat[row].teacher
                    if row == table.first[i]:
                        expected = np.eye(3)[records[i].label]
                np.testing.assert_allclose(y[i], expected, rtol=1e-6)

    def test_values_take_turns(self, tokenizer):
        records = made_records.make_records(
            6, tokenizer, regression=True, teacher=1
        )
        table = make_table(records, tokenizer)
        seen = passes(read_plain(table, views=5, teacher=True), 5)
        found = np.sort(np.concatenate([y for ((_, y),) in seen], axis=1))
        expected = [
            sorted([r.label, *(v.teacher[0] for v in r.views)]) for r in records
        ]
        np.testing.assert_array_equal(found, np.array(expected, "float32"))

    def test_hidden_labels(self, table):
        hidden = dataclasses.replace(table, labels=np.full(45, -1))
        (batch, *_) = passes(read_plain(hidden, labels=False))[0]
        assert len(batch) == 1 and batch[0]["token_ids"].shape[0] == 32
        message = "label -1 of '0' \\(and 44 more\\)"
        for read in (read_plain, read_augmented):
            with pytest.raises(ValueError, match=message):
                read(hidden)


class TestErrors:
    @pytest.mark.parametrize(
        "settings, message",
        [
            ({"batch_size": 64}, "batch_size=64, 45 examples"),
            ({"num_views": 0}, "num_views=0"),
            ({"window": 0}, "window=0"),
            ({"teacher": "yes"}, "Received: 'yes'"),
        ],
    )
    def test_settings(self, directory, settings, message):
        with pytest.raises(ValueError, match=message):
            read_augmented(directory, **settings)

    def test_no_teacher(self, table):
        without = dataclasses.replace(table, teacher=None)
        with pytest.raises(ValueError, match="keras-mmel label"):
            read_augmented(without, teacher=True)
        _, y = passes(read_augmented(without, batch_size=45))[0][0]
        assert y.shape == (45,)

    def test_no_views_and_fewer_than_a_group(self, tokenizer):
        records = made_records.make_records(4, tokenizer, views=(0, 0))
        table = make_table(records, tokenizer)
        table_of_3 = make_table(
            made_records.make_records(4, tokenizer, views=(2, 2)), tokenizer
        )
        for read, name in (
            (read_augmented, "num_views"),
            (read_plain, "views"),
        ):
            message = rf"`{name}` above 1 .*, augmenter\).*{name}=4 for 4 ex"
            with pytest.raises(ValueError, match=message):
                read(table, batch_size=2, **{name: 4})
            with pytest.warns(
                UserWarning, match=f"{name}=4: the largest group has 3"
            ) as warned:
                read(table_of_3, batch_size=2, **{name: 4})
            assert [one.filename for one in warned] == [__file__]
            for data, count in ((table, 1), (table_of_3, 3)):
                read(data, batch_size=2, **{name: count})

    @pytest.mark.parametrize("data", [{"text": ["a"]}, ["folder"], None])
    def test_what_is_no_data(self, data):
        for read in (read_plain, read_augmented):
            with pytest.raises(
                TypeError, match="`data` must be.*from_columns.*Received: "
            ):
                read(data)

    def test_a_teacher_without_labels(self, table):
        with pytest.raises(ValueError, match="Received: teacher=True, labels="):
            read_plain(table, labels=False, teacher=True)
        (batch, *_) = passes(read_plain(table, labels=False, teacher="auto"))[0]
        assert len(batch) == 1

    def test_no_labels(self, tokenizer):
        table = make_table([Record("a", ("the film",))], tokenizer)
        with pytest.raises(ValueError, match="data without labels"):
            read_plain(table)

    def test_texts_without_a_tokenizer(self, tmp_path):
        records = made_records.make_records(3, None)
        with pytest.raises(ValueError, match="tokenizer=None"):
            read_plain(InMemory(records, "class", None))
        data = made_records.write(tmp_path / "data", records)
        with pytest.raises(ValueError, match="`tokenizer`"):
            read_augmented(data, batch_size=2)
