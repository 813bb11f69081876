"""Labels that move with the views, against a GradientTape over the pixels."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose

import keras_mmel
from keras_mmel import objectives
from keras_mmel.comparison.methods import plain_batches
from keras_mmel.diagnostics import ViewWeights
from tests import oracle

EXAMPLES, VIEWS, SIZE, CLASSES = 5, 4, 6, 3
CLOSE = {"rtol": 1e-6, "atol": 1e-6}
X = np.random.default_rng(0).random((EXAMPLES, VIEWS, SIZE, SIZE, 2), "float32")
# Told by the pixels, so that the mask of another view is a wrong one.
MASKS = np.digitize(X[..., 0], [0.3, 0.7])
SIZES = X[..., 1].mean(axis=(2, 3))[..., None]
REAL = np.ones((EXAMPLES, VIEWS), bool)
REAL[1, 2:] = REAL[3, 1] = False
WEIGHT = np.linspace(0.5, 2, EXAMPLES).astype("float32")


@keras.saving.register_keras_serializable(package="tests")
@dataclasses.dataclass(frozen=True)
class Halves(objectives.Objective):
    """An objective of one's own: half for the original, half for the rest."""

    def value_and_weights(self, losses, mask=None, lambda_p=None):
        real = keras.ops.cast(mask, losses.dtype)
        first = keras.ops.cast(keras.ops.arange(VIEWS) == 0, losses.dtype)
        rest = real * (1 - first)
        rest /= keras.ops.maximum(keras.ops.sum(rest, 1, keepdims=True), 1)
        weights = 0.5 * first + 0.5 * rest
        return keras.ops.sum(weights * losses, axis=1), weights


def make_model(outputs=("mask", "size")):
    keras.utils.set_random_seed(1)
    layers = keras.layers
    inputs = keras.Input((SIZE, SIZE, 2))
    hidden = layers.Conv2D(4, 3, padding="same", activation="tanh")(inputs)
    found = {
        "mask": layers.Conv2D(CLASSES, 1, name="mask")(hidden),
        "size": layers.Dense(1, name="size")(layers.Flatten()(hidden)),
    }
    found = {name: found[name] for name in outputs}
    return keras.Model(inputs, found if len(found) > 1 else found["mask"])


def settings():
    return {
        "loss": {
            "mask": keras.losses.SparseCategoricalCrossentropy(True),
            "size": "mse",
        },
        "loss_weights": {"mask": 1.0, "size": 0.3},
        "metrics": {"mask": "accuracy"},
    }


def loss_of(prediction, mask, size):
    """The loss of one view, its pixels one after the other."""
    logits = tf.reshape(prediction["mask"], (-1, CLASSES))
    picked = tf.gather(
        tf.nn.log_softmax(logits), mask.reshape(-1), batch_dims=1
    )
    squared = tf.reduce_mean((prediction["size"][0] - size) ** 2)
    return -tf.reduce_mean(picked) + 0.3 * squared


@pytest.mark.parametrize(
    "objective",
    [
        objectives.Hard(0.05),
        pytest.param(objectives.Uniform(), marks=pytest.mark.slow),
        pytest.param(objectives.KLBall(0.3), marks=pytest.mark.slow),
        pytest.param(Halves(), marks=pytest.mark.slow),
    ],
    ids=lambda objective: type(objective).__name__,
)
def test_a_step_is_that_of_a_tape_over_the_pixels(objective):
    model, plain = make_model(), make_model()
    mmel = keras_mmel.MMELModel(model, objective)
    mmel.compile(keras.optimizers.SGD(0.5), **settings())
    x = {"views": np.where(REAL[..., None, None, None], X, np.nan)}
    # No classes of any pixel, and no number: padding.
    masks = np.where(REAL[..., None, None], MASKS, -7)
    sizes = np.where(REAL[..., None], SIZES, np.nan)
    y = {"views": {"mask": masks, "size": sizes}}
    x["mask"] = REAL
    log = mmel.train_on_batch(x, y, return_dict=True)

    with tf.GradientTape() as tape:
        rows = []
        for i in range(EXAMPLES):
            row = [
                loss_of(plain(X[i, j][None]), MASKS[i, j], SIZES[i, j])
                if REAL[i, j]
                else tf.zeros(())
                for j in range(VIEWS)
            ]
            rows.append(tf.stack(row))
        losses = tf.stack(rows)
        weights = tf.stop_gradient(
            objective.value_and_weights(losses, tf.constant(REAL))[1]
        )
        if isinstance(objective, objectives.Hard):
            expected = oracle.view_weights(losses.numpy(), 0.05, REAL)
            assert_allclose(weights, expected, **oracle.WEIGHT)
        total = tf.reduce_sum(weights * losses) / EXAMPLES
    gradients = tape.gradient(total, plain.trainable_weights)
    for found, before, gradient in zip(
        model.trainable_weights, plain.trainable_weights, gradients, strict=True
    ):
        assert_allclose(found, before - 0.5 * gradient, **CLOSE)
        assert np.abs(gradient).max() > 1e-3
    assert_allclose(log["original_loss"], np.mean(losses[:, 0]), rtol=1e-5)
    # Metrics are of the originals and their own labels.
    classes = plain.predict(X[:, 0], verbose=0)["mask"].argmax(-1)
    accuracy = np.mean(classes == MASKS[:, 0])
    assert_allclose(log["mask_accuracy"], accuracy, rtol=1e-6)


