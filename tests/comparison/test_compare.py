"""A comparison against the same training written out."""

import contextlib
import gc
import importlib.util
import json
import math
import re

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.testing import assert_allclose

import keras_mmel
from keras_mmel.comparison import Comparison
from keras_mmel.comparison.methods import plain_batches
from tests.scripts import compare_on_backend
from tests.scripts.child import run

EXAMPLES, FEATURES, CLASSES, VIEWS, BATCH = 12, 4, 3, 3, 2
RNG = np.random.default_rng(0)
X = RNG.normal(size=(EXAMPLES, FEATURES)).astype("float32")
Y = RNG.integers(0, CLASSES, EXAMPLES)
TEST = (X[:5] + 0.1, Y[:5])
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def make_model(dropout=0.2):
    model = keras.Sequential(
        [
            keras.Input((FEATURES,)),
            keras.layers.Dense(6, activation="tanh"),
            keras.layers.Dropout(dropout),
            keras.layers.Dense(CLASSES),
        ]
    )
    scaled = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(0.05))
    model.compile(scaled, LOSS, metrics=["accuracy"])
    return model


ONE_MODEL = make_model()


def noise(x, seeds):
    draw = tf.map_fn(
        lambda seed: tf.random.stateless_normal((FEATURES,), seed),
        tf.reshape(seeds, (-1, 2)),
        fn_output_signature=tf.float32,
    )
    shape = (tf.shape(x)[0], seeds.shape[1], FEATURES)
    return x[:, None] + tf.reshape(draw, shape)


def groups(seed):
    examples = tf.data.Dataset.from_tensor_slices((X, Y))
    return keras_mmel.data.group_views(examples, noise, VIEWS, BATCH, seed=seed)


def test_groups():
    examples = tf.data.Dataset.from_tensor_slices(TEST)
    return keras_mmel.data.grid_views(examples, [lambda x: x + 1.0], 4)


test_groups.__test__ = False


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    found = keras_mmel.compare(
        make_model,
        groups,
        {"clean": TEST, "moved": test_groups()},
        {
            "uniform": "uniform",
            "hard 0.5": keras_mmel.objectives.Hard(0.5),
            "own": lambda model: keras_mmel.MMELModel(model, "soft"),
        },
        seeds=2,
        epochs=2,
        records=folder,
        about={"command": "none"},
        verbose=False,
    )
    return found, folder


@pytest.mark.parametrize("method", ["uniform", "hard 0.5", "own"])
def test_a_run_is_the_training_written_out(compared, method):
    objective = {"own": "soft", "hard 0.5": keras_mmel.objectives.Hard(0.5)}
    seed = 1
    keras.utils.set_random_seed(seed)
    mmel = keras_mmel.MMELModel(make_model(), objective.get(method, method))
    mmel.compile(keras.optimizers.Adam(0.05), LOSS, metrics=["accuracy"])
    history = mmel.fit(groups(seed), epochs=2, verbose=0).history
    plain = mmel.evaluate(*TEST, verbose=0, return_dict=True)
    moved = mmel.evaluate_views(test_groups())
    expected = {f"clean_{k}": v for k, v in plain.items()}
    expected |= {f"moved_{k}": v for k, v in moved.items()}
    expected["train_effective_views"] = history["effective_views"][-1]
    for name, value in expected.items():
        found = compared[0].values(method, name)[seed]
        assert_allclose(found, value, rtol=1e-5, err_msg=name)


@pytest.mark.slow
@pytest.mark.own_process
def test_two_replicas_find_the_same():
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

    def mask(x, y):
        return x | {"mask": tf.range(2) <= tf.cast(y, tf.int32)[:, None]}, y

    def find(scope):
        def make():
            with scope():
                return make_model(dropout=0.0)

        test = {"clean": (X[:4], Y[:4]), "moved": test_groups().map(mask)}
        given = make, groups, test, "soft", 1
        # Keras looks at a batch beforehand: plain training has other passes.
        return keras_mmel.compare(*given, plain=False).runs

    found, expected = find(strategy.scope), find(contextlib.nullcontext)
    for one, other in zip(found, expected, strict=True):
        for name, value in other["scores"].items():
            assert_allclose(one["scores"][name], value, 1e-5, err_msg=name)


