"""`fit` on groups against a plain TensorFlow loop over groups."""

import math

import keras
import numpy as np
import pytest
from numpy.testing import assert_allclose

import keras_mmel
from tests.mmel_model.compare import BATCH
from tests.mmel_model.compare import CLASSES
from tests.mmel_model.compare import FEATURES
from tests.mmel_model.compare import VIEWS
from tests.mmel_model.compare import as_dataset
from tests.mmel_model.compare import assert_same_weights
from tests.mmel_model.compare import batches
from tests.mmel_model.compare import compare
from tests.mmel_model.compare import crossentropy
from tests.mmel_model.compare import mlp
from tests.mmel_model.compare import sgd
from tests.mmel_model.reference import Reference

OBJECTIVES = {
    "hard": {"objective": "hard", "lambda_p": 0.5},
    "hardest": {"objective": "hard", "lambda_p": 0},
    "mean": {"objective": "hard", "lambda_p": math.inf},
    "soft": {"objective": "soft", "lambda_p": 0.3, "lambda_t": 0.7},
    "soft-through": {
        "objective": "soft",
        "lambda_p": 0.3,
        "lambda_t": 2.0,
        "stop_gradient": False,
    },
    "uniform": {"objective": "uniform"},
}
EVERY = pytest.mark.parametrize(
    "settings", list(OBJECTIVES.values()), ids=list(OBJECTIVES)
)
MAIN = pytest.mark.parametrize(
    "settings",
    [OBJECTIVES[name] for name in ("hard", "soft", "uniform")],
    ids=["hard", "soft", "uniform"],
)
NONUNIFORM = pytest.mark.parametrize(
    "settings",
    [OBJECTIVES[name] for name in ("hard", "soft", "soft-through")],
    ids=["hard", "soft", "soft-through"],
)


def teach(groups, seed=3):
    """Adds a teacher that often puts a view in another class."""
    rng = np.random.default_rng(seed)
    found = []
    for x, y in groups:
        shape = (*x["views"].shape[:2], CLASSES)
        teacher = rng.dirichlet([0.4] * CLASSES, shape[:2]).astype("float32")
        found.append((x, {"label": y, "teacher": teacher}))
    return found


def pad(groups, seed=4, padding=0.0):
    """Marks views other than the original as padding."""
    rng = np.random.default_rng(seed)
    found = []
    for x, y in groups:
        views = x["views"].copy()
        mask = rng.uniform(size=views.shape[:2]) < 0.6
        mask[:, 0] = True
        mask[0, 1:] = False
        views[~mask] = padding
        found.append(({"views": views, "mask": mask}, y))
    return found


def weigh(groups, seed=5):
    rng = np.random.default_rng(seed)
    return [
        (x, y, rng.uniform(0, 3, BATCH).astype("float32")) for x, y in groups
    ]


@EVERY
def test_objective(settings):
    compare(batches(), epochs=2, **settings)


@NONUNIFORM
def test_teacher(settings):
    compare(teach(batches()), **settings)


@MAIN
def test_mask_with_nan_in_padding(settings):
    compare(pad(batches(), padding=np.nan), **settings)


@NONUNIFORM
def test_teacher_with_mask_and_sample_weight(settings):
    compare(weigh(pad(teach(batches()), padding=np.inf)), **settings)


@pytest.mark.parametrize("objective", ["hard", "soft"])
def test_last_view_all_padding_equals_groups_without_it(objective):
    groups = batches(views=VIEWS - 1)
    padded = []
    for x, y in groups:
        nan = np.full((BATCH, 1, FEATURES), np.nan, "float32")
        mask = np.ones((BATCH, VIEWS), bool)
        mask[:, -1] = False
        views = np.concatenate([x["views"], nan], axis=1)
        padded.append(({"views": views, "mask": mask}, y))
    trained = []
    for data in (groups, padded):
        mmel = keras_mmel.MMELModel(mlp(), objective)
        mmel.compile(sgd(), crossentropy())
        for x, y in data:
            mmel.train_on_batch(x, y)
        trained.append(mmel.model)
    assert_same_weights(*trained)


@NONUNIFORM
def test_sample_weight(settings):
    compare(weigh(batches()), **settings)


