"""Scores of views against plain loops in NumPy and against `evaluate`."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose

import keras_mmel
from keras_mmel.scores import of_views
from keras_mmel.scores import summary
from keras_mmel.scores.held_out import batches_of
from tests import cases
from tests import older

EXAMPLES, VIEWS, FEATURES, CLASSES = 11, 4, 5, 3
CLOSE = {"rtol": 2e-6, "atol": 1e-7}
layers = keras.layers


def data(seed=0):
    rng = np.random.default_rng(seed)
    shape = (EXAMPLES, VIEWS, FEATURES)
    views = rng.normal(0, 2.0, shape).astype("float32")
    labels = rng.integers(0, CLASSES, EXAMPLES)
    mask = rng.random((EXAMPLES, VIEWS)) < 0.7
    mask[:, 0] = True
    weight = rng.random(EXAMPLES).astype("float32")
    return views, labels, mask, weight


def classifier(activation="softmax"):
    model = keras.Sequential(
        [
            keras.Input((FEATURES,)),
            layers.Dense(8, activation="tanh", kernel_regularizer="l2"),
            layers.Dropout(0.5),
            layers.Dense(CLASSES, activation=activation),
        ]
    )
    model.compile(
        "sgd",
        keras.losses.SparseCategoricalCrossentropy(activation is None),
        metrics=["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(2)],
        weighted_metrics=[keras.metrics.SparseCategoricalAccuracy("weighted")],
    )
    return model


def plain_loop(model, views, labels, mask, weight):
    """Every view by itself, in float64."""
    nll, right, top, confidence = (np.zeros(mask.shape) for _ in range(4))
    for i in range(EXAMPLES):
        for j in range(VIEWS):
            row = np.float64(model(views[i, j][None])[0])
            if row.min() < 0 or abs(row.sum() - 1) > 1e-5:
                row = np.exp(row - row.max())
                row /= row.sum()
            nll[i, j] = -np.log(row[labels[i]])
            right[i, j] = row.argmax() == labels[i]
            top[i, j] = labels[i] in np.argsort(row)[-2:]
            confidence[i, j] = row.max()
    extra = float(sum(np.float64(loss) for loss in model.losses))
    found = {}
    for name, value, up, w in (
        ("loss", nll, False, weight),
        ("accuracy", right, True, 1.0),
        ("sparse_top_k_categorical_accuracy", top, True, 1.0),
        ("weighted", right, True, weight / weight.mean()),
        ("nll", nll, False, 1.0),
    ):
        means, worsts = [], []
        for i in range(EXAMPLES):
            real = value[i][mask[i]]
            means.append(sum(real) / len(real))
            worsts.append(min(real) if up else max(real))
        found[f"original_{name}"] = np.mean(value[:, 0] * w)
        found[f"mean_{name}"] = np.mean(np.array(means) * w)
        found[f"worst_{name}"] = np.mean(np.array(worsts) * w)
    for name in ("original_loss", "mean_loss", "worst_loss"):
        found[name] += extra
    found["original_ece"] = ece_loop(confidence[:, 0], right[:, 0])
    found["mean_ece"] = ece_loop(confidence[mask], right[mask])
    return found


def ece_loop(confidence, right, bins=15):
    total = 0.0
    for b in range(bins):
        inside = (confidence > b / bins) & (confidence <= (b + 1) / bins)
        if inside.any():
            gap = right[inside].mean() - confidence[inside].mean()
            total += inside.sum() * abs(gap)
    return total / len(right)


@pytest.mark.parametrize(
    ("activation", "eagerly"), [("softmax", False), (None, True)]
)
def test_equals_a_plain_loop(activation, eagerly):
    model = classifier(activation)
    model.run_eagerly = eagerly
    views, labels, mask, weight = data()
    x, given = {"views": views, "mask": mask}, {"sample_weight": weight}
    found = keras_mmel.evaluate_views(model, x, labels, batch_size=4, **given)
    expected = plain_loop(model, views, labels, mask, weight)
    assert list(found) == list(expected)
    for name, value in expected.items():
        assert_allclose(found[name], value, err_msg=name, **CLOSE)
    given |= {"batch_size": EXAMPLES, "verbose": 0, "return_dict": True}
    of_keras = model.evaluate(views[:, 0], labels, **given)
    for name, value in of_keras.items():
        assert_allclose(found[f"original_{name}"], value, rtol=1e-5)


def tokens(seed=0):
    """Token ids with 0 for padding, one view of padding alone, and labels."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(1, 9, (EXAMPLES, VIEWS, 6))
    lengths = rng.integers(1, 7, (EXAMPLES, VIEWS))
    lengths[2, 1] = 0
    ids[np.arange(6) >= lengths[..., None]] = 0
    return ids, rng.integers(0, 2, (EXAMPLES, 6))