def test_plain_training_has_as_many_steps_and_views():
    data = plain_batches(groups(3), seed=3)
    steps = int(groups(3).cardinality())
    batches = list(data.take(2 * steps))
    passes = groups(3).repeat()
    offered = {
        tuple(map(float, view)): int(label)
        for x, y in passes.take(2 * steps * VIEWS)
        for group, label in zip(x["views"].numpy(), y.numpy(), strict=True)
        for view in group
    }
    assert all(x.shape == (BATCH * VIEWS, FEATURES) for x, _ in batches)
    for x, y in batches:
        for row, label in zip(x.numpy(), y.numpy(), strict=True):
            assert offered[tuple(map(float, row))] == label
    again = plain_batches(groups(3), seed=3).take(2 * steps)
    for (x, _), (other, _) in zip(batches, again, strict=True):
        np.testing.assert_array_equal(x, other)


def test_padding_is_never_chosen():
    views = np.ones((4, 3, 2), "float32")
    views[:, 1:] = np.nan
    mask = np.array([[True, False, False]] * 4)
    data = tf.data.Dataset.from_tensor_slices(
        ({"views": views, "mask": mask}, np.zeros(4))
    ).batch(2, drop_remainder=True)
    for x, _ in plain_batches(data, 0).take(4):
        assert np.isfinite(x).all()


def test_texts_of_several_batches_are_padded():
    def batches():
        for length in (3, 5):
            yield {"views": np.ones((1, 2, length), "int32")}, np.zeros(1)

    spec = tf.TensorSpec((1, 2, None), tf.int32)
    signature = ({"views": spec}, tf.TensorSpec((1,)))
    data = tf.data.Dataset.from_generator(batches, output_signature=signature)
    (x, _) = next(iter(plain_batches(data, 0)))
    np.testing.assert_array_equal(x, [[1, 1, 1, 0, 0], [1] * 5])


def test_records_are_read_and_not_made_again(compared, monkeypatch):
    found, folder = compared
    monkeypatch.setattr(keras.Model, "fit", None)
    again = keras_mmel.compare(
        make_model,
        groups,
        TEST,
        {"hard 0.5": keras_mmel.objectives.Hard(0.5), "uniform": "uniform"},
        seeds=2,
        epochs=2,
        plain=False,
        records=folder,
        baseline="uniform",
        verbose=False,
    )
    name = "moved_mean_loss"
    assert again.difference("hard 0.5", name) == found.difference(
        "hard 0.5", name
    )
    record = json.loads((folder / "hard-0.5-1.json").read_text())
    assert record["command"] == "none" and record["settings"]["steps"] == 6


@pytest.mark.slow
def test_the_memory_of_a_run_goes_with_it():
    def graphs():  # of functions, which hold the weights
        gc.collect()
        found = [o for o in gc.get_objects() if issubclass(type(o), tf.Graph)]
        return sum(hasattr(graph, "captures") for graph in found)

    before = graphs()
    keras_mmel.compare(make_model, groups, TEST, seeds=1, verbose=False)
    assert graphs() <= before


def test_records_of_other_settings_are_refused(compared):
    def fewer(seed):
        return groups(seed).map(lambda x, y: ({"views": x["views"][:, :2]}, y))

    given = {"seeds": 1, "epochs": 2, "records": compared[1]}
    with pytest.raises(ValueError, match=r"another comparison.*epochs"):
        keras_mmel.compare(make_model, groups, TEST, **given | {"epochs": 3})
    with pytest.raises(ValueError, match=r"another comparison.*views"):
        keras_mmel.compare(make_model, fewer, TEST, **given)


@pytest.mark.slow
def test_models_are_built_and_metrics_of_classes_left_out():
    def unbuilt():
        model = keras.Sequential([keras.layers.Dense(CLASSES)])
        model.compile("sgd", "mse", metrics=["mae", keras.metrics.F1Score()])
        return model

    def one_hot_groups(seed):
        return groups(seed).map(lambda x, y: (x, tf.one_hot(y, CLASSES)))

    given = (TEST[0], np.eye(CLASSES)[TEST[1]]), "hard", np.array([3, 3])
    found = keras_mmel.compare(unbuilt, one_hot_groups, *given)
    assert [run["seed"] for run in found.runs] == [3, 3]
    assert found.score_names == ["loss", "mae"]


