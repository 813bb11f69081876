"""What Keras expects of a model beyond training it."""

import keras
import numpy as np
import pytest
from numpy.testing import assert_equal

import keras_mmel
from keras_mmel.training import wrapped
from tests import cases
from tests import networks
from tests import older
from tests.cases import Case


def stepped(model, objective="hard"):
    mmel = keras_mmel.MMELModel(model, objective)
    mmel.compile("sgd", **cases.settings(Case()))
    return mmel


# Building


@pytest.mark.parametrize(
    "name", ["unbuilt", "functional", "subclassed", "without_training"]
)
def test_weights_are_loaded_or_an_error_says_why(name, tmp_path):
    case = Case(model=name)
    trained, path = cases.compiled(case), tmp_path / "file.weights.h5"
    cases.fit(trained, case)
    trained.save_weights(path)
    fresh = networks.MODELS[name][0](networks.CLASSES)
    mmel = keras_mmel.MMELModel(fresh)
    shapes = keras.tree.map_structure(
        lambda leaf: (None, *leaf.shape[1:]), cases.inputs(case, (1,))
    )
    mmel.build(shapes)
    assert mmel.built == (name != "subclassed")
    if name == "subclassed":
        # It has no `build`: only a call can make its weights.
        with pytest.raises(ValueError, match="not yet been built"):
            mmel.load_weights(path)
        mmel(cases.inputs(case, (1,)))
    mmel.load_weights(path)
    assert_equal(mmel.get_weights(), trained.get_weights())


def test_being_built_is_asked_of_the_wrapped_model():
    for build in (
        lambda mmel: mmel.model.build((None, networks.FEATURES)),
        lambda mmel: mmel.model(np.zeros((1, networks.FEATURES))),
        lambda mmel: mmel(np.zeros((1, networks.FEATURES))),
        lambda mmel: mmel({"views": np.zeros((1, 2, networks.FEATURES))}),
    ):
        mmel = keras_mmel.MMELModel(networks.MODELS["unbuilt"][0]())
        assert not mmel.built
        build(mmel)
        assert mmel.built and len(mmel.weights) == 4
    clone = keras.models.clone_model(mmel.model)
    assert keras_mmel.MMELModel(clone).built


# Weights: `lambda_p` is none


def test_lambda_p_is_not_among_the_weights():
    hard, uniform = (
        stepped(cases.build(Case()), name) for name in ("hard", "uniform")
    )
    hard.lambda_p = 3.0
    uniform.set_weights(hard.get_weights())
    other = stepped(cases.build(Case()), keras_mmel.objectives.Soft(0.5))
    other.set_weights(uniform.get_weights())
    uniform.set_state_tree(hard.get_state_tree())
    assert other.lambda_p == 0.5
    assert "lambda_p" not in str(hard.get_state_tree())
    assert hard.count_params() == hard.model.count_params()


# The log