@older.not_before(12, "looks at masks of metrics beside weights alone")
@pytest.mark.parametrize("weight", [None, np.arange(11.0, dtype="float32")])
def test_tokens_that_a_mask_hides_do_not_count(weight):
    model = keras.Sequential(
        [
            keras.Input((6,), dtype="int32"),
            layers.Embedding(9, 4, mask_zero=True),
            layers.Dense(2),
        ]
    )
    model.compile(
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        weighted_metrics=[keras.metrics.SparseCategoricalAccuracy("heavy")],
    )
    ids, labels = tokens()
    data = {"views": ids}, labels
    given = {} if weight is None else {"sample_weight": weight[:, None]}
    found = keras_mmel.evaluate_views(model, *data, **given, batch_size=4)
    given |= {"batch_size": 4, "verbose": 0, "return_dict": True}
    of_keras = model.evaluate(ids[:, 0], labels, **given)
    assert set(of_keras) == {"loss", "accuracy", "heavy"}
    for name, value in of_keras.items():
        assert_allclose(found[f"original_{name}"], value, rtol=1e-5)
    predicted = model.predict(ids.reshape(-1, 6), verbose=0).argmax(-1)
    right = predicted.reshape(ids.shape) == labels[:, None]
    means, worsts = [], []
    for group, is_right in zip(ids, right, strict=True):
        views = [
            is_right[j][row > 0].mean()
            for j, row in enumerate(group)
            if row.any()
        ]
        means.append(np.mean(views))
        worsts.append(min(views))
    tokens_of_originals = (ids[:, 0] > 0).sum(-1)
    heavy = tokens_of_originals * (1 if weight is None else weight)
    for name, counted in (("accuracy", tokens_of_originals), ("heavy", heavy)):
        for kind, values in (("mean", means), ("worst", worsts)):
            expected = np.average(values, weights=counted)
            assert_allclose(found[f"{kind}_{name}"], expected, rtol=1e-5)


def test_a_mask_of_the_values_counts_as_in_keras():
    ignoring = keras.metrics.MeanMetricWrapper(
        keras.losses.sparse_categorical_crossentropy, "ce", ignore_class=0
    )
    inputs = keras.Input((FEATURES,))
    rows = layers.Reshape((2, CLASSES))(layers.Dense(2 * CLASSES)(inputs))
    model = keras.Model(inputs, layers.Softmax()(rows))
    model.compile(
        loss="sparse_categorical_crossentropy", weighted_metrics=[ignoring]
    )
    views, _, _, weight = data()
    labels = np.random.default_rng(3).integers(0, CLASSES, (EXAMPLES, 2))
    for given in ({}, {"sample_weight": weight[:, None]}):
        found = keras_mmel.evaluate_views(
            model, {"views": views}, labels, **given
        )
        of_keras = model.evaluate(
            views[:, 0], labels, verbose=0, return_dict=True, **given
        )
        assert_allclose(found["original_ce"], of_keras["ce"], rtol=1e-5)


