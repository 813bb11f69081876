"""Groups of texts, and teachers that take texts: any classifier of strings."""

import dataclasses

import keras
import numpy as np
import pytest
import scipy.special
import tensorflow as tf

import keras_mmel
from keras_mmel.text import label_augmented
from keras_mmel.text import load_table
from keras_mmel.text import read_augmented
from keras_mmel.text import read_plain
from keras_mmel.text import write_augmented
from keras_mmel.text.files import InMemory
from keras_mmel.text.files import from_columns
from keras_mmel.text.files import read_manifest
from keras_mmel.text.files import read_records
from keras_mmel_cli import main
from tests.tasks import small
from tests.text import made_records

FAMILIES = ["Albert", "Bert", "DebertaV3", "FNet", "Roberta", "XLMRoberta"]


def records_of(pairs=False, **settings):
    return made_records.make_records(
        14, None, pairs=pairs, views=(1, 3), teacher=3, **settings
    )


def texts_of(rows):
    """Texts as a batch has them: one array, or one of each sentence."""
    columns = np.array([row.texts for row in rows], object).T
    return columns[0] if len(columns) == 1 else tuple(columns)


@pytest.mark.parametrize("pairs", [False, True])
def test_groups_are_the_texts_of_the_files(pairs, tmp_path):
    records = records_of(pairs)
    directory = made_records.write(tmp_path / "data", records)
    dataset = read_augmented(
        directory,
        num_views=4,
        batch_size=4,
        shuffle=False,
        drop_remainder=False,
        as_text=True,
    )
    assert isinstance(dataset.element_spec[0]["views"], tuple) == pairs
    seen = []
    for x, y in dataset.as_numpy_iterator():
        columns = x["views"] if pairs else (x["views"],)
        assert all(c.shape == x["mask"].shape == (len(c), 4) for c in columns)
        for example in range(len(y["label"])):
            record = records[len(seen)]
            rows = {record.texts: record.teacher}
            rows |= {view.texts: view.teacher for view in record.views}
            found = [
                tuple(column[example, view].decode() for column in columns)
                for view in range(4)
            ]
            assert found[0] == record.texts
            real = x["mask"][example]
            assert real.sum() == 1 + len(record.views)
            assert set(np.array(found, object)[real].T[0]) == {
                texts[0] for texts in rows
            }
            for view in range(4):
                np.testing.assert_allclose(
                    y["teacher"][example, view], rows[found[view]], rtol=1e-6
                )
            assert y["label"][example] == record.label
            seen.append(record)
    assert len(seen) == len(records)


def test_plain_texts_of_files_and_of_a_source(tmp_path):
    records = records_of()
    directory = made_records.write(tmp_path / "data", records)
    for data in (directory, InMemory(records, "class")):
        examples = read_plain(data, batch_size=20, as_text=True)
        ((x, y),) = examples.as_numpy_iterator()
        assert [text.decode() for text in x] == [r.texts[0] for r in records]
        assert y.tolist() == [record.label for record in records]
    pairs = records_of(pairs=True)
    examples = read_plain(
        InMemory(pairs, "class"), batch_size=20, labels=False, as_text=True
    )
    (((first, second),),) = examples.as_numpy_iterator()
    assert second[3].decode() == pairs[3].texts[1]
    # Two epochs show both views of a group of two.
    shown = read_plain(directory, views=2, batch_size=20, as_text=True)
    passes = [next(iter(shown))[0].numpy().tolist() for _ in range(2)]
    for index, record in enumerate(records):
        texts = {view.texts[0].encode() for view in record.views}
        shown_texts = {one[index] for one in passes}
        assert record.texts[0].encode() in shown_texts
        assert shown_texts - {record.texts[0].encode()} <= texts


