import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_mmel
from keras_mmel.text import load_text_classifier
from keras_mmel.text.files.records import Record
from keras_mmel.text.reading import teacher
from keras_mmel.text.reading.first_token import FirstTokenClassifier
from keras_mmel.text.reading.token_table import make_table
from tests.text import tiny


def make_model(folder, classes=3, **config):
    """A classifier whose outputs lie far apart."""
    directory = tiny.make_checkpoint(folder, pooler=True, **config)
    model = load_text_classifier(directory, classes, dropout=0.0)
    model.output_dense.kernel.assign(
        np.random.default_rng(1).normal(size=(16, classes))
    )
    return model


def batch(rows=6, length=9):
    rng = np.random.default_rng(0)
    lengths = np.array([length, *rng.integers(1, length, rows - 1)])
    mask = np.arange(length) < lengths[:, None]
    return {
        "token_ids": np.where(mask, rng.integers(9, 233, mask.shape), 0),
        "segment_ids": (mask & (np.arange(length) > 4)).astype("int32"),
        "padding_mask": mask.astype("int32"),
    }


def has_gradient(weight):
    # A bias of the keys adds the same to all scores: softmax forgets it.
    return not weight.path.endswith("key/bias")


def gradients(model, x):
    with tf.GradientTape() as tape:
        outputs = model(x, training=True)
        loss = tf.reduce_sum(tf.square(outputs) + outputs)
    classifier = getattr(model, "classifier", model)
    weights = classifier.trainable_weights
    return {
        weight.path: tf.convert_to_tensor(gradient).numpy()
        for weight, gradient in zip(
            weights, tape.gradient(loss, weights), strict=True
        )
        if has_gradient(weight)
    }


@pytest.mark.parametrize("layers", [1, 2])
def test_it_is_the_classifier(tmp_path, layers):
    model = make_model(tmp_path, num_hidden_layers=layers)
    fast = FirstTokenClassifier(model)
    x = batch()
    expected = np.asarray(model(x))
    assert np.ptp(expected) > 1
    np.testing.assert_allclose(fast(x), expected, rtol=1e-5, atol=1e-5)
    theirs, ours = gradients(model, x), gradients(fast, x)
    assert theirs.keys() == ours.keys()
    for name, gradient in theirs.items():
        scale = max(np.abs(gradient).max(), 1e-3)
        np.testing.assert_allclose(
            ours[name] / scale, gradient / scale, atol=1e-5, err_msg=name
        )


def test_dropout_is_where_the_classifier_has_it(tmp_path):
    """Each rate by itself makes training differ from inference."""
    x = batch()
    for name in (
        "hidden_dropout_prob",
        "attention_probs_dropout_prob",
        "classifier_dropout",
    ):
        rates = {
            "hidden_dropout_prob": 0.0,
            "attention_probs_dropout_prob": 0.0,
            "classifier_dropout": 0.0,
            name: 0.5,
        }
        directory = tiny.make_checkpoint(
            tmp_path / name, num_hidden_layers=1, pooler=True, **rates
        )
        fast = FirstTokenClassifier(load_text_classifier(directory, 2))
        plain = np.asarray(fast(x))
        assert np.abs(np.asarray(fast(x, training=True)) - plain).max() > 1e-4
        np.testing.assert_array_equal(fast(x, training=False), plain)


def test_training_it_trains_the_classifier(tmp_path):
    model = make_model(tmp_path)
    weights = [w for w in model.trainable_weights if has_gradient(w)]
    before = [weight.numpy() for weight in weights]
    mmel = keras_mmel.MMELModel(FirstTokenClassifier(model), "hard")
    mmel.compile(
        keras.optimizers.SGD(0.1),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        run_eagerly=True,
        jit_compile=False,
    )
    views = {n: v.reshape(2, 3, -1) for n, v in batch().items()}
    mmel.fit({"views": views}, np.array([0, 2]), verbose=0)
    for weight, value in zip(weights, before, strict=True):
        assert not np.array_equal(weight.numpy(), value), weight.path
    assert len(mmel.trainable_variables) == len(model.trainable_variables)


def test_not_a_classifier():
    with pytest.raises(TypeError, match="type Sequential"):
        FirstTokenClassifier(keras.Sequential())


class TestPredictor:
    def records(self):
        rng = np.random.default_rng(3)
        return [
            Record(str(i), (" ".join(rng.choice(tiny.WORDS, count)),), 0)
            for i, count in enumerate(rng.integers(0, 30, 21))
        ]

    def test_rows_one_by_one(self, tmp_path):
        model = make_model(tmp_path)
        table = make_table(self.records(), model.tokenizer, max_length=24)
        found = teacher.Predictor(model, batch_size=8)(table)
        assert found.shape == (21, 3) and found.dtype == np.float32
        for record, row in zip(self.records(), found, strict=True):
            one = model.tokenizer.encode(list(record.texts), 24)[0]
            ids = np.array([one.token_ids])
            expected = model(
                {
                    "token_ids": ids,
                    "segment_ids": np.zeros_like(ids),
                    "padding_mask": np.ones_like(ids),
                }
            )[0]
            np.testing.assert_allclose(row, expected, rtol=1e-4, atol=1e-5)

    def test_weights_that_change_count(self, tmp_path):
        model = make_model(tmp_path)
        table = make_table(self.records(), model.tokenizer)
        predict = teacher.Predictor(model)
        before = predict(table)
        model.output_dense.bias.assign([1.0, 2.0, 3.0])
        np.testing.assert_allclose(
            predict(table) - before, [[1, 2, 3]] * 21, atol=1e-5
        )


class TestProbabilities:
    def test_softmax_of_logits(self):
        logits = np.array([[1000.0, 999.0], [-3.0, 0.5]], "float32")
        found = teacher.probabilities(logits)
        expected = [
            [1 / (1 + np.exp(-1.0)), 1 / (1 + np.exp(1.0))],
            [1 / (1 + np.exp(3.5)), 1 / (1 + np.exp(-3.5))],
        ]
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert found.dtype == np.float32

    def test_values_stay(self):
        values = np.array([[2.5], [-1.0]], "float32")
        np.testing.assert_array_equal(teacher.probabilities(values), values)
