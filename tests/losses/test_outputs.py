"""Models with several outputs: pairing, weights and logs, as plain Keras."""

import keras
import numpy as np
import pytest

import keras_mmel
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


class Subclassed(keras.Model):
    """Has no names for its outputs."""

    def __init__(self, structure):
        super().__init__()
        self.value = layers.Dense(2)
        self.kind = layers.Dense(3, activation="softmax")
        self.structure = structure
        self(X[:1])

    def call(self, inputs):
        return self.structure(self.value(inputs), self.kind(inputs))


def subclassed(structure):
    return lambda: Subclassed(structure)


def as_list(value, kind):
    return [value, kind]


def as_tuple(value, kind):
    return (value, kind)


def as_dict(value, kind):
    return {"value": value, "kind": kind}


def other_dict(value, kind):
    """Keys that are not the names of the layers, in another order."""
    return {"b": kind, "a": value}


def nested(value, kind):
    return {"heads": {"value": value, "kind": kind}}


def only_value(value, kind):
    return value


SPARSE = "sparse_categorical_crossentropy"
IN_LIST = ["mse", SPARSE]
IN_DICT = {"value": "mse", "kind": SPARSE}
LABELS = [VALUE, CLASS]
NAMED = {"value": VALUE, "kind": CLASS}

# Name: model, labels, what is compiled.
SPELLINGS = {
    "list": (functional(as_list), LABELS, {"loss": IN_LIST}),
    "tuple": (functional(as_tuple), (VALUE, CLASS), {"loss": IN_LIST}),
    "dict_for_list": (functional(as_list), LABELS, {"loss": IN_DICT}),
    "dict_for_list_and_labels": (
        functional(as_list),
        NAMED,
        {"loss": IN_DICT},
    ),
    "list_with_named_labels": (functional(as_list), NAMED, {"loss": IN_LIST}),
    "dict": (functional(as_dict), NAMED, {"loss": IN_DICT}),
    "dict_other_order": (
        functional(as_dict),
        {"kind": CLASS, "value": VALUE},
        {"loss": {"kind": SPARSE, "value": "mse"}},
    ),
    "own_keys": (
        functional(other_dict),
        {"a": VALUE, "b": CLASS},
        {"loss": {"a": "mse", "b": SPARSE}},
    ),
    "nested_dict": (
        functional(nested),
        {"heads": NAMED},
        {"loss": {"heads": IN_DICT}},
    ),
    "subclassed_list": (subclassed(as_list), LABELS, {"loss": IN_LIST}),
    "subclassed_dict": (subclassed(as_dict), NAMED, {"loss": IN_DICT}),
    "one_for_all": (
        functional(as_list),
        [VALUE, np.eye(3, dtype="float32")[CLASS]],
        {"loss": "mae"},
    ),
    "one_object_for_all": (
        functional(as_dict),
        {"value": VALUE, "kind": np.eye(3, dtype="float32")[CLASS]},
        {"loss": losses.Huber(reduction="sum")},
    ),
    "weights_list": (
        functional(as_list),
        LABELS,
        {"loss": IN_LIST, "loss_weights": [0.3, 2]},
    ),
    "weights_dict_for_list": (
        functional(as_list),
        LABELS,
        {"loss": IN_DICT, "loss_weights": {"value": 0.3, "kind": 2.0}},
    ),
    "weights_dict": (
        functional(as_dict),
        NAMED,
        {"loss": IN_DICT, "loss_weights": {"kind": 2.0, "value": 0.3}},
    ),
    "weights_list_for_dict": (
        functional(as_dict),
        NAMED,
        {"loss": IN_DICT, "loss_weights": [0.3, 2.0]},
    ),
    "list_for_dict": (functional(as_dict), NAMED, {"loss": [SPARSE, "mse"]}),
    "none_in_list": (functional(as_list), LABELS, {"loss": [None, SPARSE]}),
    "none_in_list_and_labels": (
        functional(as_list),
        [CLASS],
        {"loss": [None, SPARSE]},
    ),
    "none_in_dict": (
        functional(as_dict),
        NAMED,
        {"loss": {"value": "mse", "kind": None}},
    ),
    "missing_in_dict": (functional(as_dict), NAMED, {"loss": {"kind": SPARSE}}),
    "with_metrics": (
        functional(as_dict),
        NAMED,
        {
            "loss": IN_DICT,
            "metrics": {"kind": ["accuracy"], "value": ["mae"]},
            "weighted_metrics": {"value": ["mse"]},
        },
    ),
    "single_list": (functional(only_value), VALUE, {"loss": ["mse"]}),
    "single_list_and_label": (
        functional(only_value),
        [VALUE],
        {"loss": ["mse"]},
    ),
    "single_dict_loss": (
        functional(only_value),
        VALUE,
        {"loss": {"value": "mse"}},
    ),
    "single_weight": (
        functional(only_value),
        VALUE,
        {"loss": "mse", "loss_weights": 0.5},
    ),
    "single_weight_list": (
        functional(only_value),
        VALUE,
        {"loss": ["mse"], "loss_weights": [0.5]},
    ),
    "a_list_of_one": (
        functional(lambda value, kind: [value]),
        VALUE,
        {"loss": "mse"},
    ),
    "a_dict_of_one": (
        functional(lambda value, kind: {"value": value}),
        {"value": VALUE},
        {"loss": "mse"},
    ),
}
GRAPH = ("dict_for_list", "nested_dict", "with_metrics")


# Plain Keras warns about an output that has no loss, and so do we.
@pytest.mark.filterwarnings("ignore:Gradients do not exist")
@pytest.mark.parametrize("name", SPELLINGS)
def test_a_group_of_one_view_trains_and_logs_as_plain_fit(name):
    make, y, settings = SPELLINGS[name]
    assert_same_step(make, X, y, run_eagerly=name not in GRAPH, **settings)


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


# --- groups of several views -------------------------------------------------


def test_outputs_add_up_before_the_views_are_weighted():
    model = functional(as_list)()
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
        "loss": np.mean(np.log(np.mean(np.exp(found), 1))),
        "original_loss": found[:, 0].mean(),
        "value_loss": squared[:, 0].mean(),
        "kind_loss": -np.log(right[:, 0]).mean(),
        "value_mae": np.abs(value - VALUE[:, None])[:, 0].mean(),
        "kind_accuracy": np.mean(kind[:, 0].argmax(-1) == CLASS),
    }
    for name, number in expected.items():
        np.testing.assert_allclose(log[name][0], number, rtol=1e-5)
    powers = np.exp(found)
    np.testing.assert_allclose(
        mmel.view_weights({"views": views}, LABELS),
        powers / powers.sum(1, keepdims=True),
        rtol=1e-5,
    )