@pytest.mark.parametrize("name", ["views", "teacher"])
def test_weights_of_outputs_come_in_arrays_as_in_batches(name):
    """Keras itself wants the weights in the form of y."""
    mmel = keras_mmel.MMELModel(make_model())
    mmel.compile(keras.optimizers.SGD(0.0), **settings())
    of_views = {"mask": MASKS, "size": SIZES}
    y = {"views": of_views}
    if name == "teacher":
        classes = np.eye(CLASSES, dtype="float32")[MASKS]
        originals = {key: value[:, 0] for key, value in of_views.items()}
        y = {"label": originals, "teacher": of_views | {"mask": classes}}
    weight = {"mask": WEIGHT, "size": WEIGHT[::-1].copy()}
    expected = mmel.train_on_batch({"views": X}, y, weight, return_dict=True)
    log = mmel.fit({"views": X}, y, sample_weight=weight, verbose=0).history
    for key, value in expected.items():
        assert_allclose(log[key][0], value, rtol=1e-5, err_msg=key)


@pytest.fixture(scope="module")
def of_one_output():
    """A model of masks alone, wrapped, as it is at its start."""
    mmel = keras_mmel.MMELModel(make_model(["mask"]), objectives.Hard(0.05))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    mmel.compile(keras.optimizers.SGD(0.0), loss, metrics=["accuracy"])
    return mmel


def pixels(mmel):
    """Losses and accuracies of every view, in NumPy."""
    logits = mmel.predict(X.reshape(-1, SIZE, SIZE, 2), verbose=0)
    logits = logits.astype("float64").reshape(*X.shape[:4], CLASSES)
    log_norm = np.log(np.exp(logits).sum(-1))
    picked = np.take_along_axis(logits, MASKS[..., None], -1)[..., 0]
    losses = (log_norm - picked).mean(axis=(2, 3))
    return losses, (logits.argmax(-1) == MASKS).mean(axis=(2, 3))


def test_scores_weights_and_logs_are_of_the_own_masks(of_one_output):
    mmel = of_one_output
    losses, right = pixels(mmel)
    x, y = {"views": X, "mask": REAL}, {"views": MASKS}
    given = {"sample_weight": WEIGHT}
    found = keras_mmel.evaluate_views(mmel, x, y, batch_size=3, **given)
    of_real = np.ma.masked_array(right, ~REAL)
    assert_allclose(found["original_accuracy"], right[:, 0].mean(), rtol=1e-6)
    assert_allclose(found["mean_accuracy"], of_real.mean(1).mean(), rtol=1e-6)
    assert_allclose(found["worst_accuracy"], of_real.min(1).mean(), rtol=1e-6)
    worst = np.ma.masked_array(losses, ~REAL).max(1)
    assert_allclose(found["worst_loss"], np.mean(worst * WEIGHT), rtol=1e-6)
    weights = mmel.view_weights(x, y)
    expected = oracle.view_weights(losses, 0.05, REAL)
    assert_allclose(weights, expected, rtol=1e-4, atol=1e-6)
    # Callbacks, in a `fit` that leaves the weights as they are.
    batches = tf.data.Dataset.from_tensors((x, y, WEIGHT))
    watch = ViewWeights((x, y, WEIGHT))
    scores = keras_mmel.callbacks.ViewScores(batches)
    log = mmel.fit(batches, callbacks=[scores, watch], verbose=0).history
    assert_allclose(watch.run.weights[-1], weights, rtol=1e-5, atol=1e-7)
    assert watch.run.classes is None
    for name, value in found.items():
        assert_allclose(log[f"val_{name}"], [value], rtol=1e-6)
    value = oracle.maximal_expected_loss(losses, 0.05, REAL)
    assert_allclose(log["loss"], [np.mean(WEIGHT * value)], rtol=1e-5)
    assert_allclose(log["accuracy"], [right[:, 0].mean()], rtol=1e-6)


