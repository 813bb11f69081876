import dataclasses

import numpy as np
import pytest

import keras_mmel
from keras_mmel.text import files
from keras_mmel.text import load_table
from keras_mmel.text import read_augmented
from keras_mmel.text import read_plain
from keras_mmel.text.bert.tokenizer import Tokenizer
from keras_mmel.text.files.records import Record
from keras_mmel.text.reading import view_choice
from keras_mmel.text.reading.token_table import make_table
from tests.text import made_records
from tests.text import tiny


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint")
    return Tokenizer.from_directory(tiny.make_checkpoint(folder))


@pytest.fixture(scope="module")
def records(tokenizer):
    return made_records.make_records(
        45, tokenizer, pairs=True, views=(4, 6), teacher=3
    )


@pytest.fixture(scope="module")
def directory(records, tokenizer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files") / "data"
    return made_records.write(folder, records, tokenizer)


def passes(dataset, count=1):
    """The batches of some passes, as arrays."""
    return [list(dataset.as_numpy_iterator()) for _ in range(count)]


def expected_inputs(encoded, length):
    """What a model gets of one text, by plain loops."""
    padding = length - len(encoded.token_ids)
    return {
        "token_ids": [*encoded.token_ids, *[0] * padding],
        "segment_ids": [*encoded.segment_ids, *[0] * padding],
        "padding_mask": [1] * len(encoded.token_ids) + [0] * padding,
    }


def check_group(inputs, texts, tokenizer, max_length):
    """A group (views, length) is what the tokenizer makes of the texts."""
    length = inputs["token_ids"].shape[-1]
    for view, one in enumerate(texts):
        encoded = tokenizer.encode([made_records.as_text(one)], max_length)[0]
        for name, expected in expected_inputs(encoded, length).items():
            assert inputs[name].dtype == np.int32
            assert inputs[name][view].tolist() == expected, name


class TestGroups:
    def test_batches_are_the_files(self, records, tokenizer):
        """In order, with whole pools: each number can be told by hand."""
        whole = [dataclasses.replace(r, views=r.views[:4]) for r in records]
        table = make_table(whole, tokenizer, max_length=20)
        dataset = read_augmented(
            table, batch_size=10, shuffle=False, drop_remainder=False
        )
        ((x, y), *_) = batches = passes(dataset)[0]
        assert [len(y["label"]) for _, y in batches] == [10, 10, 10, 10, 5]
        assert "mask" not in x
        for start, (x, y) in zip(range(0, 45, 10), batches, strict=True):
            longest = 0
            for i, record in enumerate(whole[start : start + 10]):
                inputs = {n: v[i] for n, v in x["views"].items()}
                views = {
                    tuple(one): n
                    for n, one in enumerate(
                        tokenizer.encode([v.texts], 20)[0].token_ids
                        for v in record.views
                    )
                }
                # A pool that fits comes whole; which first is left open.
                order = [
                    views[tuple(row[mask == 1].tolist())]
                    for row, mask in zip(
                        inputs["token_ids"][1:],
                        inputs["padding_mask"][1:],
                        strict=True,
                    )
                ]
                rows = [record, *(record.views[n] for n in order)]
                check_group(inputs, [r.texts for r in rows], tokenizer, 20)
                np.testing.assert_array_equal(
                    y["teacher"][i],
                    np.array([r.teacher for r in rows], "float32"),
                )
                assert y["label"][i] == record.label
                longest = max(longest, inputs["padding_mask"].sum(-1).max())
            # Padded to the next multiple of 4, not further.
            assert x["views"]["token_ids"].shape[-1] == -(-longest // 4) * 4

    def test_never_wider_than_max_length(self, directory, tokenizer):
        """A model may have no position for the padding beyond."""
        dataset = read_augmented(
            directory, tokenizer=tokenizer, max_length=6, batch_size=9
        )
        widths = {
            x["views"]["token_ids"].shape[-1] for x, _ in passes(dataset)[0]
        }
        assert max(widths) == 6

    def test_a_mask_where_groups_are_small(self, directory):
        dataset = read_augmented(directory, num_views=7, batch_size=9)
        for x, _ in passes(dataset)[0]:
            assert x["mask"].shape == (9, 7)
            assert x["mask"].dtype == bool and x["mask"][:, :5].all()
            assert not x["mask"].all()

    def test_each_pass_draws_anew_and_a_run_can_go_on(self, directory):
        settings = {"num_views": 3, "batch_size": 15, "seed": 4}
        first, second, third = passes(read_augmented(directory, **settings), 3)
        assert not _equal(first, second)
        with pytest.warns(DeprecationWarning, match=r"EpochCounter\(1\)"):
            resumed = read_augmented(directory, initial_epoch=1, **settings)
        assert _equal(second, passes(resumed)[0])
        counter = keras_mmel.data.EpochCounter(2)
        followed = read_augmented(directory, epoch_counter=counter, **settings)
        assert _equal(third, passes(followed)[0])
        assert counter.epoch == 3

    def test_every_example_once(self, directory, records):
        dataset = read_augmented(directory, batch_size=7, teacher=False)
        assert len(dataset) == 6
        labels = np.concatenate([y for _, y in passes(dataset)[0]])
        assert len(labels) == 42
        dataset = read_augmented(directory, batch_size=7, drop_remainder=False)
        (batches,) = passes(dataset)
        assert len(dataset) == len(batches) == 7
        labels = np.concatenate([y["label"] for _, y in batches])
        assert sorted(labels) == sorted(r.label for r in records)

    def test_sorting_saves_padding(self, directory):
        def tokens(window):
            batches = passes(
                read_augmented(directory, batch_size=5, window=window)
            )[0]
            return sum(x["views"]["token_ids"].size for x, _ in batches)

        assert tokens(9) < 0.95 * tokens(1)

    def test_another_tokenizer_encodes_the_texts(
        self, directory, records, tmp_path
    ):
        cased = tiny.make_checkpoint(
            tmp_path, vocabulary=tiny.VOCABULARY[::-1], lowercase=False
        )
        other = Tokenizer.from_directory(cased)
        x, _ = passes(
            read_augmented(
                directory, tokenizer=other, shuffle=False, batch_size=1
            )
        )[0][0]
        inputs = {name: value[0] for name, value in x["views"].items()}
        check_group(
            {name: value[:1] for name, value in inputs.items()},
            [records[0].texts],
            other,
            128,
        )

    @pytest.mark.slow
    def test_it_trains(self, directory, tokenizer, tmp_path):
        model = keras_mmel.text.load_text_classifier(
            tiny.make_checkpoint(tmp_path), 3
        )
        mmel = keras_mmel.MMELModel(model, "soft")
        mmel.compile(
            "adam",
            _sparse_crossentropy(),
            jit_compile=False,
        )
        groups = read_augmented(
            directory, tokenizer=tokenizer, num_views=7, batch_size=15
        )
        history = mmel.fit(groups, epochs=2, verbose=0).history
        assert np.isfinite(history["loss"]).all()


def _sparse_crossentropy():
    import keras

    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def _equal(one, other):
    import keras

    a, b = keras.tree.flatten(one), keras.tree.flatten(other)
    return len(a) == len(b) and all(map(np.array_equal, a, b))


class TestPlain:
    def test_originals_in_order(self, directory, records, tokenizer):
        batches = passes(read_plain(directory, batch_size=20))[0]
        assert [len(y) for _, y in batches] == [20, 20, 5]
        at = 0
        for x, y in batches:
            for i, label in enumerate(y):
                inputs = {name: value[i][None] for name, value in x.items()}
                check_group(inputs, [records[at].texts], tokenizer, 128)
                assert label == records[at].label
                at += 1

    def test_a_source(self, tokenizer, records):
        source = Source(records)
        (x, y), *_ = passes(read_plain(source, tokenizer=tokenizer))[0]
        assert y.tolist() == [r.label for r in records[:32]]
        inputs = {name: value[3][None] for name, value in x.items()}
        check_group(inputs, [records[3].texts], tokenizer, 128)

    @pytest.mark.parametrize("teacher", [False, True])
    def test_views_take_turns(self, directory, records, tokenizer, teacher):
        table = load_table(directory, tokenizer)
        dataset = read_plain(
            table, views=3, teacher=teacher, batch_size=45, seed=2
        )
        flat = [one for r in records for one in (r, *r.views)]
        pools = view_choice.Pools.of(table)
        for epoch, ((x, y),) in enumerate(passes(dataset, 4)):
            rows = view_choice.choose_one(pools, 3, 2, epoch).numpy()[:, 0]
            for i, row in enumerate(rows):
                inputs = {name: value[i][None] for name, value in x.items()}
                check_group(inputs, [flat[row].texts], tokenizer, 128)
                if not teacher:
                    assert y[i] == records[i].label
                    continue
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

    def test_hidden_labels(self, tokenizer, records):
        hidden = [dataclasses.replace(r, label=-1) for r in records]
        table = make_table(hidden, tokenizer)
        (batch, *_) = passes(read_plain(table, labels=False))[0]
        assert len(batch) == 1 and batch[0]["token_ids"].shape[0] == 32
        message = "label -1 of example '0' \\(and 44 more\\)"
        for read in (read_plain, read_augmented):
            with pytest.raises(ValueError, match=message):
                read(table)


class Source:
    """A source of the originals."""

    num_texts, label_kind, label_names = 2, "class", None

    def __init__(self, records):
        self._records = records

    def __len__(self):
        return len(self._records)

    def read(self, start, stop):
        for r in self._records[start:stop]:
            yield files.Example(r.example_id, r.texts, r.label)

    def describe(self):
        return {}


class TestErrors:
    @pytest.mark.parametrize(
        "settings, message",
        [
            ({"split": "test"}, "'train'. Received: split='test'"),
            ({"batch_size": 64}, "batch_size=64, 45 examples"),
            ({"num_views": 0}, "num_views=0"),
            ({"window": 0}, "window=0"),
            ({"teacher": "yes"}, "teacher='yes'"),
        ],
    )
    def test_settings(self, directory, settings, message):
        with pytest.raises(ValueError, match=message):
            read_augmented(directory, **settings)

    def test_no_teacher(self, tokenizer):
        records = made_records.make_records(4, tokenizer)
        table = make_table(records, tokenizer)
        with pytest.raises(ValueError, match="keras-mmel label"):
            read_augmented(table, teacher=True, batch_size=2)
        _, y = passes(read_augmented(table, batch_size=2))[0][0]
        assert y.shape == (2,)

    def test_no_labels(self, tokenizer):
        table = make_table([Record("a", ("the film",))], tokenizer)
        with pytest.raises(ValueError, match="data without labels"):
            read_plain(table)

    def test_a_source_without_a_tokenizer(self, records):
        with pytest.raises(ValueError, match="tokenizer=None"):
            read_plain(Source(records))

    def test_imported_files_without_ids(self, tmp_path):
        records = made_records.make_records(3, None)
        data = made_records.write(tmp_path / "data", records)
        with pytest.raises(ValueError, match="`tokenizer`"):
            read_augmented(data, batch_size=2)

    def test_no_files(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            read_augmented(tmp_path)
