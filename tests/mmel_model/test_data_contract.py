"""The forms in which groups and plain examples may come."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose
from numpy.testing import assert_array_equal

import keras_mmel
from tests.mmel_model import registry
from tests.mmel_model.compare import BATCH
from tests.mmel_model.compare import CLASSES
from tests.mmel_model.compare import FEATURES
from tests.mmel_model.compare import VIEWS
from tests.mmel_model.compare import as_dataset
from tests.mmel_model.compare import assert_same_weights
from tests.mmel_model.compare import batches
from tests.mmel_model.compare import crossentropy
from tests.mmel_model.compare import mlp
from tests.mmel_model.compare import sgd
from tests.mmel_model.reference import Reference


def compiled(objective="hard", learning_rate=0.1, model=None):
    mmel = keras_mmel.MMELModel(model or mlp(), objective)
    optimizer = keras.optimizers.SGD(learning_rate)
    mmel.compile(optimizer, crossentropy(), metrics=["accuracy"])
    return mmel


def full_batches(count=3, last=2):
    """Everything that a batch can hold."""
    rng = np.random.default_rng(9)
    found = []
    for x, y in batches(count, last=last):
        mask = rng.uniform(size=x["views"].shape[:2]) < 0.7
        mask[:, 0] = True
        teacher = rng.dirichlet([0.4] * CLASSES, mask.shape).astype("float32")
        weight = rng.uniform(0, 2, len(y)).astype("float32")
        found.append(
            ({**x, "mask": mask}, {"label": y, "teacher": teacher}, weight)
        )
    return found


class Sequence(keras.utils.PyDataset):
    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def __len__(self):
        return len(self.groups)

    def __getitem__(self, index):
        return self.groups[index]


def whole(groups):
    return tf.nest.map_structure(lambda *v: np.concatenate(v), *groups)


def unknown_batch_and_views(groups):
    """A dataset that knows only the ranks, as one of ragged sizes would."""
    signature = tf.nest.map_structure(
        lambda leaf: tf.TensorSpec([None] * leaf.ndim, leaf.dtype), groups[0]
    )
    leaves = tf.nest.flatten(signature[0]["views"])
    views = tf.TensorSpec((None, None, FEATURES), leaves[0].dtype)
    signature[0]["views"] = views
    teacher = tf.TensorSpec((None, None, CLASSES), "float32")
    signature[1]["teacher"] = teacher
    dataset = tf.data.Dataset.from_generator(
        lambda: iter(groups), output_signature=signature
    )
    # Keras warns where it cannot know how many batches there are.
    return dataset.apply(tf.data.experimental.assert_cardinality(len(groups)))


def fit_arrays(mmel, groups):
    x, y, sample_weight = whole(groups)
    mmel.fit(
        x,
        y,
        sample_weight=sample_weight,
        batch_size=BATCH,
        shuffle=False,
        verbose=0,
    )


FORMS = {
    "dataset": lambda mmel, groups: mmel.fit(as_dataset(groups), verbose=0),
    "unknown": lambda mmel, groups: mmel.fit(
        unknown_batch_and_views(groups), verbose=0
    ),
    "arrays": fit_arrays,
    "sequence": lambda mmel, groups: mmel.fit(
        Sequence(groups), shuffle=False, verbose=0
    ),
    "generator": lambda mmel, groups: mmel.fit(
        (group for group in groups),
        steps_per_epoch=3,
        shuffle=False,
        verbose=0,
    ),
    "batches": lambda mmel, groups: [
        mmel.train_on_batch(*group) for group in groups
    ],
}


@pytest.fixture(scope="module")
def expected():
    """The model that the reference trained on the batches."""
    model = mlp()
    Reference(model, sgd(), "soft").fit(full_batches())
    return model


@pytest.mark.parametrize("form", list(FORMS))
def test_form_of_groups(form, expected):
    mmel = compiled("soft")
    FORMS[form](mmel, full_batches())
    assert_same_weights(mmel.model, expected)


def test_shuffling_arrays_keeps_the_views_of_an_example_together():
    groups = batches(4, views=3)
    expected = Reference(mlp(), sgd(), lambda_p=0.2)
    expected.optimizer.learning_rate = 0.0
    wanted = expected.fit(groups)
    x, y = whole(groups)
    mmel = compiled(keras_mmel.objectives.Hard(0.2), learning_rate=0.0)
    got = mmel.fit(x, y, batch_size=3, epochs=2, verbose=0).history
    for key, value in wanted.items():
        assert_allclose(got[key], value * 2, 1e-5, err_msg=key)


def test_nested_inputs_as_arrays():
    kind = registry.KINDS["functional"]
    rng = np.random.default_rng(0)
    views = kind.inputs(rng, (6, VIEWS))
    y = rng.integers(0, CLASSES, 6)
    trained = []
    for reverse in (False, True):
        keras.utils.set_random_seed(1)
        mmel = compiled("soft", model=kind.build())
        given = dict(reversed(views.items())) if reverse else views
        mmel.fit({"views": given}, y, batch_size=3, shuffle=False, verbose=0)
        trained.append(mmel.model)
    assert_same_weights(*trained, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", ["float64", "uint8", "int32", "float16"])
def test_views_of_other_types_train_as_what_the_model_casts_them_to(dtype):
    rng = np.random.default_rng(0)
    views = rng.integers(0, 4, (5, 3, FEATURES))
    y = rng.integers(0, CLASSES, 5)
    trained = []
    for kind in ("float32", dtype):
        mmel = compiled("hard")
        mmel.train_on_batch({"views": views.astype(kind)}, y)
        trained.append(mmel.model)
    assert_same_weights(*trained)


PLAIN = {
    "arrays": lambda x, y: (x, y),
    "dataset": lambda x, y: (
        tf.data.Dataset.from_tensor_slices((x, y)).batch(4),
    ),
    "sequence": lambda x, y: (
        Sequence([(x[:4], y[:4]), (x[4:8], y[4:8]), (x[8:], y[8:])]),
    ),
}


@pytest.mark.parametrize("form", list(PLAIN))
def test_plain_examples_before_and_after_training(form):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(10, FEATURES)).astype("float32")
    y = rng.integers(0, CLASSES, 10)
    given = PLAIN[form](x, y)
    mmel = compiled("soft")

    def check():
        logits = mmel.model(x).numpy()
        got = mmel.predict(given[0], verbose=0)
        assert_allclose(got, logits, 1e-5, 1e-6)
        losses = np.log(np.exp(logits).sum(1)) - logits[np.arange(10), y]
        scores = mmel.evaluate(*given, verbose=0, return_dict=True)
        assert_allclose(scores["loss"], losses.mean(), 1e-5)
        assert_allclose(scores["accuracy"], (logits.argmax(1) == y).mean())
        return losses.mean()

    first = check()
    validation = given[0] if len(given) == 1 else given
    log = mmel.fit(
        as_dataset(batches()), validation_data=validation, verbose=0
    ).history
    second = check()
    assert first != second
    assert_allclose(log["val_loss"], second, 1e-5)
    assert_array_equal(
        mmel.predict_on_batch(x[:4]), mmel.model.predict_on_batch(x[:4])
    )


def test_plain_examples_with_sample_weight():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(6, FEATURES)).astype("float32")
    y = rng.integers(0, CLASSES, 6)
    weight = rng.uniform(0, 2, 6)
    mmel = compiled()
    logits = mmel.model(x).numpy()
    losses = np.log(np.exp(logits).sum(1)) - logits[np.arange(6), y]
    wanted = np.mean(weight * losses)
    log = mmel.fit(
        as_dataset(batches(1)),
        epochs=1,
        verbose=0,
        validation_data=(x, y, weight),
    ).history
    assert log["val_loss"][0] != wanted
    mmel = compiled()
    got = mmel.evaluate(x, y, 4, 0, sample_weight=weight, return_dict=True)
    assert_allclose(got["loss"], wanted, 1e-5)