def test_a_saturated_softmax_keeps_its_logits():
    model = classifier()
    model.layers[-1].bias.assign([40.0, 0.0, -40.0])
    views, _, _, _ = data()
    labels = np.full(EXAMPLES, 2)
    found = keras_mmel.evaluate_views(model, {"views": views}, labels)
    assert found["worst_nll"] > 60


def test_batches_of_all_kinds_are_the_same():
    model = classifier()
    views, labels, mask, _ = data()
    x = {"views": views, "mask": mask}
    expected = keras_mmel.evaluate_views(model, x, labels)
    dataset = tf.data.Dataset.from_tensor_slices((x, labels)).batch(4)

    mmel = keras_mmel.MMELModel(model, "soft")
    mmel.compile("sgd", model.loss, metrics=["accuracy"])
    for found in (
        keras_mmel.evaluate_views(model, dataset),
        keras_mmel.evaluate_views(model, list(dataset)),
        keras_mmel.evaluate_views(model, dataset.repeat(), steps=3),
        keras_mmel.evaluate_views(model, fewer_views(x, labels)),
        keras_mmel.evaluate_views(model, cases.Batches([(x, labels)])),
        mmel.evaluate_views(dataset),
        mmel.evaluate_views(
            dataset.map(lambda x, y: (x, {"label": y, "teacher": x["mask"]}))
        ),
    ):
        assert set(found) <= set(expected)
        for name, value in found.items():
            assert_allclose(value, expected[name], err_msg=name, **CLOSE)


def fewer_views(x, labels):
    """A batch for each example, of its real views alone."""
    for views, mask, label in zip(x["views"], x["mask"], labels, strict=True):
        yield {"views": views[mask][None]}, label[None]


def test_several_outputs():
    inputs = keras.Input((FEATURES,))
    hidden = layers.Dense(6, activation="tanh")(inputs)
    model = keras.Model(
        inputs,
        {
            "kind": layers.Dense(CLASSES, name="kind")(hidden),
            "good": layers.Dense(1, activation="sigmoid", name="good")(hidden),
            "size": layers.Dense(1, name="size")(hidden),
        },
    )
    model.compile(
        "sgd",
        {
            "kind": keras.losses.SparseCategoricalCrossentropy(True),
            "good": "binary_crossentropy",
            "size": "mse",
        },
        loss_weights={"kind": 1.0, "good": 0.5, "size": 2.0},
        metrics={"good": ["accuracy"], "size": ["mae"]},
        weighted_metrics={"good": ["accuracy"]},
    )
    views, kinds, _, _ = data()
    rng = np.random.default_rng(1)
    y = {
        "kind": kinds,
        "good": rng.integers(0, 2, EXAMPLES),
        "size": rng.normal(size=EXAMPLES).astype("float32"),
    }
    found = keras_mmel.evaluate_views(model, {"views": views}, y)
    logits = model.predict(views.reshape(-1, FEATURES), verbose=0)
    shape = (EXAMPLES, VIEWS)
    good = np.float64(logits["good"]).reshape(shape)
    truth = y["good"][:, None]
    right = (good > 0.5) == (truth > 0.5)
    error = np.abs(logits["size"].reshape(shape) - y["size"][:, None])
    sure = np.maximum(good, 1 - good)
    nll_good = -np.log(np.where(truth == 1, good, 1 - good))
    scores = np.float64(logits["kind"]).reshape((*shape, CLASSES))
    log_p = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
    nll_kind = -np.take_along_axis(log_p, kinds[:, None, None], -1)[..., 0]
    loss = nll_kind + 0.5 * nll_good + 2.0 * error**2
    for name, value in (
        ("original_loss", loss[:, 0].mean()),
        ("mean_loss", loss.mean()),
        ("worst_loss", loss.max(axis=1).mean()),
        ("worst_good_accuracy", right.min(axis=1).mean()),
        ("worst_size_mae", error.max(axis=1).mean()),
        ("mean_kind_nll", nll_kind.mean()),
        ("worst_good_nll", nll_good.max(axis=1).mean()),
        ("mean_good_ece", ece_loop(sure.ravel(), right.ravel())),
    ):
        assert_allclose(found[name], value, err_msg=name, rtol=1e-5)
    assert "mean_size_nll" not in found
    names = model.get_metrics_result()
    assert {f"original_{n}" for n in names if not n.endswith("_loss")} <= {
        *found
    }


