"""What is refused, at the first batch, and in which words."""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_mmel
from keras_mmel import objectives
from tests.mmel_model import registry
from tests.mmel_model.compare import BATCH
from tests.mmel_model.compare import CLASSES
from tests.mmel_model.compare import FEATURES
from tests.mmel_model.compare import VIEWS
from tests.mmel_model.compare import as_dataset
from tests.mmel_model.compare import batches
from tests.mmel_model.compare import crossentropy
from tests.mmel_model.compare import mlp
from tests.mmel_model.compare import sgd

X = np.random.default_rng(0).normal(size=(BATCH, VIEWS, FEATURES))
X = X.astype("float32")
Y = np.arange(BATCH) % CLASSES
TEACHER = np.full((BATCH, VIEWS, CLASSES), 1 / CLASSES, "float32")
MASK = np.ones((BATCH, VIEWS), bool)


def compiled(objective="hard", loss=None, **options):
    mmel = keras_mmel.MMELModel(mlp(), objective)
    mmel.compile(sgd(), loss or crossentropy(), **options)
    return mmel


def taught(teacher, label=Y):
    return {"label": label, "teacher": teacher}


def refused(mmel, x, y, message, sample_weight=None, error=ValueError):
    """Every road into training refuses, before a weight has changed."""
    mmel.model.build((None, FEATURES))
    before = [weight.numpy() for weight in mmel.model.weights]
    data = (x, y) if sample_weight is None else (x, y, sample_weight)
    with pytest.raises(error, match=message):
        mmel.train_on_batch(*data)
    with pytest.raises(error, match=message):
        data = data if y is not None else x
        dataset = tf.data.Dataset.from_tensors(data)
        mmel.fit(dataset.repeat(3), verbose=0)
    for weight, old in zip(mmel.model.weights, before, strict=True):
        assert np.array_equal(weight.numpy(), old)


CONTRACT = r"`fit` takes groups: .*\"views\".*Received"


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (X, CONTRACT),
        (X[:, 0], CONTRACT),
        ({"view": X}, CONTRACT),
        ({"views": X, "weights": MASK}, r"unknown keys \['weights'\]"),
        ({"views": X, "Mask": MASK}, r"unknown keys \['Mask'\]"),
        ({"views": Y.astype("float32")}, CONTRACT),
        ({"views": X[:, :0]}, "same number of views, at least 1"),
        ({"views": X, "mask": MASK[:, 1:]}, '"mask" must have shape'),
        ({"views": X, "mask": MASK[..., None]}, '"mask" must have shape'),
        ({"views": X, "mask": MASK[:, 0]}, '"mask" must have shape'),
    ],
    ids=str,
)
def test_structure_of_x(x, message):
    refused(compiled(), x, Y, message)


def test_group_axes_that_differ_between_inputs():
    kind = registry.KINDS["functional"]
    views = kind.inputs(np.random.default_rng(0), (BATCH, VIEWS))
    views["tokens"] = views["tokens"][:, 1:]
    mmel = keras_mmel.MMELModel(kind.build())
    mmel.compile(sgd(), crossentropy())
    message = "same number of views.*Received"
    with pytest.raises(ValueError, match=message):
        mmel.fit({"views": views}, Y, verbose=0)
    with pytest.raises(ValueError, match=message):
        mmel.view_weights({"views": views}, Y)


def test_one_view_with_the_soft_objective():
    refused(
        compiled("soft"), {"views": X[:, :1]}, Y, "at least 2 views.*Received"
    )


@pytest.mark.parametrize("objective", ["hard", "soft"])
@pytest.mark.parametrize(
    "teacher",
    [
        TEACHER[:, 0],
        TEACHER[..., 0],
        TEACHER[..., 1:],
        TEACHER[:, 1:],
        TEACHER[:1],
        TEACHER[..., None],
    ],
    ids=lambda teacher: str(teacher.shape),
)
def test_teacher_of_the_wrong_shape(objective, teacher):
    refused(
        compiled(objective),
        {"views": X},
        taught(teacher),
        r"(?i)teacher.*must have shape.*Received: teacher.shape=",
    )


ONE_HOT = np.eye(CLASSES, dtype="float32")[Y]


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        (crossentropy(), ONE_HOT, "one label for each example"),
        (crossentropy(), np.tile(Y[:, None], VIEWS), "one label for each"),
        ("categorical_crossentropy", Y, "one label for each example"),
        ("mse", ONE_HOT[:, :2], "one label for each example"),
        ("mse", ONE_HOT[:, None], "one label for each example"),
        ("mse", np.zeros((BATCH, 1)), "one label for each example"),
        ("mae", Y.astype("float32"), "one label for each example"),
        (crossentropy(), Y[:-1], "shared by the views.*batch=5"),
        (crossentropy(), np.repeat(Y, VIEWS), "shared by the views.*batch=5"),
        (crossentropy(), np.array(["a"] * BATCH), "Labels must be numbers"),
        (crossentropy(), None, "needs labels.*Received: y=None"),
    ],
)
def test_labels_that_do_not_match(loss, y, message):
    refused(compiled(loss=loss), {"views": X}, y, message)