def test_it_says_how_far_it_is_and_what_its_callbacks_did(capsys, tmp_path):
    def callbacks(method):
        if method != "hard":
            return []
        schedule = keras_mmel.callbacks.LambdaSchedule(lambda epoch: 0.5)
        return [schedule, keras.callbacks.TerminateOnNaN()]

    settings = {"seeds": 2, "records": tmp_path, "callbacks": callbacks}
    given = make_model, groups, TEST, ["uniform", "hard"]
    found = keras_mmel.compare(*given, plain=False, **settings)
    first, *others = capsys.readouterr().out.splitlines()
    assert first == "1 of 4: seed 0, uniform"
    for number, line in enumerate(others, 2):
        assert line.startswith(f"{number} of 4: seed ")
        assert re.search(r", about \d+ seconds left$", line)
    assert_allclose(found.values("hard", "train_lambda_p"), 0.5)
    # What is there is not made again, nor spoken of.
    keras_mmel.compare(*given, plain=False, **settings)
    assert not capsys.readouterr().out


def test_table_and_picture(compared, tmp_path):
    found, _ = compared
    head, base, *others = found.table(["moved_mean_loss"])
    values = found.values("uniform", "moved_mean_loss")
    assert head == ["method", "moved_mean_loss"]
    mean, spread = map(float, base[1].split(" ± "))
    assert_allclose(mean, values.mean(), atol=0.05)
    assert_allclose(spread, values.std(ddof=1), atol=0.005)
    names = [row[0] for row in others]
    assert names == ["hard 0.5 - uniform", "own - uniform", "plain - uniform"]
    (difference,) = others[0][1:]
    expected = found.difference("hard 0.5", "moved_mean_loss")
    mean, low, high = map(float, re.findall(r"[-+][\d.]+", difference))
    assert_allclose((mean, low, high), expected[:3], atol=0.05)
    assert "brackets their 95 % intervals" in str(found)
    found.plot(["clean_accuracy"], tmp_path / "differences.png")
    assert (tmp_path / "differences.png").stat().st_size > 1000


def test_accuracies_are_shown_in_percent():
    made = [
        {"method": m, "seed": s, "scores": {"accuracy": a + s / 100}, "log": {}}
        for m, a in (("uniform", 0.5), ("hard", 0.625))
        for s in range(3)
    ]
    made[-1]["scores"]["accuracy"] += 0.01
    made[0]["scores"]["receipt_mae"] = 1.0
    rows = Comparison(made, "uniform").table()
    assert rows[1] == ["uniform", "51.0 ± 1.00", "nan ± nan"]
    assert rows[2][0] == "hard - uniform"
    assert rows[2][1].startswith("+12.8 (+11.4 to ")


def test_tests_are_adjusted_for_all_that_is_shown():
    rng = np.random.default_rng(0)
    made = [
        {"method": m, "seed": s, "scores": {}, "log": {}}
        for m in ("uniform", "hard", "soft")
        for s in range(6)
    ]
    for each in made:
        loss, error = rng.normal(size=2) + (each["method"] == "hard")
        # The last repeats the loss.
        each["scores"] = {"loss": loss, "mean_mae": error, "nll": loss}
    found = Comparison(made, "uniform")
    text = str(found)
    assert "p of paired t-tests, adjusted for all 4 of the table" in text
    assert "nll" not in text and "nll" in found.score_names
    shown = [float(p) for p in re.findall(r"\(p ([\d.e-]+)\)", text)]
    p_values = [
        found.difference(method, score).p
        for score in ("loss", "mean_mae")
        for method in ("hard", "soft")
    ]
    ordered = np.argsort(p_values)
    expected = np.empty(4)
    steps = np.sort(p_values) * (4, 3, 2, 1)
    expected[ordered] = np.minimum(np.maximum.accumulate(steps), 1)
    assert_allclose(shown, expected, rtol=0.05)
    # In a notebook.
    page = found._repr_html_()
    assert page.count("<tr>") == 3 and "adjusted for all 4" in page
    assert repr(found) == "Comparison(18 runs of uniform, hard, soft)"


def test_only_seeds_that_both_have_are_compared():
    made = [
        {"method": m, "seed": s, "scores": {"loss": value}, "log": {}}
        for m, s, value in (
            ("uniform", 0, 1.0),
            ("uniform", 1, 9.0),
            ("uniform", 2, 2.0),
            ("hard", 2, 2.5),
            ("hard", 0, 1.25),
        )
    ]
    found = Comparison(made, "uniform").difference("hard", "loss")
    assert (found.mean, found.seeds) == (0.375, 2)


