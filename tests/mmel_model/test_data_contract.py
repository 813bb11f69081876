"""The forms in which groups may come."""

import keras
import numpy as np
import pytest
from numpy.testing import assert_allclose

import keras_mmel
from keras_mmel.objectives import Hard
from keras_mmel.objectives import Soft
from tests import cases
from tests import networks
from tests import older
from tests import oracle
from tests.cases import Case
from tests.mmel_model.reference import Reference

# Everything that a batch can hold, with a smaller last batch.
FULL = Case(Soft(0.3), sample_weight=True, mask=True, teacher=True)


FORMS = {
    "unknown": lambda batches: {"x": cases.of_unknown_sizes(batches)},
    "sequence": lambda batches: {"x": cases.Batches(batches), "shuffle": False},
    "generator": lambda batches: {
        "x": (batch for batch in batches),
        "steps_per_epoch": len(batches),
        "shuffle": False,
    },
}


@pytest.fixture(scope="module")
def expected():
    """The model that the reference trained on the batches."""
    reference = Reference(cases.build(FULL), FULL.optimizer(), FULL.objective)
    reference.fit(cases.batches_of(FULL))
    return reference.model.get_weights()


@pytest.mark.parametrize("form", FORMS)
def test_form_of_groups(form, expected):
    mmel = cases.compiled(FULL)
    mmel.fit(**FORMS[form](cases.batches_of(FULL)), verbose=0)
    for found, wanted in zip(mmel.model.get_weights(), expected, strict=True):
        assert_allclose(found, wanted, 1e-5, 1e-6)


def test_shuffling_arrays_keeps_the_views_of_an_example_together():
    case = Case(
        Hard(0.2), epochs=2, optimizer=lambda: keras.optimizers.SGD(0.0)
    )
    logs = [
        cases.fit(cases.compiled(case), case, shuffle=shuffle)
        for shuffle in (False, True)
    ]
    for key, value in logs[0].items():
        assert_allclose(logs[1][key], value, 1e-5, err_msg=key)


def test_nested_inputs_come_in_any_order():
    case = Case("soft", model="functional")
    x, y, _ = cases.data_for(case)
    results = []
    for views in (x["views"], dict(reversed(x["views"].items()))):
        mmel = cases.compiled(case)
        cases.fit(mmel, case, x={"views": views}, y=y)
        results.append(cases.result(mmel, case))
    assert cases.differences(*results) == {}


@pytest.mark.parametrize("dtype", ["float64", "uint8", "int32", "float16"])
def test_views_of_other_types_train_as_what_the_model_casts_them_to(dtype):
    views = np.random.default_rng(0).integers(0, 4, (5, 3, networks.FEATURES))
    results = []
    for kind in ("float32", dtype):
        mmel = cases.compiled(Case(compile={"run_eagerly": True}))
        mmel.train_on_batch({"views": views.astype(kind)}, np.arange(5) % 4)
        results.append(cases.result(mmel, Case()))
    cases.assert_close(*results)


@older.not_before(14, "adds an activity regularizer up over a batch")
@pytest.mark.parametrize("num_padding", [0, 2])
def test_padding_is_the_original_once_more(num_padding):
    """What looks at the batch as a whole sees a copy in place of padding."""
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((3,)),
            layers.BatchNormalization(momentum=0.0),
            layers.Dense(2, activity_regularizer=keras.regularizers.L2(0.1)),
        ]
    )
    mmel = keras_mmel.MMELModel(model)
    mmel.compile(keras.optimizers.SGD(0.0), "mse")
    views = np.random.default_rng(0).normal(size=(4, 2, 3)).astype("float32")
    shown = np.concatenate([views] + [views[:, :1]] * num_padding, axis=1)
    given = np.concatenate([views] + [views[:, :1] * 0 + 7] * num_padding, 1)
    mask = np.arange(2 + num_padding) < np.full((4, 1), 2)
    x, y = {"views": given, "mask": mask}, np.ones((4, 2))
    log = mmel.fit(x, y, verbose=0).history
    rows = shown.reshape(-1, 3)
    assert_allclose(model.layers[0].moving_mean, rows.mean(0), rtol=1e-5)
    assert_allclose(model.layers[0].moving_variance, rows.var(0), rtol=1e-4)
    made = model.predict(rows, verbose=0)
    of_views = ((made - 1) ** 2).mean(1).reshape(4, -1)
    loss = oracle.maximal_expected_loss(of_views, 1.0, mask).mean()
    penalty = 0.1 * (made**2).sum() / len(rows)
    assert_allclose(log["loss"], [loss + penalty], rtol=1e-4)