@pytest.mark.parametrize(
    "sample_weight", [np.ones((BATCH, VIEWS)), np.ones((BATCH, 1, 1))], ids=str
)
def test_sample_weight_of_the_wrong_shape(sample_weight):
    refused(
        compiled(), {"views": X}, Y, "one weight per example", sample_weight
    )


def test_ragged_groups():
    ragged = tf.ragged.constant(
        [[[0.0] * FEATURES] * n for n in (2, 3)], ragged_rank=1
    )
    dataset = tf.data.Dataset.from_tensors(({"views": ragged}, Y[:2]))
    with pytest.raises(ValueError, match="must be dense.*mask.*RaggedTensor"):
        compiled().fit(dataset, verbose=0)


@pytest.mark.parametrize("eagerly", [False, True], ids=["graph", "eager"])
@pytest.mark.parametrize("objective", ["hard", "soft"])
def test_original_marked_as_padding(objective, eagerly):
    mask = MASK.copy()
    mask[2, 0] = False
    refused(
        compiled(objective, run_eagerly=eagerly),
        {"views": X, "mask": mask},
        Y,
        "(?s)first view of a group is the original",
        error=(ValueError, tf.errors.InvalidArgumentError),
    )


@pytest.mark.parametrize("objective", ["hard", "soft"])
def test_original_marked_as_padding_under_xla(objective):
    """XLA has no assertions: there, the loss says it."""
    mask = MASK.copy()
    mask[2, 0] = False
    mmel = compiled(objective, jit_compile=True)
    try:
        log = mmel.train_on_batch(
            {"views": X, "mask": mask}, Y, return_dict=True
        )
    except tf.errors.InvalidArgumentError:
        return
    assert np.isnan(log["loss"])


def generated(example, signature):
    """A dataset of one batch; Keras warns where it cannot know how many."""
    dataset = tf.data.Dataset.from_generator(
        lambda: iter([example]), output_signature=signature
    )
    return dataset.apply(tf.data.experimental.assert_cardinality(1))


def of_unknown_size(views, label, teacher=None):
    """A dataset that does not know its batch size and number of views."""
    y, shape = label, tf.TensorSpec((None,), label.dtype)
    if teacher is not None:
        y = taught(teacher, label)
        shape = taught(tf.TensorSpec((None, None, CLASSES), "float32"), shape)
    spec = tf.TensorSpec((None, None, FEATURES), "float32")
    return generated(({"views": views}, y), ({"views": spec}, shape))


RUNTIME = (ValueError, tf.errors.InvalidArgumentError)
UNKNOWN = {
    "one-view": ("soft", (X[:, :1], Y)),
    "labels": ("hard", (X, Y[:-1])),
    "one-label": ("hard", (X, Y[:1])),
    "one-label-one-view": ("hard", (X[:, :1], Y[:1])),
    "teacher-views": ("hard", (X, Y, TEACHER[:, 1:])),
    "teacher-batch": ("soft", (X, Y, TEACHER[:1])),
    "teacher-transposed": ("hard", (X, Y, np.swapaxes(TEACHER, 0, 1))),
}


@pytest.mark.parametrize("name", list(UNKNOWN))
def test_sizes_that_are_known_only_at_run_time(name):
    objective, data = UNKNOWN[name]
    mmel = compiled(objective)
    before = [weight.numpy() for weight in mmel.model.weights]
    with pytest.raises(RUNTIME):
        mmel.fit(of_unknown_size(*data), verbose=0)
    for weight, old in zip(mmel.model.weights, before, strict=True):
        assert np.array_equal(weight.numpy(), old)
    # The same function takes the right sizes.
    right = (X, Y, TEACHER)[: len(data)]
    log = mmel.fit(of_unknown_size(*right), verbose=0).history
    assert np.isfinite(log["loss"][0])


def test_one_label_that_would_broadcast():
    """A squared error would compare every example with it."""
    label = np.zeros((1, CLASSES), "float32")
    signature = (
        {"views": tf.TensorSpec((None, None, FEATURES), "float32")},
        tf.TensorSpec((None, CLASSES), "float32"),
    )
    dataset = generated(({"views": X[:, :1]}, label), signature)
    with pytest.raises(RUNTIME):
        compiled(loss="mse").fit(dataset, verbose=0)


