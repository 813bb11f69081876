"""Scores by view and by class against plain loops and against `evaluate`."""

import contextlib
import pickle

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose

import keras_mmel
from keras_mmel.scores import by_view
from tests.scores import test_of_views as whole

CLOSE = whole.CLOSE
layers = keras.layers
NAMES = ["original", "view 1", "view 2", "view 3"]


def by_hand(model, views, labels, mask, weight):
    """Every view by itself, and the mean prediction, in float64."""
    rows = np.float64(model.predict(views.reshape(-1, 5), verbose=0))
    rows = rows.reshape(*mask.shape, -1)
    of_views, of_classes, nlls, rights = {}, {}, [], []
    for j in range(mask.shape[1]):
        losses, right, weights, top, heavy = [], [], [], [], []
        for i in np.flatnonzero(mask[:, j]):
            row = rows[i, j]
            losses.append(-np.log(row[labels[i]]) * weight[i])
            right.append(row.argmax() == labels[i])
            top.append(labels[i] in np.argsort(row)[-2:])
            heavy.append(right[-1] * weight[i])
            weights.append(weight[i])
            kind = of_classes.setdefault(labels[i], {})
            kind.setdefault(j, []).append(right[-1])
        of_views[j] = {
            "loss": np.mean(losses) + float(sum(model.losses)),
            "accuracy": np.mean(right),
            "sparse_top_k_categorical_accuracy": np.mean(top),
            "weighted": np.sum(heavy) / np.sum(weights),
        }
    for i, label in enumerate(labels):
        mean = rows[i][mask[i]].mean(axis=0)
        nlls.append(-np.log(mean[label]))
        rights.append(mean.argmax() == label)
    mean = {"nll": np.mean(nlls), "accuracy": np.mean(rights)}
    return of_views, of_classes, mean


def test_equals_a_plain_loop():
    model = whole.classifier()
    views, labels, mask, weight = whole.data()
    x = {"views": views, "mask": mask}
    given = {"sample_weight": weight, "batch_size": 4}
    found = keras_mmel.evaluate_views(model, x, labels, **given, by_view=True)
    assert found == keras_mmel.evaluate_views(model, x, labels, **given)
    of_views, of_classes, mean = by_hand(model, views, labels, mask, weight)
    assert found.view_names == NAMES
    for j, scores in of_views.items():
        for name, value in scores.items():
            assert_allclose(found.by_view[name][NAMES[j]], value, rtol=1e-5)
    assert found.by_class.keys() == of_classes.keys()
    for label, views_of_class in of_classes.items():
        accuracies = found.by_class[label]["accuracy"]
        for j, name in enumerate(NAMES):
            right = views_of_class.get(j, [np.nan])
            assert_allclose(accuracies[name], np.mean(right))
    for name, value in mean.items():
        assert_allclose(found.mean_prediction[name], value, rtol=1e-5)


def test_a_view_scores_as_evaluate_has_it():
    model = whole.classifier(activation=None)
    views, labels, _, weight = whole.data()
    found = keras_mmel.evaluate_views(
        model, {"views": views}, labels, sample_weight=weight, by_view=True
    )
    for j, name in enumerate(NAMES):
        of_keras = model.evaluate(
            views[:, j],
            labels,
            sample_weight=weight,
            verbose=0,
            return_dict=True,
        )
        for score, value in of_keras.items():
            assert_allclose(found.by_view[score][name], value, rtol=1e-5)


@pytest.mark.own_process
def test_a_model_on_replicas_has_the_scores_of_one():
    views, labels, mask, weight = whole.data()
    x = {"views": views, "mask": mask}
    expected, found = (
        _scores_in(scope, x, labels, weight)
        for scope in (
            contextlib.nullcontext(),
            tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope(),
        )
    )
    assert_allclose([*found.values()], [*expected.values()], rtol=1e-5)
    for name, of_views in expected.by_view.items():
        values = [found.by_view[name][view] for view in of_views]
        assert_allclose(values, [*of_views.values()], rtol=1e-5)
    assert found.mean_prediction == pytest.approx(expected.mean_prediction)


def _scores_in(scope, x, labels, weight):
    keras.utils.set_random_seed(1)
    with scope:
        model = whole.classifier()
    return keras_mmel.evaluate_views(
        model, x, labels, sample_weight=weight, by_view=True
    )


def test_the_spread_is_that_of_random_halves():
    model = whole.classifier()
    views, labels, mask, _ = whole.data()
    found = keras_mmel.evaluate_views(
        model, {"views": views, "mask": mask}, labels, by_view=True
    )
    choices = by_view.choices_of(4)
    assert choices.shape == (21, 4) and choices[:, 0].all()
    assert set(choices[1:].sum(axis=1)) == {2}  # the original, half of three
    rows = model.predict(views.reshape(-1, 5), verbose=0).reshape(11, 4, 3)
    accuracies = []
    for choice in choices[1:].astype(bool):
        means = [r[m & choice].mean(0) for r, m in zip(rows, mask, strict=True)]
        accuracies.append((np.argmax(means, axis=1) == labels).mean())
    spread = found.mean_prediction_spread["accuracy"]
    assert_allclose(spread, np.std(accuracies, ddof=1), rtol=1e-6)
    assert by_view.choices_of(1).tolist() == [[1.0]] * 21


def test_labels_that_move():
    model = whole.classifier()
    views, _, mask, _ = whole.data()
    labels = np.random.default_rng(2).integers(0, 3, mask.shape)
    found = keras_mmel.evaluate_views(
        model, {"views": views}, {"views": labels}, by_view=True
    )
    predicted = model.predict(views.reshape(-1, 5), verbose=0).argmax(1)
    right = predicted.reshape(mask.shape) == labels
    for j, name in enumerate(NAMES):
        accuracies = found.by_view["accuracy"]
        assert_allclose(accuracies[name], right[:, j].mean())
        of_class = right[labels[:, j] == 1, j]
        assert_allclose(found.by_class[1]["accuracy"][name], np.mean(of_class))
    # There is no one label that a mean could be compared with.
    assert found.mean_prediction == {}


