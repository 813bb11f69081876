"""Models with several outputs: pairing, weights and logs, as plain Keras."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_mmel
from tests import oracle
from tests.plain_fit import assert_same_step

layers = keras.layers
losses = keras.losses

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 5)).astype("float32")
VALUE = RNG.normal(size=(6, 2)).astype("float32")
CLASS = RNG.integers(0, 3, 6)


def functional(structure):
    """Outputs "value", (n, 2), and "kind", (n, 3), in a given structure."""

    def make():
        inputs = keras.Input((5,))
        hidden = layers.Dense(4, activation="tanh")(inputs)
        value = layers.Dense(2, name="value")(hidden)
        kind = layers.Dense(3, activation="softmax", name="kind")(hidden)
        return keras.Model(inputs, structure(value, kind))

    return make


def subclassed(structure):
    """The same without names."""

    class Subclassed(keras.Model):
        def __init__(self):
            super().__init__()
            self.value = layers.Dense(2)
            self.kind = layers.Dense(3, activation="softmax")
            self(X[:1])

        def call(self, inputs):
            return structure(self.value(inputs), self.kind(inputs))

    return Subclassed


def in_dict(value, kind):
    return {"value": value, "kind": kind}


LIST = functional(lambda value, kind: [value, kind])
DICT = functional(in_dict)
# Keys that are not the names of the layers, in another order.
OTHER = functional(lambda value, kind: {"b": kind, "a": value})
NESTED = functional(lambda value, kind: {"heads": in_dict(value, kind)})
SINGLE = functional(lambda value, kind: value)
SPARSE = "sparse_categorical_crossentropy"
IN_LIST, IN_DICT = ["mse", SPARSE], {"value": "mse", "kind": SPARSE}
LABELS, NAMED = [VALUE, CLASS], {"value": VALUE, "kind": CLASS}
ONE_HOT = np.eye(3, dtype="float32")[CLASS]
WEIGHTS = {"kind": 2.0, "value": 0.3}
METRICS = {
    "metrics": {"kind": ["accuracy"], "value": ["mae"]},
    "weighted_metrics": {"value": ["mse"]},
}

# Name: model, labels, loss, what else is compiled.
SPELLINGS = {
    "list": (LIST, LABELS, IN_LIST),
    "tuple": (functional(lambda *both: both), (VALUE, CLASS), IN_LIST),
    "dict_for_list": (LIST, LABELS, IN_DICT),
    "dict_for_list_and_labels": (LIST, NAMED, IN_DICT),
    "list_with_named_labels": (LIST, NAMED, IN_LIST),
    "dict": (DICT, NAMED, IN_DICT),
    "dict_other_order": (DICT, NAMED, {"kind": SPARSE, "value": "mse"}),
    "own_keys": (OTHER, {"a": VALUE, "b": CLASS}, {"a": "mse", "b": SPARSE}),
    "nested_dict": (NESTED, {"heads": NAMED}, {"heads": IN_DICT}),
    "subclassed_list": (subclassed(lambda *both: [*both]), LABELS, IN_LIST),
    "subclassed_dict": (subclassed(in_dict), NAMED, IN_DICT),
    "one_for_all": (LIST, [VALUE, ONE_HOT], "mae"),
    "one_object_for_all": (
        DICT,
        {"value": VALUE, "kind": ONE_HOT},
        losses.Huber(reduction="sum"),
    ),
    "weights_list": (LIST, LABELS, IN_LIST, {"loss_weights": [0.3, 2]}),
    "weights_dict_for_list": (LIST, LABELS, IN_DICT, {"loss_weights": WEIGHTS}),
    "weights_dict": (DICT, NAMED, IN_DICT, {"loss_weights": WEIGHTS}),
    "weights_list_for_dict": (
        DICT,
        NAMED,
        IN_DICT,
        {"loss_weights": [0.3, 2.0]},
    ),
    "list_for_dict": (DICT, NAMED, [SPARSE, "mse"]),
    "none_in_list": (LIST, LABELS, [None, SPARSE]),
    "none_in_list_and_labels": (LIST, [CLASS], [None, SPARSE]),
    "none_in_dict": (DICT, NAMED, {"value": "mse", "kind": None}),
    "missing_in_dict": (DICT, NAMED, {"kind": SPARSE}),
    "with_metrics": (DICT, NAMED, IN_DICT, METRICS),
    "single_list": (SINGLE, VALUE, ["mse"]),
    "single_list_and_label": (SINGLE, [VALUE], ["mse"]),
    "single_dict_loss": (SINGLE, VALUE, {"value": "mse"}),
    "single_weight": (SINGLE, VALUE, "mse", {"loss_weights": 0.5}),
    "single_weight_list": (SINGLE, VALUE, ["mse"], {"loss_weights": [0.5]}),
    "a_list_of_one": (functional(lambda value, kind: [value]), VALUE, "mse"),
    "a_dict_of_one": (
        functional(lambda value, kind: {"value": value}),
        {"value": VALUE},
        "mse",
    ),
}
GRAPH = ("dict_for_list", "nested_dict", "with_metrics")


# Plain Keras warns about an output that has no loss, and so do we.
@pytest.mark.filterwarnings("ignore:Gradients do not exist")
@pytest.mark.parametrize("name", SPELLINGS)
def test_a_group_of_one_view_trains_and_logs_as_plain_fit(name):
    make, y, loss, *others = SPELLINGS[name]
    settings = {"loss": loss, "run_eagerly": name not in GRAPH}
    assert_same_step(make, X, y, **settings, **dict(*others))


def test_very_wrong_outputs_log_what_plain_fit_logs():
    """The log of each output's loss comes from the originals' predictions."""

    def make():
        inputs = keras.Input((3,))
        dense = layers.Dense(3, use_bias=False)
        outputs = [
            layers.Softmax(name="one")(dense(inputs)),
            layers.Softmax(name="other")(-dense(inputs)),
        ]
        dense.set_weights([np.eye(3, dtype="float32") * 41.6])
        return keras.Model(inputs, outputs)

    for eagerly in (False, True):
        log = assert_same_step(
            make,
            np.eye(3, dtype="float32"),
            [np.array([1, 2, 0]), np.array([0, 1, 2])],
            loss=[SPARSE, SPARSE],
            run_eagerly=eagerly,
        )
        assert log["one_loss"] > 41
        assert log["other_loss"] > 41


# Groups of several views


def test_outputs_add_up_before_the_views_are_weighted():
    model = LIST()
    mmel = keras_mmel.MMELModel(model, "hard")
    mmel.compile(
        keras.optimizers.SGD(0.0),
        ["mse", SPARSE],
        loss_weights=[0.3, 2.0],
        metrics=[["mae"], ["accuracy"]],
    )
    views = RNG.normal(size=(6, 3, 5)).astype("float32")
    log = mmel.fit({"views": views}, LABELS, verbose=0).history
    value, kind = (
        p.reshape(6, 3, -1).astype("float64")
        for p in model.predict(views.reshape(18, 5), verbose=0)
    )
    squared = np.mean((value - VALUE[:, None]) ** 2, -1)
    right = np.take_along_axis(kind, CLASS[:, None, None], -1)[..., 0]
    found = 0.3 * squared - 2 * np.log(right)
    expected = {
        "loss": oracle.maximal_expected_loss(found, 1.0).mean(),
        "original_loss": found[:, 0].mean(),
        "value_loss": squared[:, 0].mean(),
        "kind_loss": -np.log(right[:, 0]).mean(),
        "value_mae": np.abs(value - VALUE[:, None])[:, 0].mean(),
        "kind_accuracy": np.mean(kind[:, 0].argmax(-1) == CLASS),
    }
    for name, number in expected.items():
        np.testing.assert_allclose(log[name][0], number, rtol=1e-5)
    weights = mmel.view_weights({"views": views}, LABELS)
    np.testing.assert_allclose(weights, oracle.view_weights(found, 1.0), 1e-5)


# Sample weights

TENFOLD = RNG.random(6).astype("float32") * 10
EACH = {"value": TENFOLD, "kind": np.array([1, 0, 0, 2, 1, 0], "float32")}


@pytest.mark.parametrize(
    ("make", "y", "loss", "weight", "compiler"),
    [
        (DICT, NAMED, IN_DICT, EACH, "eager"),
        (DICT, NAMED, IN_DICT, EACH, "xla"),
        (DICT, NAMED, IN_DICT, {**EACH, "kind": None}, "graph"),
        (LIST, LABELS, IN_LIST, list(EACH.values()), "graph"),
        (
            NESTED,
            {"heads": NAMED},
            {"heads": IN_DICT},
            {"heads": EACH},
            "eager",
        ),
    ],
    ids=["eager", "xla", "only_one", "list", "nested"],
)
def test_weights_of_each_output_count_as_in_keras(
    make, y, loss, weight, compiler
):
    settings = {"run_eagerly": compiler == "eager"}
    settings["jit_compile"] = compiler == "xla"
    if loss is IN_DICT:
        settings |= METRICS
    assert_same_step(make, X, y, loss=loss, sample_weight=weight, **settings)


def test_views_are_weighted_by_what_the_outputs_of_an_example_weigh():
    """One that has no label for an output is an example of the others."""
    views = RNG.normal(size=(6, 3, 5)).astype("float32")
    model = DICT()
    mmel = keras_mmel.MMELModel(model, keras_mmel.objectives.Hard(0.3))
    mmel.compile(keras.optimizers.SGD(0.0), IN_DICT)
    log = mmel.fit({"views": views}, NAMED, sample_weight=EACH, verbose=0)
    found = model.predict(views.reshape(18, 5), verbose=0)
    error = (found["value"].reshape(6, 3, 2) - VALUE[:, None]) ** 2
    chosen = found["kind"].reshape(6, 3, 3)[np.arange(6), :, CLASS]
    by_output = {"value": error.mean(-1), "kind": -np.log(chosen)}
    whole = np.maximum(EACH["value"], EACH["kind"])
    mixed = sum(by_output[n] * (EACH[n] / whole)[:, None] for n in EACH)
    expected = (oracle.maximal_expected_loss(mixed, 0.3) * whole).mean()
    np.testing.assert_allclose(log.history["loss"], [expected], rtol=1e-5)


@pytest.mark.parametrize("batch", [4, 8])
def test_weights_of_examples_reach_a_loss_of_each_pixel(batch):
    """Keras broadcasts (batch,) against (batch, height, width)."""
    inputs = keras.Input((4, 4, 2))
    model = keras.Model(
        inputs, {n: layers.Conv2D(1, 1, name=n)(inputs) for n in "ab"}
    )
    x = RNG.normal(size=(8, 4, 4, 2)).astype("float32")
    y = {n: RNG.normal(size=(8, 4, 4, 1)).astype("float32") for n in "ab"}
    weight = np.array([4, 0, 0, 0, 4, 0, 1, 0], "float32")
    predicted = model.predict(x, verbose=0)
    for given in (weight, {"a": weight, "b": weight[:, None, None]}):
        mmel = keras_mmel.MMELModel(model)
        mmel.compile(keras.optimizers.SGD(0.0), "mse")
        data = tf.data.Dataset.from_tensor_slices(
            ({"views": x[:, None]}, y, given)
        )
        log = mmel.fit(data.batch(batch), verbose=0).history
        total = 0
        for name in "ab":
            error = ((predicted[name] - y[name]) ** 2).mean((1, 2, 3))
            expected = (error * weight).mean()
            np.testing.assert_allclose(log[f"{name}_loss"], expected, rtol=1e-5)
            total += expected
        np.testing.assert_allclose(log["loss"], total, rtol=1e-5)


def test_an_array_of_weights_is_for_labels_and_teacher():
    """`fit` of Keras copies it to every part of y, those of the teacher too."""
    views = {"views": np.stack([X, X + 1], axis=1)}
    teacher = {"value": VALUE, "kind": ONE_HOT}
    teacher = {n: np.stack([t, t], axis=1) for n, t in teacher.items()}
    several = (DICT, NAMED, teacher, IN_DICT, METRICS)
    single = (SINGLE, VALUE, teacher["value"], "mse", {})
    for make, label, taught, loss, more in (several, single):
        mmel = keras_mmel.MMELModel(make())
        mmel.compile(keras.optimizers.SGD(0.0), loss, run_eagerly=True, **more)
        y = {"label": label, "teacher": taught}
        found = mmel.fit(views, y, sample_weight=TENFOLD, verbose=0).history
        mmel.reset_metrics()
        expected = mmel.train_on_batch(views, y, TENFOLD, return_dict=True)
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], [value], rtol=1e-5)


# What is of no row


@pytest.mark.filterwarnings("ignore:Gradients do not exist")
@pytest.mark.parametrize("eagerly", [True, False])
def test_a_model_may_also_return_what_is_of_no_example(eagerly):
    class Tempered(keras.Model):
        def __init__(self):
            super().__init__()
            self.kind = layers.Dense(3)
            self.scale = self.add_weight(shape=(), initializer="ones")
            self.rows = self.add_weight(shape=(7, 2), initializer="ones")
            self(X[:1])

        def call(self, inputs):
            logits = self.kind(inputs) * self.scale
            more = {"scale": self.scale + 0.0, "rows": self.rows + 0.0}
            return {"kind": logits, **more}

    loss = {"kind": losses.SparseCategoricalCrossentropy(from_logits=True)}
    labels = {"kind": CLASS}
    found = assert_same_step(
        Tempered, X, labels, loss=loss, run_eagerly=eagerly
    )
    assert found["loss"] == found["original_loss"]
    model = Tempered()
    mmel = keras_mmel.MMELModel(model, "soft")
    mmel.compile("sgd", loss, run_eagerly=eagerly)
    views = {"views": np.stack([X, X + 1], axis=1)}
    mmel.fit(views, labels, batch_size=4, verbose=0)
    expected = mmel.evaluate(X, labels, verbose=0)
    scores = mmel.evaluate_views(views, labels)
    np.testing.assert_allclose(scores["original_loss"], expected, rtol=1e-5)