def test_plain_training_takes_the_label_of_the_chosen_view():
    groups = tf.data.Dataset.from_tensors(
        ({"views": X, "mask": REAL}, {"views": {"mask": MASKS, "size": SIZES}})
    )
    x, y = next(iter(plain_batches(groups, seed=0)))
    assert len(x) == EXAMPLES * VIEWS
    np.testing.assert_array_equal(
        y["mask"], np.digitize(x.numpy()[..., 0], [0.3, 0.7])
    )
    assert_allclose(y["size"][:, 0], np.mean(x[..., 1], (1, 2)), rtol=1e-6)
    # Of several views, not of the originals alone.
    originals = {view.tobytes() for view in X[:, 0]}
    of_originals = sum(view.tobytes() in originals for view in x.numpy())
    assert 0 < of_originals < 3 / 4 * len(x)


@pytest.mark.slow
def test_a_comparison_on_labels_that_move(of_one_output):
    def groups(seed):
        batch = ({"views": X}, {"views": MASKS})
        return tf.data.Dataset.from_tensors(batch)

    def make():
        model = make_model(["mask"])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.SGD(0.0), loss, metrics=["accuracy"])
        return model

    test = ({"views": X}, {"views": MASKS})
    found = keras_mmel.compare(make, groups, test, seeds=1, verbose=False)
    assert found.methods == ["uniform", "hard", "plain"]
    worst = pixels(of_one_output)[1].min(axis=1).mean()
    for run in found.runs:
        assert_allclose(run["scores"]["worst_accuracy"], worst, rtol=1e-6)


@pytest.mark.parametrize(
    ("objective", "y", "message"),
    [
        ("soft", {"views": MASKS}, "which does not move as labels"),
        ("hard", MASKS, r'4 views.*go into \{"views": y\}'),
        (
            "hard",
            {"views": MASKS[:, 0]},
            r"shape .*, batch and views \[5, 4\]",
        ),
        ("hard", {"views": MASKS[:, :, 0]}, r"\(batch, num_views, 6, 6\)"),
        ("hard", {"views": MASKS[:, :3]}, r"batch and views \[5, 4\]"),
        ("hard", {"views": MASKS, "teacher": MASKS}, "labels} alone"),
        ("hard", {"views": None}, r'={"views": labels}'),
    ],
)
def test_what_does_not_fit_is_refused(objective, y, message):
    mmel = keras_mmel.MMELModel(make_model(["mask"]), objective)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    mmel.compile("sgd", loss)
    with pytest.raises(ValueError, match=f"(?s){message}.*Received: "):
        mmel.train_on_batch({"views": X}, y)
    with pytest.raises(ValueError, match="(?s)class_weight.*labels of views"):
        mmel.fit({"views": X}, {"views": MASKS}, class_weight={0: 1.0})


def test_an_output_called_views_needs_another_name():
    inputs = keras.Input((2,))
    model = keras.Model(
        inputs, {"views": keras.layers.Dense(1, name="views")(inputs)}
    )
    mmel = keras_mmel.MMELModel(model)
    mmel.compile("sgd", {"views": "mse"})
    with pytest.raises(ValueError, match="other names.*Received: outputs"):
        mmel.train_on_batch(
            {"views": X[..., 0, 0, :]}, {"views": np.zeros((EXAMPLES, VIEWS))}
        )
