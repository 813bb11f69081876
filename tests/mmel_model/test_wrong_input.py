"""What `fit` refuses, at the first batch, and in which words."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_equal

import keras_mmel
from tests import cases
from tests.cases import VIEWS
from tests.cases import Case
from tests.networks import CLASSES
from tests.networks import FEATURES

BATCH = 5
X = np.random.default_rng(0).normal(size=(BATCH, VIEWS, FEATURES))
X = X.astype("float32")
Y = np.arange(BATCH) % CLASSES
TEACHER = np.full((BATCH, VIEWS, CLASSES), 1 / CLASSES, "float32")
MASK = np.ones((BATCH, VIEWS), bool)
NO_ORIGINAL = MASK.copy()
NO_ORIGINAL[2, 0] = False
# At the first trace, or in the step that runs.
ANY = (ValueError, tf.errors.InvalidArgumentError)


def compiled(objective="hard", **settings):
    return cases.compiled(Case(objective, compile=settings))


def refused(mmel, x, y, message, sample_weight=None, error=ValueError):
    """Every road into training refuses, before a weight has changed."""
    before = mmel.model.get_weights()
    data = tuple(part for part in (x, y, sample_weight) if part is not None)
    with pytest.raises(error, match=message):
        mmel.train_on_batch(x, y, sample_weight)
    with pytest.raises(error, match=message):
        data = data if y is not None else x
        mmel.fit(tf.data.Dataset.from_tensors(data).repeat(3), verbose=0)
    assert_equal(mmel.model.get_weights(), before)


def taught(teacher, label=Y):
    return {"label": label, "teacher": teacher}


ONE_HOT = np.eye(CLASSES, dtype="float32")[Y]
GROUPS = {"views": X}
SHAPE = r"(?i)teacher.*must have shape.*Received: teacher.shape="
# Objective, x, y, words of the message, sample weight. `test_contract.py` and
# `losses` have more of each kind.
REFUSED = {
    "array": ("hard", X, Y, '`fit` takes groups: .*"views".*Received'),
    "mask_key": (
        "hard",
        {"views": X, "Mask": MASK},
        Y,
        "`fit` takes groups: .*Received: x={.*'Mask'",
    ),
    "one_view": ("soft", {"views": X[:, :1]}, Y, "at least 2 views.*Received"),
    "teacher_per_example": ("hard", GROUPS, taught(TEACHER[:, 0]), SHAPE),
    "a_class_less": ("soft", GROUPS, taught(TEACHER[..., 1:]), SHAPE),
    "teacher_alone": (
        "hard",
        GROUPS,
        {"teacher": TEACHER},
        'y must be {"label": labels, "teacher": predictions}.*Received',
    ),
    "views_and_label": (
        "hard",
        GROUPS,
        {"views": np.stack([Y] * VIEWS, 1), "label": Y},
        'where labels move, {"views": labels} alone.*Received',
    ),
    "one_hot": ("hard", GROUPS, ONE_HOT, "one label for each example"),
    "short": ("hard", GROUPS, Y[:-1], "shared by the views.*batch=5"),
    "text": ("hard", GROUPS, np.array(["a"] * BATCH), "must be numbers"),
    "none": ("hard", GROUPS, None, "needs labels.*Received: y=None"),
    "weight": ("hard", GROUPS, Y, "one weight per example", np.ones(X.shape)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_match_is_refused(name):
    objective, *rest = REFUSED[name]
    refused(compiled(objective), *rest)


@pytest.mark.parametrize(
    "objective", ["soft", pytest.param("hard", marks=pytest.mark.slow)]
)
def test_teacher_predictions_that_are_no_probabilities(objective):
    for wrong in (-0.1, 1.1):
        teacher = TEACHER.copy()
        teacher[1, 2, 0] = wrong
        message = "must be probabilities, from 0 to 1"
        refused(
            compiled(objective), GROUPS, taught(teacher), message, error=ANY
        )
    # Half precision may round them to a little more than 1.
    rounded = np.zeros_like(TEACHER)
    rounded[..., 0] = 1.0005
    log = compiled(objective).train_on_batch(
        GROUPS, taught(rounded), return_dict=True
    )
    assert np.isfinite(log["loss"])


def test_ragged_groups():
    ragged = tf.ragged.constant([[[0.0] * FEATURES] * n for n in (2, 3)], 1)
    dataset = tf.data.Dataset.from_tensors(({"views": ragged}, Y[:2]))
    with pytest.raises(ValueError, match="must be dense.*mask.*RaggedTensor"):
        compiled().fit(dataset, verbose=0)


def test_arrays_that_keras_would_change_first():
    """`fit` itself looks at what does not reach the step as it was."""
    mmel = compiled()
    text = np.array(["a"] * BATCH)
    with pytest.raises(ValueError, match="Labels must be numbers"):
        mmel.fit({"views": X}, text, verbose=0)
    weight = np.ones((BATCH, 2), "float32")
    with pytest.raises(ValueError, match="sample_weight.shape=.*, 2"):
        mmel.fit({"views": X}, Y, sample_weight=weight, verbose=0)
    moving = {"views": np.stack([Y] * VIEWS, 1)}
    with pytest.raises(ValueError, match="sample_weight.shape=.*, 2"):
        mmel.fit({"views": X}, moving, sample_weight=weight, verbose=0)


def test_after_a_refused_fit_the_next_one_trains():
    mmel = compiled()
    with pytest.raises(ValueError, match="one label for each example"):
        mmel.fit(GROUPS, ONE_HOT, verbose=0)
    log = mmel.fit(GROUPS, Y, verbose=0).history
    assert log == compiled().fit(GROUPS, Y, verbose=0).history
    with pytest.raises(ValueError, match="`class_weight` cannot.*Received"):
        mmel.fit({"views": X}, taught(TEACHER), class_weight={0: 2}, verbose=0)


@pytest.mark.parametrize("eagerly", [False, True], ids=["graph", "eager"])
def test_original_marked_as_padding(eagerly):
    refused(
        compiled("soft", run_eagerly=eagerly),
        {"views": X, "mask": NO_ORIGINAL},
        Y,
        "(?s)first view of a group is the original",
        error=ANY,
    )


def test_original_marked_as_padding_under_xla():
    """XLA has no assertions: there, the loss says it."""
    mmel = compiled(jit_compile=True)
    try:
        log = mmel.train_on_batch(
            {"views": X, "mask": NO_ORIGINAL}, Y, return_dict=True
        )
    except tf.errors.InvalidArgumentError:
        return
    assert np.isnan(log["loss"])


def test_teacher_predictions_that_are_logits_under_xla():
    mmel = compiled(jit_compile=True)
    y = taught(10 * TEACHER)
    log = mmel.train_on_batch(GROUPS, y, return_dict=True)
    assert np.isnan(log["loss"])


# Sizes that only the step knows

UNKNOWN = {
    "one_view": ("soft", (X[:, :1], Y)),
    "labels": ("hard", (X, Y[:-1])),
    "one_label": ("hard", (X, Y[:1])),
    "one_label_one_view": ("hard", (X[:, :1], Y[:1])),
    "teacher_views": ("hard", (X, Y, TEACHER[:, 1:])),
    "teacher_batch": ("soft", (X, Y, TEACHER[:1])),
    "teacher_transposed": ("hard", (X, Y, np.swapaxes(TEACHER, 0, 1))),
}


def of_unknown_sizes(views, label, teacher=None):
    y = label if teacher is None else taught(teacher, label)
    return cases.of_unknown_sizes([({"views": views}, y)])


@pytest.mark.parametrize("with_teacher", [False, True])
@pytest.mark.parametrize("objective", ["hard", "soft"])
def test_sizes_that_are_known_only_at_run_time(objective, with_teacher):
    mmel = compiled(objective)
    before = mmel.model.get_weights()
    right = (X, Y, TEACHER) if with_teacher else (X, Y)
    for wanted, data in UNKNOWN.values():
        if wanted != objective or len(data) != len(right):
            continue
        with pytest.raises(ANY):
            mmel.fit(of_unknown_sizes(*data), verbose=0)
        assert_equal(mmel.model.get_weights(), before)
    # The same function takes the right sizes.
    log = mmel.fit(of_unknown_sizes(*right), verbose=0).history
    assert np.isfinite(log["loss"][0])


def test_one_view_that_only_the_step_sees_is_named():
    with pytest.raises(ANY, match="needs groups of at least 2 views"):
        compiled("soft").fit(of_unknown_sizes(X[:, :1], Y), verbose=0)


def test_one_value_does_not_become_that_of_every_example():
    """A squared error would spread it over them, and train."""
    mmel = cases.compiled(Case(regression=True))
    before = mmel.model.get_weights()
    with pytest.raises(ANY):
        mmel.fit(of_unknown_sizes(X[:, :1], np.ones((1, 1))), verbose=0)
    assert_equal(mmel.model.get_weights(), before)


def test_group_axes_that_differ():
    case = Case(model="functional")
    mmel = cases.compiled(case)
    views = cases.inputs(case, (4, 6))
    short = {"views": {**views, "tokens": views["tokens"][:, 1:]}}
    message = "same number of views.*Received"
    with pytest.raises(ValueError, match=message):
        mmel.fit(short, Y[:4], verbose=0)
    with pytest.raises(ValueError, match=message):
        mmel.view_weights(short, Y[:4])
    # Both flat batches have 24 rows, but of different examples.
    tokens = cases.inputs(case, (6, 4))["tokens"]
    data = of_unknown_sizes({**views, "tokens": tokens}, Y[:4])
    with pytest.raises(ANY):
        mmel.fit(data, verbose=0)


# Groups where plain examples belong, and the other way round


def test_groups_where_plain_examples_belong():
    mmel, x = compiled(), {"views": X}
    before = mmel.model.get_weights()
    for call in (
        lambda: mmel.evaluate(x, Y, verbose=0),
        lambda: mmel.predict(x, verbose=0),
        lambda: mmel.test_on_batch(x, Y),
        lambda: mmel.predict_on_batch(x),
        lambda: mmel.fit(x, Y, validation_data=(x, Y), verbose=0),
        lambda: mmel.fit(x, Y, validation_split=0.4, verbose=0),
    ):
        with pytest.raises(ValueError, match="take plain.*not groups.*Receive"):
            call()
    # No weight has moved, and nothing else is left behind.
    assert_equal(mmel.model.get_weights(), before)
    mmel.fit(x, Y, verbose=0)
    assert mmel.predict(X[:, 0], verbose=0).shape == (BATCH, CLASSES)


def test_view_weights_checks_as_fit_does():
    mmel = compiled()
    for x, y, message in (
        (X, Y, "`fit` takes groups"),
        ({"views": X}, None, "Training needs labels"),
        ({"views": X}, ONE_HOT, r"shape \(batch\)"),
        ({"views": X}, Y[:3], r"batch=5.*y.shape=\(3,\)"),
    ):
        with pytest.raises(ValueError, match=f"(?s){message}"):
            mmel.view_weights(x, y)


def test_uncompiled():
    mmel = keras_mmel.MMELModel(cases.build(Case()))
    with pytest.raises(ValueError, match=r"compile\(\)"):
        mmel.fit({"views": X}, Y, verbose=0)
    with pytest.raises(ValueError, match=r"compile\(\)"):
        mmel.view_weights({"views": X}, Y)
    mmel.model.compile("sgd", "mse")
    methods = ("fit", "evaluate", "view_weights", "evaluate_views")
    for method in map(mmel.__getattribute__, methods):
        with pytest.raises(ValueError, match=r"`compile\(\)` of the `MMELM"):
            method({"views": X}, Y)
    mmel.compile("sgd")
    with pytest.raises(ValueError, match="No loss to compute"):
        mmel.fit({"views": X}, Y, verbose=0)


def test_settings_of_an_objective():
    with pytest.raises(TypeError, match=r"objectives.Hard.*\['lambda_p'\]"):
        keras_mmel.MMELModel(cases.build(Case()), "hard", lambda_p=0.5)


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_empty_data():
    empty = tf.data.Dataset.from_tensors(({"views": X}, Y)).take(0)
    for data in ((empty,), ({"views": X[:0]}, Y[:0])):
        with pytest.raises(ValueError, match="`x` is empty.*Received"):
            compiled().fit(*data, verbose=0)


# The wrapper itself


def test_what_cannot_be_wrapped():
    model = cases.build(Case())
    for objective in ("Hard", "mmel", None, 1.0, keras_mmel.objectives.Hard):
        with pytest.raises(ValueError, match="`objective` must be .*Received"):
            keras_mmel.MMELModel(model, objective)
    for other in (None, "model", keras.layers.Dense, keras.Model):
        with pytest.raises(TypeError, match="`model` must be .*Received"):
            keras_mmel.MMELModel(other)
    with pytest.raises(TypeError, match="not a wrapper"):
        keras_mmel.MMELModel(keras_mmel.MMELModel(model))


def test_an_input_called_views():
    views = keras.Input((FEATURES,), name="views")
    model = keras.Model({"views": views}, keras.layers.Dense(1)(views))
    with pytest.raises(ValueError, match=r"may be called.*\['views'\]"):
        keras_mmel.MMELModel(model)
