"""Pairing of compiled losses with outputs, and how they reduce a batch."""

import keras
import numpy as np
import pytest

import keras_mmel
from keras_mmel.losses import compiled

losses = keras.losses

VALUE, CLASS = np.zeros((6, 2)), np.arange(6) % 3
LABELS = [VALUE, CLASS]
SPARSE = "sparse_categorical_crossentropy"
IN_LIST = ["mse", SPARSE]
IN_DICT = {"value": "mse", "kind": SPARSE}
PREDICTIONS = [np.zeros((6, 2)), np.full((6, 3), 1 / 3)]


def pair(loss, weights=None, label=LABELS, prediction=PREDICTIONS, **others):
    others = {"output_names": ["value", "kind"], **others}
    return compiled.pair_outputs(loss, weights, label, prediction, **others)


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
        "No entry for the output 'value' in y.*Received: 1",
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
    inputs = keras.Input((5,))
    heads = [keras.layers.Dense(units)(inputs) for units in (2, 3)]
    mmel = keras_mmel.MMELModel(keras.Model(inputs, heads))
    mmel.compile("sgd", [losses.MeanSquaredError(reduction="sum"), SPARSE])
    message = "same `reduction`.*Received: .*'sum'.*'sum_over_batch_size'"
    with pytest.raises(ValueError, match=message):
        mmel.fit({"views": np.zeros((6, 1, 5))}, LABELS, verbose=0)


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
    assert compiled.reduction_of(found) == expected
