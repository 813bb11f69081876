"""Saving, loading in a new process, and training of the text models."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose

import keras_mmel
from keras_mmel.text import load_masked_lm
from keras_mmel.text import load_text_classifier
from tests.scripts import child
from tests.text import tiny


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint")
    return tiny.make_checkpoint(
        folder / "bert", pooler=True, decoder="untied", num_hidden_layers=1
    )


def features(shape=(4, 7), seed=0):
    rng = np.random.default_rng(seed)
    ids = rng.integers(9, 233, shape)
    lengths = rng.integers(2, shape[-1] + 1, shape[:-1])
    mask = np.arange(shape[-1]) < lengths[..., None]
    return {
        "token_ids": np.where(mask, ids, 0).astype("int32"),
        "segment_ids": np.zeros(shape, "int32"),
        "padding_mask": mask.astype("int32"),
    }


@pytest.mark.slow
def test_a_new_process_loads_what_was_saved(directory, tmp_path):
    models = {
        "classifier": load_text_classifier(directory, 3, dropout=0.2),
        "masked_lm": load_masked_lm(directory),
    }
    models["classifier"].compile(
        keras.optimizers.AdamW(1e-3),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    x = features() | {"mask_positions": np.array([[1, 0]] * 4)}
    np.savez(tmp_path / "x.npz", **x)
    for name, model in models.items():
        model.save(tmp_path / f"{name}.keras")
    child.run("load_text_model", tmp_path)
    assert json.loads((tmp_path / "found.json").read_text()) == {
        "loaded too early": [],
        **{
            name: [type(model).__name__, model.tokenizer.fingerprint]
            for name, model in models.items()
        },
    }
    got = np.load(tmp_path / "y.npz")
    for name, model in models.items():
        wanted = model({key: x[key] for key in model.input})
        assert_allclose(got[name], wanted.numpy(), atol=1e-5)


def test_configs_hold_every_setting(tmp_path):
    directory = tiny.make_checkpoint(
        tmp_path / "bert",
        hidden_act="relu",
        layer_norm_eps=1e-3,
        hidden_dropout_prob=0.3,
        attention_probs_dropout_prob=0.2,
        classifier_dropout=0.4,
        initializer_range=0.05,
    )
    for model in (
        load_masked_lm(directory),
        load_text_classifier(directory, 2),
    ):
        again = type(model).from_config(model.get_config())
        assert again.get_config() == model.get_config()
        block = again.backbone.transformer_layers[0]
        layers = block._flatten_layers()
        rates = [x.rate for x in layers if isinstance(x, keras.layers.Dropout)]
        assert sorted(rates) == [0.2, 0.3, 0.3]
        dense = block._feedforward_intermediate_dense
        assert dense.activation is keras.activations.relu
        assert again.backbone.embeddings_layer_norm.epsilon == 1e-3


@pytest.mark.slow
def test_mmel_trains_a_classifier(directory, tmp_path):
    classifier = load_text_classifier(directory, 2, dropout=0.0)
    model = keras_mmel.MMELModel(classifier)
    model.compile(
        keras.optimizers.AdamW(1e-2),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        jit_compile=False,
    )
    views = features((8, 3, 6))
    y = np.arange(8) % 2
    mask = np.ones((8, 3), bool)
    mask[1, 2] = False
    groups = tf.data.Dataset.from_tensor_slices(
        ({"views": views, "mask": mask}, y)
    ).batch(4)
    history = model.fit(groups, epochs=12, verbose=0)
    assert history.history["loss"][-1] < 0.5 * history.history["loss"][0]
    plain = {name: value[:, 0] for name, value in views.items()}
    scores = model.evaluate(plain, y, verbose=0, return_dict=True)
    assert scores["accuracy"] == 1.0
    expected = classifier(plain).numpy()
    for name, saved in {"model": model, "inner": classifier}.items():
        saved.save(tmp_path / f"{name}.keras")
        loaded = keras.saving.load_model(tmp_path / f"{name}.keras")
        assert_allclose(loaded(plain).numpy(), expected, atol=1e-5)


def test_arrays_are_shuffled(directory):
    # keras_hub's own `fit` keeps their order.
    model = load_text_classifier(directory, 1, dropout=0.0)
    model.backbone.trainable = False
    seen = []

    def loss(y_true, y_pred):
        seen.extend(y_true.numpy().ravel().tolist())
        return keras.ops.mean(y_pred, -1)

    model.compile("sgd", loss, run_eagerly=True)
    x, y = features((24, 2)), np.arange(24.0)
    model.fit(x, y, batch_size=12, validation_data=(x, y), verbose=0)
    assert seen[:24] != sorted(seen[:24]) == y.tolist()
    assert seen[24:] == y.tolist()
    seen.clear()
    model.fit(x, y, batch_size=12, shuffle=False, verbose=0)
    assert seen == y.tolist()


def test_mixed_precision_and_regression(directory):
    keras.config.set_dtype_policy("mixed_bfloat16")
    model = load_text_classifier(directory, 1)
    outputs = model(features())
    assert (outputs.dtype, outputs.shape) == ("bfloat16", (4, 1))
    assert {v.dtype for v in model.trainable_variables} == {"float32"}