def test_notes_of_a_source_are_warnings(tmp_path):
    """Of files `write_augmented` has printed them."""
    source = from_columns({"t": ["a", "b"], "y": ["bad", "neutral"]}, "t", "y")
    with pytest.warns(UserWarning, match="0 bad, 1 neutral"):
        load_table(source, as_text=True)
    with pytest.warns(UserWarning, match="0 bad, 1 neutral") as warned:
        read_plain(source, as_text=True)
    assert [one.filename for one in warned] == [__file__]
    write_augmented(tmp_path, source, progress=False)
    read_plain(tmp_path, as_text=True)


def test_settings_of_token_ids_are_refused(tmp_path, tokenizer):
    directory = made_records.write(tmp_path / "data", records_of())
    for setting in ({"tokenizer": tokenizer}, {"max_length": 64}):
        for read in (read_augmented, read_plain):
            with pytest.raises(ValueError, match="sequence_length.*Received: "):
                read(directory, as_text=True, **setting)
    table = load_table(directory, as_text=True)
    read_augmented(table, num_views=4, batch_size=2, as_text=True)
    with pytest.raises(ValueError, match="`as_text` must be as of the table"):
        read_augmented(table, batch_size=2)


# Teachers


def softmax_of(teacher, rows):
    """What plain keras-hub says of some texts."""
    inputs = teacher.preprocessor(_lists(texts_of(rows)), y=None)
    logits = np.asarray(teacher(inputs), "float64")
    return scipy.special.softmax(logits, axis=-1)


def _lists(texts):
    if isinstance(texts, tuple):
        return tuple(column.tolist() for column in texts)
    return texts.tolist()


def check_teacher(family, pairs, folder):
    records = records_of(pairs)
    directory = made_records.write(folder / "data", records)
    teacher = small.classifier(family, num_classes=3)
    label_augmented(directory, teacher, folder / "out", progress=False)
    labelled = list(read_records(folder / "out"))
    for record, before in zip(labelled, records, strict=True):
        rows = (record, *record.views)
        found = [row.teacher for row in rows]
        np.testing.assert_allclose(found, softmax_of(teacher, rows), atol=2e-6)
        assert record.texts == before.texts
    return teacher, directory


def test_a_task_of_keras_hub_labels(tmp_path):
    teacher, directory = check_teacher("DistilBert", True, tmp_path)
    made = read_manifest(tmp_path / "out").made["teacher"]
    assert made["from_logits"] is True and made["max_length"] == small.LENGTH
    # Probabilities are taken as they are.
    says = small.classifier("DistilBert", num_classes=3, activation="softmax")
    says.set_weights(teacher.get_weights())
    label_augmented(directory, says, tmp_path / "p", progress=False)
    for one, other in zip(
        *map(read_records, (tmp_path / "p", tmp_path / "out")), strict=True
    ):
        np.testing.assert_allclose(one.teacher, other.teacher, atol=1e-5)
    with pytest.raises(
        ValueError, match="what the activation.*from_logits=True"
    ):
        label_augmented(
            directory, says, tmp_path / "x", progress=False, from_logits=True
        )
    # A wrapper stands for what it wraps.
    wrapper = keras_mmel.MMELModel(teacher)
    again = label_augmented(
        directory, wrapper, tmp_path / "out", progress=False
    )
    assert again.num_written == 0 and not again.missing
    teacher.activation = None
    with pytest.raises(TypeError, match="with `from_logits`"):
        label_augmented(directory, teacher, tmp_path / "x", progress=False)
    with pytest.raises(ValueError, match="give probabilities"):
        label_augmented(
            directory,
            teacher,
            tmp_path / "x",
            progress=False,
            from_logits=False,
        )
    teacher.preprocessor = None
    with pytest.raises(TypeError, match="Received: keras_hub"):
        label_augmented(directory, teacher, tmp_path / "x", progress=False)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_teacher_and_a_student_of_every_family(family, tmp_path):
    check_teacher(family, False, tmp_path)
    student = small.classifier(family, num_classes=3, seed=1)
    groups = read_augmented(
        tmp_path / "out", num_views=4, batch_size=7, as_text=True
    )
    mmel = keras_mmel.MMELModel(student, "soft")
    mmel.compile("adam", small.loss(), metrics=["accuracy"])
    before = student.get_weights()
    plain = read_plain(tmp_path / "out", as_text=True)
    log = mmel.fit(groups, epochs=2, verbose=0, validation_data=plain).history
    assert np.isfinite(log["loss"]).all() and len(log["val_loss"]) == 2
    assert any(
        (one != other).any()
        for one, other in zip(before, student.get_weights(), strict=True)
    )