def test_several_outputs_and_a_binary_one():
    inputs = keras.Input((5,))
    outputs = {
        "kind": layers.Dense(3, name="kind")(inputs),
        "good": layers.Dense(1, activation="sigmoid", name="good")(inputs),
        "size": layers.Dense(1, name="size")(inputs),
    }
    model = keras.Model(inputs, outputs)
    crossentropy = keras.losses.SparseCategoricalCrossentropy(True)
    model.compile(
        loss={"kind": crossentropy, "good": "bce", "size": "mse"},
        metrics={"size": ["mae"]},
    )
    views, kinds, _, _ = whole.data()
    y = {"kind": kinds, "good": kinds % 2, "size": kinds.astype("float32")}
    found = keras_mmel.evaluate_views(model, {"views": views}, y, by_view=True)
    for j, name in enumerate(NAMES):
        said = model.predict(views[:, j], verbose=0)
        for score, value in (
            ("kind_accuracy", said["kind"].argmax(1) == kinds),
            ("good_accuracy", (said["good"][:, 0] > 0.5) == (kinds % 2 == 1)),
            ("size_mae", np.abs(said["size"][:, 0] - kinds)),
        ):
            assert_allclose(found.by_view[score][name], value.mean(), rtol=1e-5)
    flat = model.predict(views.reshape(-1, 5), verbose=0)["good"]
    mean = flat.reshape(11, 4).mean(axis=1) > 0.5
    right = (mean == (kinds % 2 == 1)).mean()
    assert_allclose(found.mean_prediction["good_accuracy"], right)
    assert "kind_ece" in found.by_view and "size_ece" not in found.by_view
    assert found.by_class == {}


def test_names_travel_with_the_dataset():
    x = np.random.default_rng(0).random((6, 5)).astype("float32")
    examples = tf.data.Dataset.from_tensor_slices((x, np.arange(6) % 3))
    moves = {"turned": lambda row: row[::-1], "dark": lambda row: row / 2}
    groups = keras_mmel.data.grid_views(examples, moves, 4)
    assert groups.view_names == ["original", "turned", "dark"]
    model = whole.classifier()
    model.run_eagerly = True
    for data in (groups, groups.take(1).cache(), groups.concatenate(groups)):
        found = keras_mmel.evaluate_views(model, data, by_view=True)
        assert found.view_names == groups.view_names
    others = groups.map(lambda x, y: ({"views": x["views"][:, :2]}, y))
    nameless = keras_mmel.data.grid_views(examples, list(moves.values()), 4)
    for data, count in ((others, 2), (nameless, 3), (list(groups), 3)):
        found = keras_mmel.evaluate_views(model, data, by_view=True)
        assert found.view_names == NAMES[:count]
    two = keras_mmel.data.grid_views(
        examples, {"a": moves["dark"], "b": moves["turned"]}, 4
    )
    mixed = groups.concatenate(two)
    found = keras_mmel.evaluate_views(model, mixed, by_view=True)
    assert found.view_names == NAMES[:3]


def test_a_task_prepares_its_views():
    pytest.importorskip("keras_hub")
    from tests.tasks import small

    task = small.image_classifier()
    task.compile(loss=small.loss())
    images = np.random.default_rng(0).integers(0, 256, (6, 2, 8, 8, 3))
    labels = np.arange(6) % 2
    found = keras_mmel.evaluate_views(
        task, {"views": images}, labels, by_view=True
    )
    for j, name in enumerate(NAMES[:2]):
        predicted = task.predict(images[:, j], verbose=0).argmax(1)
        right = (predicted == labels).mean()
        assert_allclose(found.by_view["accuracy"][name], right)


def test_it_is_shown_as_a_table():
    views, labels, mask, _ = whole.data()
    model = keras.Sequential([keras.Input((5,)), layers.Dense(3, "softmax")])
    model.compile(loss="sparse_categorical_crossentropy")
    mask[:, 2] = False
    found = keras_mmel.evaluate_views(
        model, {"views": views, "mask": mask}, labels, by_view=True
    )
    assert repr(found) == "<ScoresByView of 11 examples, 4 views>"
    rows = [line.split() for line in str(found).splitlines()]
    # The loss is the NLL.
    assert rows[0] == ["view", "accuracy,", "%", "loss", "ece,", "%"]
    accuracy = 100 * found.by_view["accuracy"]["view 3"]
    assert rows[4][:3] == ["view", "3", f"{accuracy:.1f}"]
    assert rows[3] == ["view", "2"]
    assert rows[-2][:2] == ["mean", "prediction"]
    assert "<table>" in found._repr_html_() and "<style" not in str(found)
    again = pickle.loads(pickle.dumps(found))
    assert str(again) == str(found)


def test_a_regression_has_no_classes():
    model = keras.Sequential([keras.Input((5,)), layers.Dense(1)])
    model.compile(loss="mse")
    views, labels, _, _ = whole.data()
    found = keras_mmel.evaluate_views(
        model, {"views": views}, labels.astype("float32"), by_view=True
    )
    assert list(found.by_view) == ["loss"]
    assert found.by_class == found.mean_prediction == {}
    assert str(found).splitlines()[-1].startswith("worst of each")


@pytest.mark.parametrize("views", [1, 2, 7])
def test_half_of_the_augmented_views_are_left_out(views):
    left = views - 1 - by_view.choices_of(views)[1:, 1:].sum(axis=1)
    assert set(left) == {views // 2}