def test_missing_entries_are_nan_and_unknown_ones_named(compared):
    found, _ = compared
    values = found.values("plain", "train_effective_views")
    assert all(map(math.isnan, values))
    with pytest.raises(ValueError, match="`score` must be one of"):
        found.values("plain", "luck")
    with pytest.raises(ValueError, match="`method` must be one of"):
        found.values("maxup", "clean_loss")


def test_a_model_with_steps_of_its_own_is_refused():
    class Own(keras.Sequential):
        def train_step(self, *args, **kwargs):
            return super().train_step(*args, **kwargs)

    def make_own():
        model = Own([keras.Input((FEATURES,)), keras.layers.Dense(CLASSES)])
        model.compile("sgd", LOSS)
        return model

    with pytest.raises(ValueError, match="Received: Own with .*'train_step'"):
        keras_mmel.compare(make_own, groups, TEST, seeds=1, verbose=False)


def test_one_seed_has_no_spread():
    runs = [
        {"method": name, "seed": 0, "scores": {"loss": loss}, "log": {}}
        for name, loss in (("hard", 1.0), ("plain", 1.5))
    ]
    text = str(Comparison(runs, "hard"))
    assert "1 seed;" in text and "+0.50" in text
    assert not [word for word in ("nan", "p ?", "t-test", "±") if word in text]


def test_runs_that_are_all_the_same_are_warned_of():
    def seeded():
        keras.utils.set_random_seed(1)
        return make_model()

    arrays = {"views": np.repeat(X[:, None], VIEWS, 1)}, Y
    settings = {"objectives": "uniform", "plain": False, "verbose": False}
    with pytest.warns(UserWarning, match="came out the same.*seeds 0, 1"):
        keras_mmel.compare(
            seeded, lambda seed: arrays, TEST, seeds=2, **settings
        )


def compiled_otherwise(model):
    wrapper = keras_mmel.MMELModel(model)
    wrapper.compile("sgd", "mse")
    return wrapper


@pytest.mark.parametrize(
    "change, message",
    [
        ({"objectives": {"own": compiled_otherwise}}, "leave `compile` to"),
        ({"objectives": {"own": lambda model: model}}, "must wrap the model"),
        ({"make_model": 3}, "`make_model` must be a function"),
        ({"groups": []}, "`groups` must be a function.*from a seed"),
        ({"callbacks": []}, "`callbacks` must be a function"),
        ({"make_model": lambda: keras.Sequential()}, "a compiled model"),
        ({"objectives": {"plain": "hard"}}, "name none 'plain'"),
        ({"baseline": "maxup"}, "`baseline` must be one of"),
        ({"objectives": ["hrad"]}, "`objective` must be one of.*'hrad'"),
        ({"seeds": 0}, "`seeds` must have at least one"),
        ({"epochs": 0}, "`epochs` must be at least 1. Received: epochs=0"),
        ({"about": {"x": np.float32(1)}}, "not JSON serializable"),
        ({"test": [TEST]}, "`test` must be a dataset or a tuple"),
        ({"make_model": lambda: ONE_MODEL}, "new model at every call"),
        ({"groups": lambda s: groups(s).repeat()}, "known number of batches"),
    ],
)
def test_wrong_input_is_named(change, message):
    given = {"make_model": make_model, "groups": groups, "test": TEST}
    with pytest.raises((TypeError, ValueError), match=message):
        keras_mmel.compare(**given | change, verbose=False)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_other_backends_find_the_same(backend):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    environ = {"KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu"}
    output = run("compare_on_backend", **environ)
    found = json.loads(output.splitlines()[-1])
    expected = compare_on_backend.scores()
    assert found["backend"] == backend
    for name, value in expected["evaluated"].items():
        assert_allclose(found["evaluated"][name], value, rtol=1e-5, atol=1e-6)
    for score, views in expected["by_view"].items():
        for name, value in views.items():
            other = found["by_view"][score][name]
            assert_allclose(other, value, rtol=1e-5, atol=1e-6)
    for method, scores in expected["compared"].items():
        for name, value in scores.items():
            other = found["compared"][method][name]
            assert_allclose(other, value, rtol=1e-4, atol=1e-5)