def test_weights_of_each_output():
    inputs = keras.Input((FEATURES,))
    outputs = [layers.Dense(1, name=name)(inputs) for name in "ab"]
    model = keras.Model(inputs, outputs)
    model.compile(loss="mse", weighted_metrics=[["mae"], ["mae"]])
    views, labels, _, weight = data()
    y, weights = [labels, labels + 1.0], [weight, weight[::-1].round()]
    found = keras_mmel.evaluate_views(
        model, {"views": views}, y, sample_weight=weights, batch_size=4
    )
    of_keras = model.evaluate(
        views[:, 0], y, sample_weight=weights, verbose=0, return_dict=True
    )
    for name in ("loss", "a_mae", "b_mae"):
        assert_allclose(found[f"original_{name}"], of_keras[name], rtol=1e-5)


def test_metrics_that_are_no_means_are_left_out():
    model = classifier()

    def doubt(y_true, y_pred):
        return 1 - keras.ops.max(y_pred, axis=-1)

    model.compile(
        "sgd",
        "sparse_categorical_crossentropy",
        metrics=[
            doubt,
            keras.metrics.IoU(CLASSES, [0]),
            OfFirstClass(name="first"),
            lambda y_true, y_pred: keras.ops.mean(y_pred),
        ],
    )
    views, labels, _, _ = data()
    found = keras_mmel.evaluate_views(model, {"views": views}, labels)
    predicted = model.predict(views.reshape(-1, FEATURES), verbose=0)
    expected = (1 - predicted.max(axis=-1)).reshape(EXAMPLES, VIEWS)
    assert_allclose(found["mean_doubt"], expected.mean(), **CLOSE)
    assert "worst_doubt" not in found
    left_out = ("io_u", "first", "lambda")
    assert not [name for name in found if name.endswith(left_out)]


class OfFirstClass(keras.metrics.SparseCategoricalAccuracy):
    def update_state(self, y_true, y_pred, sample_weight=None):
        return super().update_state(y_true, y_pred, y_true == 0)


@pytest.mark.parametrize(
    "name", ["weight", "layers", "is_right", "nll", "loss"]
)
def test_a_metric_may_have_any_name(name):
    views, labels, _, _ = data()
    model = classifier()
    expected = keras_mmel.evaluate_views(model, {"views": views}, labels)
    metric = keras.metrics.MeanMetricWrapper(lambda y, p: p[:, 0], name=name)
    model.compile("sgd", model.loss, metrics=[metric])
    found = keras_mmel.evaluate_views(model, {"views": views}, labels)
    for key in ("original_loss", "worst_loss", "mean_ece"):
        assert_allclose(found[key], expected[key], err_msg=key, **CLOSE)
    if name != "loss":
        predicted = model.predict(views.reshape(-1, FEATURES), verbose=0)
        assert_allclose(found[f"mean_{name}"], predicted[:, 0].mean(), **CLOSE)


def test_the_worst_of_losses_below_0_is_none_of_the_padding():
    def gain(y_true, y_pred):
        return -keras.ops.exp(y_pred[:, 0])

    model = classifier()
    model.compile("sgd", gain)
    views, labels, mask, _ = data()
    found = keras_mmel.evaluate_views(
        model, {"views": views, "mask": mask}, labels
    )
    predicted = model.predict(views.reshape(-1, FEATURES), verbose=0)
    gains = -np.exp(predicted[:, 0]).reshape(EXAMPLES, VIEWS)
    worst = [max(row[real]) for row, real in zip(gains, mask, strict=True)]
    extra = float(sum(model.losses))
    assert_allclose(found["worst_loss"], np.mean(worst) + extra, **CLOSE)


