import dataclasses

import keras
import numpy as np
import pytest
import scipy.special

from keras_mmel.text import label_augmented
from keras_mmel.text import load_text_classifier
from keras_mmel.text.files import read_manifest
from keras_mmel.text.files import read_records
from keras_mmel.text.reading import teacher as teachers
from tests.text import made_records
from tests.text import tiny


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("labels")


@pytest.fixture(scope="module")
def teacher(folder):
    return make_teacher(folder, 3)


def make_teacher(folder, classes, **config):
    directory = tiny.make_checkpoint(
        folder / f"{classes}{len(config)}",
        pooler=True,
        num_hidden_layers=1,
        **config,
    )
    model = load_text_classifier(directory, classes)
    model.output_dense.kernel.assign(
        np.random.default_rng(1).normal(size=(16, classes))
    )
    return model


@pytest.fixture(scope="module")
def records(teacher):
    return made_records.make_records(
        20, teacher.tokenizer, pairs=True, views=(0, 3)
    )


@pytest.fixture(scope="module")
def directory(folder, records, teacher):
    return made_records.write(
        folder / "data", records, teacher.tokenizer, num_shards=3
    )


@pytest.fixture(scope="module")
def labelled(directory, teacher, folder):
    """The directory that `teacher` labelled."""
    label(directory, teacher, folder / "labelled", batch_size=8)
    return folder / "labelled"


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


def test_values_of_a_regression(folder, tmp_path):
    model = make_teacher(folder, 1)
    records = made_records.make_records(5, model.tokenizer, regression=True)
    data = made_records.write(tmp_path / "data", records, model.tokenizer)
    for record in label(data, model, tmp_path / "out"):
        rows = (record, *record.views)
        np.testing.assert_allclose(
            [one.teacher for one in rows],
            predict(model, rows, values=True),
            rtol=1e-4,
            atol=1e-5,
        )


def test_a_teacher_with_another_tokenizer(folder, directory, records, tmp_path):
    other = make_teacher(
        folder, 3, vocabulary=tiny.VOCABULARY[:5] + tiny.VOCABULARY[:4:-1]
    )
    labelled = label(directory, other, tmp_path / "out", max_length=12)
    assert labelled[0].token_ids == records[0].token_ids
    np.testing.assert_allclose(
        [record.teacher for record in labelled],
        predict(other, labelled, max_length=12),
        atol=2e-6,
    )


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
    label_augmented(
        directory, teacher, tmp_path, batch_size=8, shard=(1, 3), progress=False
    )
    label(directory, teacher, tmp_path, batch_size=8)
    for path in labelled.iterdir():
        other = tmp_path / path.name
        assert path.read_bytes() == other.read_bytes(), path.name


def test_teachers_that_do_not_fit(folder, directory, teacher, tmp_path):
    def fails(error, message, data, model):
        with pytest.raises(error, match=message):
            label(data, model, tmp_path / "out")

    tokenizer, write = teacher.tokenizer, made_records.write
    records = made_records.make_records(3, tokenizer)
    data = write(tmp_path / "classes", records, num_shards=1, names=list("abc"))
    for outputs in (1, 2):
        model = make_teacher(folder, outputs)
        fails(ValueError, f"3 classes.*{outputs} outputs", data, model)
    records = made_records.make_records(3, tokenizer, regression=True)
    data = write(tmp_path / "values", records, num_shards=1)
    fails(ValueError, "one output.*3 outputs", data, teacher)
    fails(TypeError, "Received: Sequential", directory, keras.Sequential())