@keras.saving.register_keras_serializable("tests")
class Lengths(keras.Model):
    """A model of Keras that takes strings: their lengths as logits."""

    def call(self, texts):
        size = tf.cast(tf.strings.length(texts), "float32")
        return tf.stack([0 * size, size / 10, 1 - size / 10], axis=-1)


def test_a_model_of_keras_that_takes_strings(tmp_path):
    records = records_of()
    directory = made_records.write(tmp_path / "data", records)
    label_augmented(
        directory, Lengths(), tmp_path / "out", progress=False, from_logits=True
    )
    for record in read_records(tmp_path / "out"):
        for row in (record, *record.views):
            size = len(row.texts[0]) / 10
            expected = scipy.special.softmax([0, size, 1 - size])
            np.testing.assert_allclose(row.teacher, expected, atol=1e-5)
    values = [dataclasses.replace(r, label=0.5) for r in records]
    directory = made_records.write(tmp_path / "values", values)
    with pytest.raises(ValueError, match="one output.*3 outputs"):
        label_augmented(
            directory,
            Lengths(),
            tmp_path / "v",
            progress=False,
            from_logits=True,
        )


class Rule(keras.Model):
    """A teacher without weights: whether a word is in the text."""

    def __init__(self, word, classes=2):
        super().__init__()
        self.word, self.classes = word, classes

    def call(self, texts):
        hit = tf.strings.regex_full_match(texts, f".*{self.word}.*")
        hit = tf.cast(hit, "float32")
        others = [tf.zeros_like(hit)] * (self.classes - 2)
        return tf.stack([1 - hit, hit, *others], axis=-1)


def test_teachers_that_differ_in_no_weight_do_not_mix(tmp_path, capsys):
    data = {"t": ["a good film", "a bad film"], "y": [1, 0]}
    source = from_columns(data, "t", "y")
    write_augmented(tmp_path / "data", source, num_shards=2, progress=False)
    arguments = tmp_path / "data", Rule("good"), tmp_path / "out"
    label_augmented(*arguments, shard=(1, 2), from_logits=False)
    for kind, other in (("half", Rule("bad")), ("whole", Rule("good", 3))):
        with pytest.raises(
            ValueError, match="`out` must be new, .*same teacher.*Received: "
        ):
            label_augmented(
                tmp_path / "data",
                other,
                tmp_path / "out",
                from_logits=False,
                progress=False,
            )
        capsys.readouterr()
        label_augmented(*arguments, from_logits=False)
        # What is asked to compare is not counted.
        printed = capsys.readouterr().out
        assert ("1 of 1 originals" in printed) == (kind == "half")
        assert ("agrees" in printed) == (kind == "half")
    predictions = [record.teacher for record in read_records(tmp_path / "out")]
    assert predictions == [(0, 1), (1, 0)]


@pytest.mark.slow
def test_a_task_on_the_command_line(tmp_path):
    directory = made_records.write(tmp_path / "data", records_of())
    teacher = small.classifier("DistilBert", num_classes=3)
    teacher.save(tmp_path / "teacher.keras")
    label_augmented(directory, teacher, tmp_path / "here", progress=False)
    command = ["label", directory, "--teacher", tmp_path / "teacher.keras"]
    main(list(map(str, [*command, "--out", tmp_path / "there"])))
    for one, other in zip(
        *map(read_records, (tmp_path / "here", tmp_path / "there")), strict=True
    ):
        np.testing.assert_allclose(one.teacher, other.teacher, rtol=1e-5)