def test_one_hot_labels_score_as_numbers_of_classes():
    model = classifier()
    views, labels, _, _ = data()
    found = []
    for loss, y in (
        ("sparse_categorical_crossentropy", labels),
        ("categorical_crossentropy", np.eye(CLASSES, dtype="float32")[labels]),
    ):
        model.compile("sgd", loss, metrics=["accuracy"])
        found.append(keras_mmel.evaluate_views(model, {"views": views}, y))
    assert found[1].keys() == found[0].keys()
    for name, value in found[0].items():
        assert_allclose(found[1][name], value, err_msg=name, **CLOSE)


def test_a_metric_of_tokens_is_averaged_over_them():
    model = keras.Sequential(
        [keras.Input((6, FEATURES)), layers.Dense(CLASSES, "softmax")]
    )
    model.compile(
        "sgd", "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    rng = np.random.default_rng(0)
    views = rng.normal(size=(5, VIEWS, 6, FEATURES)).astype("float32")
    labels = rng.integers(0, CLASSES, (5, 6))
    found = keras_mmel.evaluate_views(model, {"views": views}, labels)
    predicted = model.predict(views.reshape(-1, 6, FEATURES), verbose=0)
    predicted = predicted.argmax(-1).reshape(5, VIEWS, 6)
    right = (predicted == labels[:, None]).mean(axis=-1)
    assert_allclose(found["mean_accuracy"], right.mean(), **CLOSE)
    assert_allclose(found["worst_accuracy"], right.min(1).mean(), **CLOSE)


def test_a_bin_of_the_calibration_error_is_open_at_its_lower_end():
    # One of two in (0, 1/2], one in (1/2, 1].
    found = summary.calibration_error(
        np.array([0.5, 0.75]), np.array([1.0, 0.0]), bins=2
    )
    assert found == (abs(1 - 0.5) + abs(0 - 0.75)) / 2


def test_predictions_that_are_not_finite_are_warned_of():
    model = keras.Sequential(
        [keras.Input((2,)), keras.layers.Activation("linear")]
    )
    model.compile(
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    views = np.zeros((3, 2, 2), "float32")
    views[1, 1] = np.nan
    with pytest.warns(UserWarning, match="loss of some views is not finite"):
        scores = keras_mmel.evaluate_views(model, {"views": views}, np.zeros(3))
    assert np.isnan(scores["mean_loss"])
    mask = np.array([[True, True], [True, False], [True, True]])
    x = {"views": views, "mask": mask}  # padding may be anything
    assert np.isfinite(
        keras_mmel.evaluate_views(model, x, np.zeros(3))["mean_loss"]
    )


def test_a_view_of_another_scale_is_warned_of():
    model = classifier()
    views, labels, mask, _ = data()
    views[:, 2] *= 1000
    with pytest.warns(UserWarning, match="View 2: Views are from .* to "):
        keras_mmel.evaluate_views(model, {"views": views}, labels)
    x = {"views": views, "mask": mask}  # where padding may be anything
    keras_mmel.evaluate_views(model, x, labels)


def test_losses_of_activities_are_warned_of():
    views, labels, _, _ = data()
    for of_weights in (True, False):
        name = "kernel" if of_weights else "activity"
        l2 = {f"{name}_regularizer": keras.regularizers.L2(0.1)}
        model = keras.Sequential([layers.Dense(CLASSES, **l2)])
        model.compile("sgd", "mse")
        y = np.eye(CLASSES)[labels]
        if of_weights:
            found = keras_mmel.evaluate_views(model, {"views": views}, y)
            loss = model.evaluate(views[:, 0], y, verbose=0)
            assert_allclose(found["original_loss"], loss, 1e-5)
            continue
        with pytest.warns(UserWarning, match="a loss of their activities"):
            keras_mmel.evaluate_views(model, {"views": views}, y)


def test_wrong_input_is_named():
    views, labels, _, _ = data()
    with pytest.raises(ValueError, match="needs a compiled loss"):
        keras_mmel.evaluate_views(keras.Sequential([layers.Dense(1)]), [])
    model = classifier()
    with pytest.raises(
        ValueError, match="`evaluate_views` takes groups|groups"
    ):
        keras_mmel.evaluate_views(model, [(views[:, 0], labels)])
    with pytest.raises(ValueError, match="no batch to evaluate"):
        keras_mmel.evaluate_views(model, [])
    with pytest.raises(ValueError, match="`batch_size` must be at least 1"):
        keras_mmel.evaluate_views(model, {"views": views}, labels, batch_size=0)
    with pytest.raises(ValueError, match="go with arrays"):
        keras_mmel.evaluate_views(model, [], labels)
    with pytest.raises(ValueError, match="which need `y`"):
        keras_mmel.evaluate_views(model, {"views": views})
    with pytest.raises(ValueError, match="`steps` must be at least 1"):
        keras_mmel.evaluate_views(model, {"views": views}, labels, steps=0)
    for more in ({"y": [*labels] * 2}, {"sample_weight": np.ones(99)}):
        with pytest.raises(ValueError, match="a row for each example.*rows"):
            keras_mmel.evaluate_views(
                model, {"views": views}, **{"y": labels} | more
            )
    mask = np.arange(VIEWS) > np.zeros((EXAMPLES, 1))
    with pytest.raises(ValueError, match="original, view 0, must be"):
        keras_mmel.evaluate_views(model, {"views": views, "mask": mask}, labels)


def test_groups_of_new_views_are_scored_on_the_same_ones():
    x = np.random.default_rng(0).normal(size=(8, 4)).astype("float32")
    groups = keras_mmel.data.group_views(
        tf.data.Dataset.from_tensor_slices((x, np.arange(8) % 3)),
        lambda x, seeds: x[:, None] + tf.cast(seeds[..., :1] % 5, tf.float32),
        num_views=3,
        batch_size=1,
        seed=0,
    )
    model = keras.Sequential([keras.Input((4,)), layers.Dense(3)])
    model.compile(loss=keras.losses.SparseCategoricalCrossentropy(True))
    first = keras_mmel.evaluate_views(model, groups)
    list(groups)
    assert keras_mmel.evaluate_views(model, groups) == first
    assert groups.epoch_counter.epoch == 1
    # Also behind what hides the counter, for as many passes as are made.
    hidden = groups.map(lambda x, y: (x, y)).prefetch(1)
    assert keras_mmel.evaluate_views(model, hidden) == first
    list(hidden)
    assert keras_mmel.evaluate_views(model, hidden) == first
    assert groups.epoch_counter.epoch == 2
    twice = groups.enumerate().map(lambda i, batch: batch)
    assert keras_mmel.evaluate_views(model, twice) == first
    groups.epoch_counter.set_epoch(1)
    model.compile(loss=lambda label, row: 1 / 0, run_eagerly=True)
    with pytest.raises(ZeroDivisionError):
        keras_mmel.evaluate_views(model, groups)
    assert groups.epoch_counter.epoch == 1


def test_groups_of_a_continued_run_are_scored_on_its_first_views():
    case = cases.Case(examples=8)

    def groups():
        return cases.made_groups(
            case, epoch_counter=keras_mmel.data.EpochCounter(3)
        )

    model = cases.build(case)
    model.compile(loss=keras.losses.SparseCategoricalCrossentropy(True))
    expected = keras_mmel.evaluate_views(model, list(groups()))
    later = groups()
    list(later)
    found = keras_mmel.evaluate_views(model, later)
    for name, value in expected.items():
        assert_allclose(found[name], value, err_msg=name, **CLOSE)


def test_a_scorer_is_traced_once():
    scorer = of_views.ViewScorer(classifier())
    views, labels, _, _ = data()
    for size in (4, 5):
        scorer(batches_of(({"views": views}, labels), size))
    assert scorer._step.experimental_get_tracing_count() <= 3