@pytest.mark.parametrize(
    "settings", [OBJECTIVES["hard"], OBJECTIVES["soft"]], ids=["hard", "soft"]
)
def test_class_weight(settings):
    class_weight = {0: 0.5, 1: 2.0, 2: 1.25}
    weights = np.array([class_weight[c] for c in range(CLASSES)], "float32")
    groups = batches()
    weighted = [(x, y, weights[y]) for x, y in groups]
    compare(
        weighted,
        data=as_dataset(groups),
        fit={"class_weight": class_weight},
        **settings,
    )


@pytest.mark.parametrize(
    "settings", [OBJECTIVES["hard"], OBJECTIVES["soft"]], ids=["hard", "soft"]
)
def test_l2(settings):
    def build():
        return mlp(
            kernel_regularizer=keras.regularizers.L2(0.05),
            bias_regularizer=keras.regularizers.L2(0.1),
        )

    compare(batches(), build=build, **settings)


@pytest.mark.parametrize("teacher", [False, True], ids=["", "teacher"])
@pytest.mark.parametrize("objective", ["hard", "soft", "uniform"])
def test_regression(objective, teacher):
    def build():
        keras.utils.set_random_seed(2)
        return keras.Sequential(
            [keras.Input((FEATURES,)), keras.layers.Dense(1)]
        )

    rng = np.random.default_rng(0)
    groups = []
    for x, y in batches():
        label = rng.normal(size=(BATCH, 1)).astype("float32")
        y = label
        if teacher:
            values = rng.normal(size=(BATCH, VIEWS, 1)).astype("float32")
            y = {"label": label, "teacher": values}
        groups.append((x, y))
    compare(
        groups,
        objective,
        build=build,
        task="regression",
        optimizer=lambda: keras.optimizers.SGD(0.02),
    )


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize(
    "reduction", ["mean", "sum_over_batch_size", "sum", "weighted"]
)
def test_reduction(reduction, weighted):
    groups = weigh(batches()) if weighted else batches()
    named = {"weighted": "mean_with_sample_weight"}.get(reduction, reduction)
    of_reference = {"sum_over_batch_size": "mean"}.get(reduction, reduction)
    compare(
        groups,
        loss=crossentropy(reduction=named),
        reduction=of_reference,
        optimizer=lambda: keras.optimizers.SGD(0.03),
    )


def test_fit_after_fit_goes_on():
    first, second = batches(seed=0), batches(seed=1)
    expected, model = mlp(), mlp()
    optimizer = keras.optimizers.Adam
    reference = Reference(expected, optimizer(0.01), lambda_p=0.5)
    mmel = keras_mmel.MMELModel(model, keras_mmel.objectives.Hard(0.5))
    mmel.compile(optimizer(0.01), crossentropy())
    for data in (first, second):
        wanted = reference.fit(data)
        got = mmel.fit(as_dataset(data), verbose=0, shuffle=False).history
        assert_same_weights(model, expected)
        for key in wanted:
            assert_allclose(got[key], wanted[key], 1e-5, err_msg=key)


@NONUNIFORM
def test_train_on_batch(settings):
    settings = dict(settings)
    expected, model = mlp(), mlp()
    reference = Reference(expected, sgd(), **settings)
    objective = keras_mmel.objectives.get(settings["objective"])
    objective = type(objective)(
        **{k: v for k, v in settings.items() if k != "objective"}
    )
    mmel = keras_mmel.MMELModel(model, objective)
    mmel.compile(sgd(), crossentropy())
    for x, y, sample_weight in weigh(batches(2)):
        wanted = reference.fit([(x, y, sample_weight)])
        mmel.reset_metrics()
        got = mmel.train_on_batch(x, y, sample_weight, return_dict=True)
        assert_same_weights(model, expected)
        for key in wanted:
            assert_allclose(got[key], wanted[key][0], 1e-5, err_msg=key)


def test_uneven_last_batch_and_running_means():
    groups = batches(3, last=2)
    compare(groups, "hard", lambda_p=0.5, epochs=2)
    compare(groups, "soft", lambda_p=0.5, epochs=2)
