"""The forms in which groups may come."""

import keras
import numpy as np
import pytest
from numpy.testing import assert_allclose

from keras_mmel.objectives import Hard
from keras_mmel.objectives import Soft
from tests import cases
from tests import networks
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