def test_evaluating_during_an_epoch_leaves_its_log_alone():
    case = Case("hard", examples=12)
    x, y = cases.plain_examples(case)

    class Evaluates(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            # Within the epoch, and after its last batch.
            self.model.evaluate(x, y, verbose=0)

    log = cases.fit(cases.compiled(case), case, callbacks=[Evaluates()])
    undisturbed = cases.fit(cases.compiled(case), case)
    assert log.keys() == undisturbed.keys()
    for name, values in undisturbed.items():
        np.testing.assert_allclose(log[name], values, rtol=1e-6, err_msg=name)


def test_the_direction_of_the_original_loss_is_known(tmp_path):
    case = Case(epochs=3)
    saved = keras.callbacks.ModelCheckpoint(
        tmp_path / "best.weights.h5",
        monitor="original_loss",
        save_best_only=True,
        save_weights_only=True,
    )
    stopped = keras.callbacks.EarlyStopping("original_loss", min_delta=1e9)
    log = cases.fit(cases.compiled(case), case, callbacks=[saved, stopped])
    assert saved.best == min(log["original_loss"])
    assert len(log["loss"]) == 2


# Structures and precision


@pytest.mark.slow
def test_accumulated_groups_are_one_batch():
    found, expected = (
        cases.train(
            Case(
                optimizer=cases.sgd(gradient_accumulation_steps=steps),
                examples=16,
                batch_size=size,
                epochs=2,
            )
        )
        for size, steps in ((2, 4), (8, None))
    )
    cases.assert_close(found, expected)


def test_outputs_with_the_names_of_the_contract_are_refused():
    inputs = keras.Input((networks.FEATURES,))
    names = ("label", "teacher")
    outputs = {n: keras.layers.Dense(1, name=n)(inputs) for n in names}
    for structure in (outputs, list(outputs.values())):
        mmel = keras_mmel.MMELModel(keras.Model(inputs, structure))
        mmel.compile("sgd", "mse")
        y = {name: np.zeros((7, 1)) for name in names}
        with pytest.raises(ValueError, match='"label" and "teacher".*Received'):
            mmel.fit(cases.data_for(Case())[0], y, verbose=0)


# Keras says so of every layer that it leaves as it is.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize`")
def test_a_quantized_model_is_evaluated_as_it_is():
    case = Case(epochs=1)
    mmel = cases.compiled(case)
    x, y = cases.plain_examples(case)
    before = mmel.evaluate(x, y, verbose=0)
    mmel.quantize("int8")
    assert not np.array_equal(mmel.evaluate(x, y, verbose=0), before)
    predicted = mmel.predict(x, verbose=0)
    np.testing.assert_allclose(predicted, mmel.model(x), 1e-5, 1e-5)


# What a model overrides


class OwnSteps(keras.Model):
    """Overrides what Keras's guide to an own `fit` does."""

    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(networks.CLASSES)

    def call(self, inputs):
        return self.dense(inputs)

    def compute_loss(self, *args, **kwargs):
        return super().compute_loss(*args, **kwargs) + 10.0


class OwnLoop(keras.Sequential):
    def test_step(self, *args, **kwargs):
        return super().test_step(*args, **kwargs)

    def compute_metrics(self, *args, **kwargs):
        return super().compute_metrics(*args, **kwargs)

    def predict(self, *args, **kwargs):
        return super().predict(*args, **kwargs) * 0

    def make_train_function(self, force=False):
        return super().make_train_function(force)


def on_the_object():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    model.compute_loss = lambda *args, **kwargs: 0.0
    return model


def distiller():
    networks = [
        keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
        for _ in range(2)
    ]
    loss = keras.distillation.LogitsDistillation()
    return keras.distillation.Distiller(*networks, distillation_losses=loss)


class OwnTraining(OwnSteps):
    def train_step(self, *args, **kwargs):
        raise RuntimeError("not called by a wrapper")

    def predict_step(self, *args, **kwargs):
        return keras.ops.softmax(super().predict_step(*args, **kwargs))


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (OwnSteps, "'compute_loss'"),
        (OwnTraining, "'train_step', 'predict_step', 'compute_loss'"),
        (
            OwnLoop,
            "'test_step', 'compute_metrics', 'predict', 'make_train_function'",
        ),
        (on_the_object, "'compute_loss'"),
        pytest.param(
            distiller,
            "'compute_loss'",
            marks=older.not_before(12, "has no Distiller"),
        ),
    ],
)
def test_own_steps_of_the_model_are_named(make, names):
    match = rf"\[{names}\] of `model` will not.*subclass of `MMELModel`"
    with pytest.warns(UserWarning, match=match):
        keras_mmel.MMELModel(make())


@pytest.mark.parametrize("make", ["ImageClassifier", "TextClassifier"])
def test_tasks_of_keras_hub_have_no_steps_of_their_own(make):
    hub = pytest.importorskip("keras_hub")
    assert wrapped.own_methods(object.__new__(getattr(hub.models, make))) == []
    # Which has a loss for each of its seven outputs.
    basnet = object.__new__(hub.models.BASNetImageSegmenter)
    assert wrapped.own_methods(basnet) == ["compute_loss"]


def test_layers_that_would_augment_the_original_are_named():
    layers = keras.layers
    quiet = [
        keras.Input((8, 8, 3)),
        layers.Rescaling(0.1),
        layers.Resizing(4, 4),
    ]
    keras_mmel.MMELModel(keras.Sequential([*quiet, layers.Dropout(0.5)]))
    flip = keras.Sequential([layers.RandomFlip(name="mirror")])
    with pytest.warns(UserWarning, match=r"`group_views`.*\['mirror'\]"):
        keras_mmel.MMELModel(keras.Sequential([*quiet, flip]))


def test_the_way_for_an_own_step_is_a_subclass_of_the_wrapper():
    class Penalized(keras_mmel.MMELModel):
        def compute_loss(self, *args, **kwargs):
            kernel = self.model.kernel
            penalty = 10.0 * keras.ops.sum(kernel**2)
            return super().compute_loss(*args, **kwargs) + penalty

    class Plain(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(1, kernel_initializer="ones")

        kernel = property(lambda self: self.dense.kernel)

        def call(self, inputs):
            return self.dense(inputs)

    x = np.eye(4, 3, dtype="float32")
    mmel = Penalized(Plain())
    mmel.compile(keras.optimizers.SGD(0.0), "mse")
    log = mmel.fit({"views": x[:, None]}, np.ones((4, 1)), verbose=0).history
    assert abs(log["loss"][0] - 10.0 * 3 - 0.25) < 1e-5


def test_the_objective_is_fixed():
    mmel = stepped(networks.MODELS["functional"][0](networks.CLASSES))
    with pytest.raises(AttributeError, match="`lambda_p` may be set.*'soft'"):
        mmel.objective = "soft"
    mmel.lambda_p = 2.0
    assert mmel.objective == keras_mmel.objectives.Hard(2.0)