def test_group_axes_that_differ_at_run_time():
    kind = registry.KINDS["functional"]
    mmel = keras_mmel.MMELModel(kind.build())
    mmel.compile(sgd(), crossentropy())
    views = kind.inputs(np.random.default_rng(0), (4, 6))
    tokens = kind.inputs(np.random.default_rng(0), (6, 4))["tokens"]
    views = {**views, "tokens": tokens}
    specification = tf.nest.map_structure(
        lambda leaf: tf.TensorSpec((None, None, leaf.shape[2]), leaf.dtype),
        views,
    )
    signature = ({"views": specification}, tf.TensorSpec((None,), Y.dtype))
    dataset = generated(({"views": views}, Y[:4]), signature)
    # Both flat batches have 24 rows, but of different examples.
    with pytest.raises(RUNTIME):
        mmel.fit(dataset, verbose=0)


PLAIN = "take plain examples, not groups.*Received"


def test_groups_where_plain_examples_belong():
    mmel = compiled()
    before = [weight.numpy() for weight in mmel.model.weights]
    x = {"views": X}
    with pytest.raises(ValueError, match=PLAIN):
        mmel.evaluate(x, Y, verbose=0)
    with pytest.raises(ValueError, match=PLAIN):
        mmel.predict(x, verbose=0)
    with pytest.raises(ValueError, match=PLAIN):
        mmel.test_on_batch(x, Y)
    with pytest.raises(ValueError, match=PLAIN):
        mmel.predict_on_batch(x)
    with pytest.raises(ValueError, match=PLAIN):
        mmel.fit(x, Y, validation_data=(x, Y), verbose=0)
    with pytest.raises(ValueError, match=PLAIN):
        mmel.fit(x, Y, validation_split=0.4, verbose=0)
    # No weight has moved, and nothing else is left behind.
    for weight, old in zip(mmel.model.weights, before, strict=True):
        assert np.array_equal(weight.numpy(), old)
    mmel.fit(x, Y, verbose=0)
    assert mmel.predict(X[:, 0], verbose=0).shape == (BATCH, CLASSES)


def test_uncompiled():
    mmel = keras_mmel.MMELModel(mlp())
    with pytest.raises(ValueError, match=r"compile\(\)"):
        mmel.fit({"views": X}, Y, verbose=0)
    with pytest.raises(ValueError, match=r"compile\(\)"):
        mmel.view_weights({"views": X}, Y)
    mmel.compile(sgd())
    with pytest.raises(ValueError, match="No loss to compute"):
        mmel.fit({"views": X}, Y, verbose=0)


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_empty_data():
    empty = as_dataset(batches(1)).take(0)
    with pytest.raises(ValueError, match="(?i)empty|no data|at least one"):
        compiled().fit(empty, verbose=0)
    with pytest.raises(ValueError, match="(?i)empty|no data|at least one"):
        compiled().fit({"views": X[:0]}, Y[:0], verbose=0)


@pytest.mark.parametrize("lambda_p", [-1.0, -1e-9, math.nan, -math.inf, "1"])
@pytest.mark.parametrize("cls", [objectives.Hard, objectives.Soft])
def test_lambda_p(cls, lambda_p):
    with pytest.raises(ValueError, match="`lambda_p` must be .*Received"):
        cls(lambda_p=lambda_p)


@pytest.mark.parametrize("lambda_t", [0, -1.0, math.nan, math.inf, None])
def test_lambda_t(lambda_t):
    with pytest.raises(ValueError, match="`lambda_t` must be .*Received"):
        objectives.Soft(lambda_t=lambda_t)


@pytest.mark.parametrize(
    "objective", ["Hard", "mmel", None, 1.0, objectives.Hard]
)
def test_unknown_objective(objective):
    with pytest.raises(ValueError, match="`objective` must be .*Received"):
        keras_mmel.MMELModel(mlp(), objective)


@pytest.mark.parametrize(
    "model", [None, "model", keras.layers.Dense, keras.Model], ids=str
)
def test_not_a_model(model):
    with pytest.raises(TypeError, match="`model` must be .*Received"):
        keras_mmel.MMELModel(model)


def test_wrapped_twice():
    with pytest.raises(ValueError, match="not a wrapper"):
        keras_mmel.MMELModel(keras_mmel.MMELModel(mlp()))


def test_export_of_a_model_that_was_never_built(tmp_path):
    mmel = keras_mmel.MMELModel(registry.Subclassed())
    with pytest.raises(ValueError, match="not yet been built"):
        mmel.export(tmp_path / "exported")
    assert not (tmp_path / "exported").exists()
