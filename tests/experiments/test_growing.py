"""Records that grow run by run, and what is made of unfinished ones."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_mmel
from experiments import balls
from experiments import comparisons
from experiments import dials
from experiments import evidence
from experiments import label_noise
from experiments import pareto
from experiments import rotated_cifar
from experiments import rotated_digits
from experiments import unseen
from keras_mmel.comparison import Comparison

ENVIRONMENT = {
    "accelerators": [],
    "cores": 2,
    "cpu": "Made Up 1",
    "commit": "0123456789",
    "dirty": False,
    "keras": "3.15.1",
    "backend": "tensorflow",
}


@pytest.fixture(autouse=True)
def _places(tmp_path, monkeypatch):
    monkeypatch.setattr(evidence, "RESULTS", tmp_path)
    monkeypatch.setattr(evidence, "one_thread", tf.data.Options)


def make_model(rate=0.1):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(rate), loss, metrics=["accuracy"])
    return model


def groups(seed):
    rng = np.random.default_rng(seed)
    x = {"views": rng.normal(size=(8, 2, 3)).astype("float32")}
    y = np.arange(8) % 2
    data = tf.data.Dataset.from_tensor_slices((x, y))
    return data.batch(4, drop_remainder=True)


def compare(methods, seeds, plain=True):
    test = {"test": groups(9), "right": groups(8)}
    return evidence.compare(
        "name", make_model, groups, test, methods, seeds, plain=plain
    )


def read(folder):
    return json.loads((folder / "name.json").read_text())


@pytest.mark.slow
def test_a_stopped_experiment_goes_on_from_its_record(tmp_path, monkeypatch):
    methods = {"uniform": "uniform", "hard": "hard"}
    trained, whole = [], keras_mmel.compare

    def stopped(*args, **settings):
        if len(trained) == 4:
            raise KeyboardInterrupt
        trained.append(args[4])
        return whole(*args, **settings)

    monkeypatch.setattr(keras_mmel, "compare", stopped)
    with pytest.raises(KeyboardInterrupt):
        compare(methods, [5, 6])
    monkeypatch.setattr(keras_mmel, "compare", whole)
    first = read(tmp_path)
    assert [run["seed"] for run in first["runs"]] == [5, 5, 5, 6]
    # Another day, another commit.
    environment = ENVIRONMENT | {"commit": "later"}
    monkeypatch.setattr(evidence, "_environment", lambda: environment)
    found = compare(methods, [5, 6])
    record = read(tmp_path)
    assert record["runs"][:4] == first["runs"]
    assert [run["made"] for run in record["runs"]] == [0, 0, 0, 0, 1, 1]
    assert record["made"][0] == first["made"][0]
    assert record["made"][1]["environment"]["commit"] == "later"
    assert found.methods == ["uniform", "hard", "plain"]
    for run in record["runs"]:
        assert run["finished"] and run["seconds"] > 0 and run["cpu_seconds"] > 0
        assert {"mean_nll", "right_mean_nll"} <= run["scores"].keys()
        assert "mean_loss" not in run["scores"]
    # As in one go.
    monkeypatch.setattr(evidence, "RESULTS", tmp_path / "in_one_go")
    compare(methods, [5, 6])
    again = read(tmp_path / "in_one_go")
    for run, other in zip(record["runs"], again["runs"], strict=True):
        assert run["scores"] == other["scores"]


@pytest.mark.slow
def test_a_record_takes_no_runs_of_another_comparison():
    compare({"uniform": "uniform"}, [1], plain=False)
    with pytest.raises(ValueError, match="another comparison.*Received"):
        evidence.compare(
            "name",
            lambda: make_model(0.2),
            groups,
            groups(9),
            {"hard": "hard"},
            [1],
            plain=False,
        )


@pytest.mark.slow
def test_rates_are_chosen_once(tmp_path, monkeypatch):
    arguments = {
        "model_maker": lambda rate: lambda: make_model(rate),
        "groups": groups,
        "held_out": groups(9),
        "rates": (0.01, 0.1),
        "chosen_by": "mean_nll",
        "seed": 3,
        "epochs": 1,
    }
    methods = {"uniform": "uniform"}
    best = evidence.best_rates("name", methods=methods, **arguments)
    scores = read(tmp_path)["scores"]
    for method, rate in best.items():
        of_method = scores[method]
        assert of_method[str(rate)] == min(of_method.values())
    assert [*best] == ["uniform", "plain"]
    monkeypatch.setattr(keras_mmel, "compare", None)
    assert evidence.best_rates("name", methods=methods, **arguments) == best
    assert evidence.rates_of("name") == best


def test_wrong_labels_are_of_other_classes_and_nested():
    (_, right), _, _ = label_noise.draw(3, 0)
    before = np.zeros(200, bool)
    for share in (10, 20, 40):
        (images, labels), wrong, (others, _) = label_noise.draw(3, share)
        assert wrong.sum() == 2 * share and np.all(wrong[before])
        np.testing.assert_array_equal(labels != right, wrong)
        assert len(images) + len(others) == 1797
        before = wrong
    assert np.any(label_noise.draw(4, 0)[0][1] != right) or np.any(
        label_noise.draw(4, 0)[0][0] != images
    )


def test_wrong_labels_of_cifar():
    labels = np.arange(50) % 10
    (_, noisy), wrong = rotated_cifar.with_wrong_labels((None, labels), 20)
    assert wrong.sum() == 10
    np.testing.assert_array_equal(noisy != labels, wrong)


def test_every_method_of_a_seed(monkeypatch):
    methods = {}

    def compare(name, make_model, groups, parts, objectives, seeds, **rest):
        methods[name] = [*objectives, *(["plain"] if rest["plain"] else [])]

    monkeypatch.setattr(evidence, "compare", compare)
    monkeypatch.setattr(rotated_digits, "grid_of", lambda *examples: None)
    monkeypatch.setattr("sys.argv", ["x", "--seeds", "1"])
    monkeypatch.setattr(label_noise, "SHARES", ((0, 20),))
    label_noise.main()
    balls.main()
    alike = [*label_noise.METHODS, "plain"]
    assert methods["digits-noise20-alike"] == alike
    assert methods["digits-ball-u4-alike"] == [*balls.METHODS, "plain"]
    both = methods["digits-ball-noise20-alike"] + alike
    assert set(both) == {*balls.METHODS, "plain"}
    assert len(both) == len(set(both))


def made_record(values, seeds=range(3)):
    """A record whose scores are `values` by method, and effective views."""
    scores = (*dials.SCORES, "original_nll", "worst_nll", "original_ece")
    return {
        "baseline": "uniform",
        "made": [{"command": "python -m x", "environment": ENVIRONMENT}],
        "runs": [
            {
                "method": method,
                "seed": seed,
                "scores": dict.fromkeys(scores, value + 0.01 * seed**2 * value),
                "log": {"accuracy": 0.5, "effective_views": views},
            }
            for method, (value, views) in values.items()
            for seed in seeds
        ],
    }


VALUES = {"uniform": (0.5, 5.0), "hard 1": (0.6, 4.0), "hard 0.3": (0.7, 2.0)}


def test_at_equal_effective_views():
    views = float(np.sqrt(4.0 * 2.0))  # half way, in the logarithm
    more = VALUES | {"hard 0.1": (0.5, 1.9)}
    record = made_record(more | {"ball 0.3": (0.75, views)})
    found = Comparison(record["runs"], "uniform")
    test = dials.difference_at_equal_views(found, "ball 0.3", "mean_accuracy")
    assert test.seeds == 3 and test.mean == pytest.approx(0.1 * (1 + 0.05 / 3))
    text = comparisons.compared(record, ("mean_accuracy", "ball 0.3", "hard 1"))
    assert "- `ball 0.3` (3 of 3 seeds): clean +10.17" in text
    assert "mean accuracy, ball 0.3 minus hard 1, is +15.2" in text
    beyond = made_record(more | {"ball 0.7": (0.75, 1.5)})
    found = Comparison(beyond["runs"], "uniform")
    assert "- `ball 0.7` (0 of 3 seeds)\n" in dials.at_equal_views(found)
    few = made_record(VALUES | {"ball 0.3": (0.75, views)})
    assert not dials.at_equal_views(Comparison(few["runs"], "uniform"))


def test_an_unfinished_table_says_so():
    record = made_record(VALUES)
    text = comparisons.compared(record, planned=10)
    assert "**3 of the 10 seeds of the plan so far**" in text
    assert "so far" not in comparisons.compared(record, planned=3)


def test_only_whole_seeds_count():
    record = made_record(VALUES)
    last = record["runs"].pop()
    whole = comparisons.with_whole_seeds(record)
    assert len(whole["runs"]) == 6
    assert last["seed"] not in {run["seed"] for run in whole["runs"]}
    record["runs"] = [run for run in record["runs"] if run["seed"] != 1]
    assert comparisons.with_whole_seeds(record) is None


def test_later_methods_stand_beside_the_seeds_that_they_have():
    later = made_record({"ball 0.3": (0.9, 4.5)}, seeds=range(2))
    later["made"][0] = {"command": "python -m y", "environment": ENVIRONMENT}
    text = comparisons.compared(
        comparisons.merged([made_record(VALUES), later]), planned=3
    )
    assert "2 of the 3 seeds" in text
    assert "`ball 0.3` - `uniform`" in text
    assert "`python -m x`, `python -m y`" in text


def test_the_picture_has_a_line_for_each_dial():
    values = VALUES | {"ball 0.1": (0.8, 4.5), "plain": (0.4, 5.0)}
    (panel,) = pareto.draw(made_record(values)).axes
    labels = [text.get_text() for text in panel.get_legend().get_texts()]
    assert labels == ["hard, lambda_p", "ball, radius", "uniform", "plain"]
    x, _ = panel.lines[0].get_data()
    # By the number, not in the order of the record.
    np.testing.assert_allclose(x, [71.17, 61.0], atol=0.01)


def test_what_wrong_labels_add():
    clean, noisy = made_record(VALUES), made_record(VALUES)
    for run in noisy["runs"]:
        if run["method"] == "hard 1":
            run["scores"] = {k: v + 0.02 for k, v in run["scores"].items()}
    text = comparisons.by_share({0: clean, 20: noisy})
    row = next(x for x in text.splitlines() if x.startswith("| `hard 1`"))
    cells = [cell.split(" (")[0].strip() for cell in row.split("|")[2:-1]]
    assert cells == ["+10.17", "+12.17", "+2.00"]


@pytest.mark.slow
def test_cifar_has_the_later_methods_and_wrong_labels(monkeypatch):
    rng = np.random.default_rng(0)

    def load(size, data_dir):
        def part(count):
            images = rng.uniform(0, 255, (count, 16, 16, 3)).astype("float32")
            return images, rng.integers(0, 10, count)

        return part(40), part(20), part(20)

    compared, offered = {}, []

    def best_rates(name, maker, groups, held_out, methods, *args, **settings):
        del maker, groups, held_out, args
        offered.append(name)
        return dict.fromkeys([*methods, *["plain"] * settings["plain"]], 0.1)

    def compare_at(
        name, maker, rates, groups, test, methods, seeds, **settings
    ):
        del maker, groups
        compared[name] = [*methods]
        plain = ["plain"] * bool(settings["plain_seeds"])
        assert [*rates] == [*methods, *plain] and len(test) and len(seeds)

    def rates_of(*names):
        assert set(names) <= {*offered, *(f"{name}-rates" for name in compared)}
        methods = [
            m for name in names for m in compared[name[: -len("-rates")]]
        ]
        return dict.fromkeys([*methods, "plain"], 0.1)

    monkeypatch.setattr(rotated_cifar, "load", load)
    for function in (best_rates, compare_at, rates_of):
        monkeypatch.setattr(evidence, function.__name__, function)
    for words in ("p2", "p2 --more soft ball rest", "p3 --more ball", "p5"):
        monkeypatch.setattr("sys.argv", ["x", *words.split()])
        rotated_cifar.main()
    ball = [f"ball {radius:g}" for radius in balls.RADII]
    assert compared["cifar-p2-original-soft"] == ["soft, lambda_t 4"]
    assert compared["cifar-p2-alike-ball"] == ball
    assert compared["cifar-p3-alike-ball"] == ball
    rest = set(compared["cifar-p2-alike-rest"])
    assert not rest & {"uniform", "tilted 1", "hard 1", "consistency 12", *ball}
    assert {"hard 3", "hard 0.1", "tilted 3", "hardest 2"} <= rest
    assert "ball 0.07" in compared["cifar-p5-alike"]
    assert [*label_noise.WITH_ORIGINAL] == compared["cifar-p5-original"]


def test_changes_that_were_not_trained_on():
    rng = np.random.default_rng(0)
    images = np.asarray(rng.integers(0, 17, (50, 8, 8, 1)), "float32")
    before = images.copy()
    changed = {
        name: corrupt(images, np.random.default_rng(1))
        for name, corrupt in unseen.CORRUPTIONS.items()
    }
    np.testing.assert_array_equal(images, before)
    for name, found in changed.items():
        assert found.shape == images.shape and found.min() >= 0, name
        assert found.max() <= 16 and np.any(found != images), name
    middle = images[:, 2:5, 2:5].mean(axis=(1, 2))
    np.testing.assert_allclose(changed["blur"][:, 3, 3], middle, rtol=1e-5)
    corner = images[:, 2:4, 4:6].mean(axis=(1, 2))
    for row, column in ((2, 4), (3, 5)):
        found = changed["pixels"][:, row, column]
        np.testing.assert_allclose(found, corner, rtol=1e-6)
    hidden = np.sum((changed["occlusion"] != images) | (images == 0), (1, 2, 3))
    assert np.all(hidden >= 9)


def test_the_mean_of_the_changes_and_each():
    scores = {"a": [(0.5, 0.8, 0.4), (0.7, 0.9, 0.5)], "b": []}
    scores["b"] = [(0.6, 0.7, 0.4), (0.9, 0.7, 0.6)]
    names = ("original_accuracy", "x_accuracy", "y_accuracy")
    record = {
        "baseline": "a",
        "made": [{"command": "x", "environment": ENVIRONMENT}],
        "runs": [
            {"method": m, "seed": s, "scores": dict(zip(names, v, strict=True))}
            for m, of_seeds in scores.items()
            for s, v in enumerate(of_seeds)
        ],
    }
    row = comparisons.by_change(record).splitlines()[3].split("|")[2:-1]
    means = [float(cell.split("(")[0]) for cell in row]
    assert means == pytest.approx([15.0, -5.0, -15.0, 5.0])
