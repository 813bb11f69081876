"""Trains an `MMELModel` and the reference on the same toy data."""

import keras
import numpy as np
import tensorflow as tf
from numpy.testing import assert_allclose

import keras_mmel
from keras_mmel import objectives
from tests.mmel_model.reference import Reference

FEATURES, CLASSES, VIEWS, BATCH = 7, 3, 4, 5


def batches(count=3, *, seed=0, views=VIEWS, last=BATCH, shape=(FEATURES,)):
    """Groups that differ enough for weights far from uniform."""
    rng = np.random.default_rng(seed)
    found = []
    for size in [BATCH] * (count - 1) + [last]:
        x = rng.normal(0, 1.5, (size, views, *shape)).astype("float32")
        found.append(({"views": x}, rng.integers(0, CLASSES, size)))
    return found


def mlp(**options):
    """Logits, with the same weights at every call."""
    keras.utils.set_random_seed(1)
    return keras.Sequential(
        [
            keras.Input((FEATURES,)),
            keras.layers.Dense(9, activation="tanh", **options),
            keras.layers.Dense(CLASSES),
        ]
    )


def sgd():
    return keras.optimizers.SGD(0.1)


def crossentropy(**options):
    return keras.losses.SparseCategoricalCrossentropy(
        from_logits=True, **options
    )


def as_dataset(batches):
    """The same batches for `fit`, also where the last one is smaller."""
    whole = tf.nest.map_structure(
        lambda *leaves: np.concatenate(leaves), *batches
    )
    size = len(tf.nest.flatten(batches[0])[0])
    even = all(len(tf.nest.flatten(b)[0]) == size for b in batches)
    dataset = tf.data.Dataset.from_tensor_slices(whole)
    return dataset.batch(size, drop_remainder=even)


def objective_of(reference):
    """The objective of `keras_mmel` with the settings of the reference."""
    if reference.objective == "uniform":
        return objectives.Uniform()
    if reference.objective == "hard":
        return objectives.Hard(reference.lambda_p)
    return objectives.Soft(
        reference.lambda_p, reference.lambda_t, reference.stop_gradient
    )


def compare(
    groups,
    objective="hard",
    *,
    build=mlp,
    optimizer=sgd,
    loss=None,
    epochs=1,
    data=None,
    compile=None,
    fit=None,
    atol=1e-6,
    **settings,
):
    """Asserts equal weights and logs, and returns the trained `MMELModel`.

    Args:
        groups: Batches for the reference, NumPy.
        objective, settings: Of the reference.
        build: Function that gives the same model at every call.
        data: The same data for `fit`, where it is not the batches.
        compile, fit: Further arguments of these methods.
    """
    expected, model = build(), build()
    before = [weight.numpy() for weight in model.trainable_weights]
    reference = Reference(expected, optimizer(), objective, **settings)
    wanted = reference.fit(groups, epochs)
    if loss is None:
        regression = reference.task == "regression"
        loss = "mse" if regression else crossentropy()
    mmel = keras_mmel.MMELModel(model, objective_of(reference))
    mmel.compile(optimizer(), loss, **(compile or {}))
    if data is None:
        data = as_dataset(groups)
    fit = {"epochs": epochs, "verbose": 0, "shuffle": False, **(fit or {})}
    got = mmel.fit(data, **fit).history
    assert_same_weights(model, expected, atol=atol)
    for key in wanted:
        assert_allclose(got[key], wanted[key], 1e-5, atol, err_msg=key)
    for weight, old in zip(model.trainable_weights, before, strict=True):
        # The same bias on all keys cancels in the softmax of an attention.
        if not weight.path.endswith("key/bias"):
            assert np.max(np.abs(weight.numpy() - old)) > 1e-5, weight.path
    return mmel


def compare_with_plain_fit(
    build, x, y, sample_weight=None, *, optimizer=sgd, compile=None, **fit
):
    """One view: equal to training the model itself. Returns both logs."""
    plain, inner = build(), build()
    settings = {"loss": crossentropy(), **(compile or {})}
    plain.compile(optimizer(), **settings)
    mmel = keras_mmel.MMELModel(inner)
    mmel.compile(optimizer(), **settings)
    fit = {"batch_size": BATCH, "verbose": 0, "shuffle": False, **fit}
    wanted = plain.fit(x, y, sample_weight=sample_weight, **fit).history
    views = tf.nest.map_structure(lambda leaf: leaf[:, None], x)
    got = mmel.fit({"views": views}, y, sample_weight=sample_weight, **fit)
    got = got.history
    assert_same_weights(inner, plain)
    assert wanted.keys() <= got.keys()
    for key in wanted:
        assert_allclose(got[key], wanted[key], 1e-5, 1e-6, err_msg=key)
    return mmel, plain


def assert_same_weights(model, expected, rtol=1e-5, atol=1e-6):
    """Equal weights to float32 accuracy."""
    assert len(model.weights) == len(expected.weights)
    for got, wanted in zip(model.weights, expected.weights, strict=True):
        assert_allclose(
            got.numpy(), wanted.numpy(), rtol, atol, err_msg=wanted.path
        )
