import dataclasses
import logging

import keras
import numpy as np
import pytest
import scipy.special
import tensorflow as tf

from keras_mmel.text import MaskedLMAugmenter
from keras_mmel.text import export_text_classifier
from keras_mmel.text import files
from keras_mmel.text import label_augmented
from keras_mmel.text.files import read_manifest
from keras_mmel.text.files import read_records
from keras_mmel.text.reading import teacher as teachers
from keras_mmel.text.reading.table_loading import make_table
from tests.text import made_records
from tests.text import tiny


@pytest.fixture(scope="module")
def teacher(tmp_path_factory):
    return tiny.make_classifier(tmp_path_factory.mktemp("teacher"), 3)


@pytest.fixture(scope="module")
def records(teacher):
    return made_records.make_records(
        20, teacher.tokenizer, pairs=True, views=(0, 3)
    )


@pytest.fixture(scope="module")
def directory(tmp_path_factory, records, teacher):
    folder = tmp_path_factory.mktemp("data")
    return made_records.write(folder, records, teacher.tokenizer, num_shards=3)


@pytest.fixture(scope="module")
def labelled(directory, teacher, tmp_path_factory):
    """The directory that `teacher` labelled."""
    folder = tmp_path_factory.mktemp("labelled")
    label(directory, teacher, folder, batch_size=8)
    return folder


def label(directory, teacher, out, **settings):
    label_augmented(directory, teacher, out, progress=False, **settings)
    return list(read_records(out))


def predict(model, rows, values=False, max_length=128):
    """What the plain model says of records or views, one by one."""
    texts = [made_records.as_text(row.texts) for row in rows]
    found = tiny.outputs_of(model, texts, max_length)
    return found if values else scipy.special.softmax(found, axis=-1)


def test_every_original_and_view(labelled, records, teacher):
    for before, after in zip(records, read_records(labelled), strict=True):
        rows = (before, *before.views)
        expected = predict(teacher, rows)
        for one, other, probabilities in zip(
            rows, (after, *after.views), expected, strict=True
        ):
            np.testing.assert_allclose(other.teacher, probabilities, atol=2e-6)
            unlabelled = dataclasses.replace(other, teacher=())
            if one is before:
                unlabelled = dataclasses.replace(unlabelled, views=before.views)
            assert unlabelled == one


def test_values_of_a_regression(tmp_path):
    model = tiny.make_classifier(tmp_path / "teacher", 1)
    records = made_records.make_records(5, model.tokenizer, regression=True)
    data = made_records.write(tmp_path / "data", records, model.tokenizer)
    for record in label(data, model, tmp_path / "out"):
        rows = (record, *record.views)
        found = [one.teacher for one in rows]
        expected = predict(model, rows, values=True)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_a_teacher_with_another_tokenizer(directory, records, tmp_path):
    vocabulary = tiny.VOCABULARY[:5] + tiny.VOCABULARY[:4:-1]
    other = tiny.make_classifier(tmp_path / "t", 3, vocabulary=vocabulary)
    labelled = label(directory, other, tmp_path / "out", max_length=12)
    assert labelled[0].token_ids == records[0].token_ids
    found = [record.teacher for record in labelled]
    expected = predict(other, labelled, max_length=12)
    np.testing.assert_allclose(found, expected, atol=2e-6)


def test_texts_that_were_cut_shorter_than_the_teacher_reads(teacher, tmp_path):
    tokenizer, text = teacher.tokenizer, "a good old film " * 4
    (cut,) = tokenizer.encode([text], 8)
    record = files.Record("0", (text,), 0, cut.token_ids)
    made = {"tokenizer": tokenizer.fingerprint, "max_length": 8}
    files.write_records(
        tmp_path / "cut",
        files.InMemory([record], "class"),
        iter,
        made={"augmenter": made},
        progress=False,
    )
    (labelled,) = label(tmp_path / "cut", teacher, tmp_path / "l")
    expected = predict(teacher, [record])
    np.testing.assert_allclose([labelled.teacher], expected, atol=2e-6)


def test_labels_go_into_another_directory(directory, teacher):
    message = "which has nothing in place of made.teacher.max_length=128"
    with pytest.raises(ValueError, match=message):
        label(directory, teacher, directory)


def test_texts_that_are_too_long_for_a_teacher(teacher, tmp_path):
    vocabulary = [*tiny.VOCABULARY[:-1], "zzz"]
    other = tiny.make_classifier(tmp_path / "t", 3, vocabulary=vocabulary)
    source = files.InMemory([files.Record("a", ("a " * 100,), 0)], "class")
    files.write_augmented(tmp_path / "long", source, progress=False)
    with pytest.raises(ValueError, match="most 64 for.*text of 80 tokens"):
        label(tmp_path / "long", other, tmp_path / "no", max_length=80)
    (labelled,) = label(tmp_path / "long", other, tmp_path / "l", max_length=64)
    assert sum(labelled.teacher) == pytest.approx(1)


