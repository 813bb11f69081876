"""Models with several outputs: pairing, weights and logs, as plain Keras."""

import keras
import numpy as np
import pytest
from keras import ops
from plain_fit import assert_same_step

import keras_mmel
from keras_mmel import view_losses

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


# --- pairing, by itself ------------------------------------------------------

PREDICTIONS = [np.zeros((6, 2)), np.full((6, 3), 1 / 3)]


def pair(loss, weights=None, label=LABELS, prediction=PREDICTIONS, **others):
    others = {"output_names": ["value", "kind"], **others}
    return view_losses.pair_outputs(loss, weights, label, prediction, **others)


def test_each_output_gets_its_own_parts_untouched():
    mse = losses.MeanSquaredError()
    found = pair(
        {"kind": SPARSE, "value": mse},
        {"kind": 2.0, "value": 0.5},
        extra=(None, {"value": "t", "kind": "u"}),
    )
    by_name = {output.name: output for output in found}
    assert set(by_name) == {"value", "kind"}
    value, kind = by_name["value"], by_name["kind"]
    assert value.loss is mse
    assert value.label is VALUE
    assert value.prediction is PREDICTIONS[0]
    assert kind.prediction is PREDICTIONS[1]
    assert (value.weight, kind.weight) == (0.5, 2.0)
    assert (value.extra, kind.extra) == ((None, "t"), (None, "u"))
    assert kind.loss.fn is losses.sparse_categorical_crossentropy


def test_crossentropy_is_chosen_for_each_output():
    found = pair(
        ["crossentropy", "crossentropy", "ce"],
        label=[CLASS[:, None], np.eye(3)[CLASS], CLASS],
        prediction=[np.zeros((6, 1)), np.zeros((6, 3)), np.zeros((6, 3))],
        output_names=["a", "b", "c"],
    )
    assert [output.loss.fn for output in found] == [
        losses.binary_crossentropy,
        losses.categorical_crossentropy,
        losses.sparse_categorical_crossentropy,
    ]


MISMATCHES = {
    "no_loss": ({"loss": [None, None]}, "No output .* has a loss"),
    "none": ({"loss": None}, "No output .* has a loss"),
    "unknown_output": (
        {"loss": {"value": "mse", "sort": SPARSE}},
        "'sort' in .*Received: .*value.*kind",
    ),
    "too_few_losses": (
        {"loss": ["mse"]},
        "2 outputs and needs a loss.*Received: 1 losses",
    ),
    "missing_label": (
        {"loss": IN_LIST, "label": [VALUE]},
        "No entry for the output '1' in y.*Received: 1",
    ),
    "one_label_for_two": (
        {"loss": IN_LIST, "label": VALUE},
        "No entry for the output .* in y",
    ),
    "missing_named_label": (
        {"loss": IN_DICT, "label": {"value": VALUE}},
        r"'kind' in y.*Received: \['value'\]",
    ),
    "weight_is_text": (
        {"loss": IN_LIST, "weights": ["big", 1.0]},
        "`loss_weights` must hold numbers. Received: 'big'",
    ),
    "missing_weight": (
        {"loss": IN_DICT, "weights": {"value": 1.0}},
        "'kind' in loss_weights",
    ),
    "two_losses_for_one": (
        {"loss": ["mse", "mae"], "label": VALUE, "prediction": PREDICTIONS[0]},
        "is one tensor.*Received: .*'mse', 'mae'",
    ),
    "two_labels_for_one": (
        {"loss": "mse", "label": LABELS, "prediction": PREDICTIONS[0]},
        "is one tensor.*Received",
    ),
}


@pytest.mark.parametrize("name", MISMATCHES)
def test_what_does_not_match_is_refused(name):
    arguments, message = MISMATCHES[name]
    with pytest.raises(ValueError, match=message):
        pair(**arguments)


def test_different_reductions_are_refused():
    mixed = [losses.MeanSquaredError(reduction="sum"), SPARSE]
    message = "same `reduction`.*Received: .*'sum'.*'sum_over_batch_size'"
    with pytest.raises(ValueError, match=message):
        view_losses.reduction_of(pair(mixed))
    mmel = keras_mmel.MMELModel(functional(as_list)())
    mmel.compile("sgd", mixed)
    with pytest.raises(ValueError, match=message):
        mmel.fit({"views": X[:, None]}, LABELS, verbose=0)


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (("mean", "sum_over_batch_size"), "mean"),
        (("sum", "sum"), "sum"),
        (("none", None), None),
        (("mean_with_sample_weight",) * 2, "mean_with_sample_weight"),
    ],
)
def test_equal_reductions_may_be_spelt_differently(kinds, expected):
    found = pair([losses.MeanSquaredError(reduction=kind) for kind in kinds])
    assert view_losses.reduction_of(found) == expected


def test_sums_of_groups_and_their_size():
    values = ops.convert_to_tensor([1.0, 2.0, 4.0])
    weight = ops.convert_to_tensor([0.5, 0.0, 2.0])
    for kind, weights, expected in (
        ("mean", None, (7, 3)),
        ("mean", weight, (8.5, 3)),
        ("sum", weight, (8.5, 1)),
        ("mean_with_sample_weight", weight, (8.5, 2.5)),
        ("mean_with_sample_weight", None, (7, 3)),
    ):
        total, size = view_losses.reduce_groups(values, weights, kind)
        np.testing.assert_allclose((total, size), expected)
    total, size = view_losses.reduce_groups(values, weight, None)
    np.testing.assert_allclose(total, [0.5, 0.0, 8.0])
    assert float(size) == 1