def test_the_files_say_which_teacher(directory, labelled, teacher):
    made = read_manifest(labelled).made
    assert made["teacher"]["model"] == teachers.weights_hash(teacher)
    assert made["teacher"]["tokenizer"] == teacher.tokenizer.fingerprint
    # Labels of two teachers never mix.
    bias = teacher.output_dense.bias
    before = bias.numpy()
    bias.assign(before + 1)
    with pytest.raises(ValueError, match="teacher"):
        label(directory, teacher, labelled)
    bias.assign(before)


def test_a_run_goes_on(directory, labelled, teacher, tmp_path):
    settings = {"batch_size": 8, "progress": False}
    for shard in ((1, 3), None):
        label_augmented(directory, teacher, tmp_path, shard=shard, **settings)
    for path in labelled.iterdir():
        other = tmp_path / path.name
        assert path.read_bytes() == other.read_bytes(), path.name


def test_teachers_that_do_not_fit(directory, teacher, tmp_path):
    def fails(error, message, data, model):
        with pytest.raises(error, match=message):
            label(data, model, tmp_path / "out")

    tokenizer, write = teacher.tokenizer, made_records.write
    records = made_records.make_records(3, tokenizer)
    data = write(tmp_path / "classes", records, num_shards=1, names=list("abc"))
    for outputs in (1, 2):
        model = tiny.make_classifier(tmp_path / f"{outputs}", outputs)
        fails(ValueError, f"3 classes.*{outputs} outputs", data, model)
    data = write(tmp_path / "numbers", records, num_shards=1)
    model = tiny.make_classifier(tmp_path / "t", 1)
    fails(ValueError, r"InMemory\(source.records, 'value'\)", data, model)
    records = made_records.make_records(3, tokenizer, regression=True)
    data = write(tmp_path / "values", records, num_shards=1)
    fails(ValueError, "one output.*3 outputs", data, teacher)
    fails(TypeError, "Received: .*Sequential", directory, keras.Sequential())


def test_another_backend_is_named(
    directory, teacher, masked_lm, tmp_path, monkeypatch
):
    """And not what TensorFlow says of tensors of JAX."""
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    for use in (
        lambda: label(directory, teacher, tmp_path / "out"),
        lambda: MaskedLMAugmenter(masked_lm),
        lambda: export_text_classifier(teacher, tmp_path / "served"),
    ):
        with pytest.raises(
            RuntimeError, match="needs Keras on TensorFlow.*Received: .*jax"
        ):
            use()


def test_a_teacher_that_is_broken_is_refused(directory, tmp_path):
    """What it says is NaN, as where its training diverged."""
    broken = tiny.make_classifier(tmp_path / "t", 3)
    broken.output_dense.bias.assign([0.0, np.nan, 0.0])
    with pytest.raises(ValueError, match="probabilities.*Received: .nan"):
        label(directory, broken, tmp_path / "out")
    assert not list((tmp_path / "out").glob("*.tfrecord*"))


def test_agreement_with_the_labels_is_printed(
    tmp_path, records, teacher, capsys
):
    """Hidden labels are left out; so is the line where none is known."""
    said = predict(teacher, records).argmax(1)
    labels = [*said[:5], *((said[5:9] + 1) % 3), *[-1] * 11]

    def out(name, labels):
        rows = [
            dataclasses.replace(
                record, label=label if label is None else int(label)
            )
            for record, label in zip(records, labels, strict=True)
        ]
        data = made_records.write(tmp_path / name, rows, teacher.tokenizer)
        label_augmented(data, teacher, tmp_path / f"{name}_labelled")
        return capsys.readouterr().out

    expected = "agrees with the labels of 5 of 9 originals, 55.6 %.\n"
    assert out("some", labels).endswith(expected)
    assert out("none", [None] * 20) == ""


def test_agreement_of_values(tmp_path, capsys):
    model = tiny.make_classifier(tmp_path / "teacher", 1)
    records = made_records.make_records(4, model.tokenizer, regression=True)
    said = predict(model, records, values=True)[:, 0]
    rows = [
        dataclasses.replace(record, label=float(value + gap))
        for record, value, gap in zip(
            records, said, (0.1, -0.4, 0.6, 3.0), strict=True
        )
    ]
    data = made_records.write(tmp_path / "data", rows, model.tokenizer)
    label_augmented(data, model, tmp_path / "out")
    assert "2 of 4 originals, 50.0 %." in capsys.readouterr().out


def test_labels_counted_from_1_are_refused(tmp_path, records, teacher):
    """A teacher of three classes has not the class 3."""
    rows = [dataclasses.replace(r, label=1 + int(r.label)) for r in records]
    data = made_records.write(tmp_path / "data", rows, teacher.tokenizer)
    with pytest.raises(
        ValueError, match="from 0.*Received: 3 classes for the label 3"
    ):
        label(data, teacher, tmp_path / "out")


@pytest.mark.slow
def test_many_in_a_process_are_not_warned_of(teacher, masked_lm):
    """TensorFlow counts the traces of a function, also of new ones."""
    said = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: said.append(record.getMessage())
    tf.get_logger().addHandler(handler)
    table = make_table(
        [files.Record("0", ("a film",))], teacher.tokenizer, max_length=8
    )
    for _ in range(6):
        teachers.predictor(teacher, 2)(table)
        MaskedLMAugmenter(masked_lm).augment(["a good film"])
    tf.get_logger().removeHandler(handler)
    assert not said
