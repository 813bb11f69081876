import json
import pathlib

import keras
import numpy as np
import pytest

from examples import cifar
from examples import cifar_data
from examples import cifar_model
from examples import cifar_settings
from examples import records
from examples.progress import Progress

# Keras 3.15 hands variables to `numpy.array`, which NumPy 2 complains about.
pytestmark = pytest.mark.filterwarnings(
    "ignore:__array__ implementation doesn't accept a copy:DeprecationWarning"
)

TOY = ["--depth", "8", "--batch_size", "10", "--num_views", "2"]


def fake_data(dataset, data_dir=None):
    """Images of one color for each class, and noise."""
    rng = np.random.default_rng(0)
    classes = cifar_data.CLASSES[dataset]
    colors = rng.integers(0, 200, (classes, 1, 1, 3))

    def draw(size):
        labels = np.arange(size) % classes
        noise = rng.integers(0, 56, (size, 32, 32, 3))
        return (colors[labels] + noise).astype("uint8"), labels

    return draw(2 * classes), draw(2 * classes)


def run(folder, *words, load=fake_data):
    folder = pathlib.Path(folder)
    where = ["--out", str(folder / "out"), "--work_dir", str(folder / "work")]
    cifar.main([*TOY, *where, *words], load=load)
    found = records.read_records(folder / "out")
    return {(record["method"], record["seed"]): record for record in found}


@pytest.fixture(scope="module")
def every_method(tmp_path_factory):
    folder = tmp_path_factory.mktemp("all")
    return folder, run(folder, "--method", "all", "--epochs", "1")


class TestEveryMethod:
    def test_a_record_for_each(self, every_method):
        folder, found = every_method
        assert {method for method, _ in found} == set(cifar_settings.METHODS)
        for record in found.values():
            assert np.isfinite(record["scores"]["nll"])
            assert 0 <= record["scores"]["accuracy"] <= 1
            assert record["hours"] > 0
            assert record["environment"]["keras"] == keras.__version__
            assert record["command"].startswith("python -m examples.cifar ")
        assert list((folder / "work").iterdir()) == []

    def test_no_path_of_the_machine_in_a_record(self, every_method):
        folder, _ = every_method
        for path in (folder / "out").iterdir():
            assert str(folder) not in path.read_text()

    def test_what_the_baselines_are(self, every_method):
        _, found = every_method
        for method, epochs, views in [
            ("da", 1, 1),
            ("da-long", 2, 1),
            ("uniform", 1, 2),
            ("mmel-h", 1, 2),
            ("mmel-s", 1, 2),
        ]:
            record = found[method, 0]
            assert record["settings"]["epochs"] == epochs
            assert record["settings"]["num_views"] == views
            assert len(record["curves"]["loss"]) == epochs
            assert record["curves"]["val_epoch"] == [epochs]
            assert ("effective_views" in record["curves"]) == (views > 1)

    def test_views_weigh_as_the_method_says(self, every_method):
        _, found = every_method
        number = {
            method: found[method, 0]["curves"]["effective_views"][0]
            for method in ("uniform", "mmel-h", "mmel-s")
        }
        assert number["uniform"] == pytest.approx(2, abs=1e-5)
        assert 1 < number["mmel-h"] < 2
        # Only one view beside the original, which has no weight here.
        assert number["mmel-s"] == pytest.approx(1, abs=1e-5)

    def test_nothing_is_run_twice(self, every_method, capsys, monkeypatch):
        folder, found = every_method
        monkeypatch.setattr(cifar, "train", None)
        again = run(folder, "--method", "all", "--epochs", "1")
        assert again == found
        assert capsys.readouterr().out.count("finished before") == 5

    def test_table(self, every_method, capsys):
        folder, found = every_method
        cifar.main(["--table", "--out", str(folder / "out")], load=None)
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 1 + len(cifar_settings.METHODS)
        accuracy = 100 * found["mmel-h", 0]["scores"]["accuracy"]
        (line,) = [line for line in lines if "mmel-h" in line]
        assert f" {accuracy:.2f} +- 0.00" in line


class TestResume:
    @pytest.mark.parametrize(
        "replicas", ["1", pytest.param("2", marks=pytest.mark.slow)]
    )
    def test_the_same_command_goes_on(
        self, replicas, tmp_path, monkeypatch, capsys
    ):
        words = ("--method", "mmel-h", "--epochs", "3", "--seeds", "3")
        words += ("--replicas", replicas)
        whole = run(tmp_path / "whole", *words)["mmel-h", 3]

        begin = Progress.on_epoch_begin

        def stop_at_the_third(self, epoch, logs=None):
            if epoch == 2:
                raise KeyboardInterrupt
            begin(self, epoch, logs)

        with monkeypatch.context() as patch:
            patch.setattr(Progress, "on_epoch_begin", stop_at_the_third)
            with pytest.raises(KeyboardInterrupt):
                run(tmp_path / "parts", *words)
        assert records.read_records(tmp_path / "parts") == []
        capsys.readouterr()

        parts = run(tmp_path / "parts", *words)["mmel-h", 3]
        assert "continues after epoch 2" in capsys.readouterr().out
        assert parts["settings"] == whole["settings"]
        assert parts["curves"].keys() == whole["curves"].keys()
        for name, curve in whole["curves"].items():
            np.testing.assert_allclose(
                parts["curves"][name], curve, rtol=1e-4, err_msg=name
            )
        assert parts["hours"] > 0

    def test_a_kill_while_saving_keeps_the_last_epoch(
        self, tmp_path, monkeypatch
    ):
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
        progress = Progress(tmp_path / "run.npz")
        x, y = np.ones((4, 2)), np.zeros((4, 1))
        fit = {"batch_size": 4, "verbose": 0, "callbacks": [progress]}
        model.fit(x, y, **fit)
        kept = [
            v.numpy() for v in (*model.variables, *model.optimizer.variables)
        ]

        def kill(*_, **__):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(np, "savez", kill)
            with pytest.raises(KeyboardInterrupt):
                model.fit(x, y, epochs=2, initial_epoch=1, **fit)

        other = Progress(tmp_path / "run.npz")
        other.restore(model)
        assert other.epoch == 1
        assert len(other.curves["loss"]) == 1
        variables = (*model.variables, *model.optimizer.variables)
        for variable, value in zip(variables, kept, strict=True):
            np.testing.assert_array_equal(variable.numpy(), value)

        whole = progress.path.read_bytes()
        progress.path.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(ValueError, match="Delete it.*run.npz"):
            other.restore(model)


class TestSettings:
    def settings(self, method, *words):
        args = cifar.parse_arguments([*words])
        return cifar.run_settings(args, method, 0)

    def test_defaults_are_the_recipe_of_the_paper(self):
        found = self.settings("mmel-s")
        expected = {
            "depth": 20,
            "epochs": 200,
            "batch_size": 128,
            "num_views": 10,
            "lambda_p": 1.0,
            "lambda_t": 1.0,
            "learning_rate": 0.1,
            "momentum": 0.9,
            "weight_decay": 5e-4,
            "drop_factor": 0.2,
        }
        assert expected.items() <= found.items()

    @pytest.mark.parametrize(
        "method, stretch", [("mmel-h", 1), ("da-long", 10)]
    )
    def test_rate_drops_at_60_120_and_160(self, method, stretch):
        settings = self.settings(method, "--depth", "8")
        model = cifar_model.build_model(settings, steps_per_epoch=7)
        schedule = model.optimizer._learning_rate
        rates = [
            float(schedule(epoch * 7 * stretch + offset))
            for epoch in (60, 120, 160)
            for offset in (-1, 0)
        ]
        expected = [0.1, 0.02, 0.02, 0.004, 0.004, 0.0008]
        np.testing.assert_allclose(rates, expected, rtol=1e-6)

    def test_other_settings_have_another_name(self):
        words = [(), ("--lambda_t", "0.5"), ("--limit", "100")]
        names = {cifar.run_name(self.settings("mmel-s", *w)) for w in words}
        assert len(names) == 3
        # What does not concern a method does not repeat its run.
        names = {cifar.run_name(self.settings("da", *w)) for w in words[:2]}
        assert len(names) == 1

    @pytest.mark.parametrize(
        "words, message",
        [
            (["--epochs", "0"], "--epochs must be at least 1"),
            (["--replicas", "3"], "must be a multiple of --replicas"),
            (["--method", "mixup"], "invalid choice"),
        ],
    )
    def test_wrong_arguments(self, words, message, capsys):
        with pytest.raises(SystemExit):
            cifar.parse_arguments(words)
        assert message in capsys.readouterr().err

    def test_a_batch_larger_than_the_data(self, tmp_path):
        with pytest.raises(ValueError, match="batch_size=64 for 20 images"):
            run(tmp_path, "--method", "da", "--batch_size", "64")


class TestBalancedSubset:
    def test_classes_are_equal_up_to_one(self):
        (images, labels), _ = fake_data("cifar10")
        chosen = cifar_data.balanced_subset(images, labels, 13)
        assert len(chosen[0]) == 13
        counts = np.bincount(chosen[1], minlength=10)
        assert sorted(counts) == [1] * 7 + [2] * 3

    def test_does_not_depend_on_the_order(self):
        (images, labels), _ = fake_data("cifar10")
        shuffled = np.random.default_rng(1).permutation(len(labels))
        one = cifar_data.balanced_subset(images, labels, 10)
        other = cifar_data.balanced_subset(
            images[shuffled], labels[shuffled], 10
        )
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])

    def test_images_keep_their_labels(self):
        images = np.arange(40, dtype="uint8").reshape(20, 2, 1, 1)
        labels = images[:, 0, 0, 0] // 2 % 4
        chosen, found = cifar_data.balanced_subset(images, labels, 8)
        np.testing.assert_array_equal(found, chosen[:, 0, 0, 0] // 2 % 4)
        assert len(np.unique(chosen)) == 16

    def test_no_limit_is_everything(self):
        (images, labels), _ = fake_data("cifar10")
        assert cifar_data.balanced_subset(images, labels, None)[0] is images

    def test_too_large(self):
        (images, labels), _ = fake_data("cifar10")
        with pytest.raises(ValueError, match="Received: 21 of 20"):
            cifar_data.balanced_subset(images, labels, 21)


class TestModel:
    def test_takes_raw_images(self):
        args = cifar.parse_arguments(["--dataset", "cifar100", "--depth", "8"])
        settings = cifar.run_settings(args, "mmel-h", 0)
        model = cifar_model.build_model(settings, 1).model
        images = fake_data("cifar100")[0][0]
        normalized = keras.Model(
            model.input, model.get_layer("normalization").output
        )(images)
        mean, std = (
            np.array(table["cifar100"])
            for table in (cifar_data.MEAN, cifar_data.STD)
        )
        np.testing.assert_allclose(
            normalized, (images - mean) / std, rtol=1e-4, atol=1e-5
        )
        assert model(images[:2]).shape == (2, 100)


class TestRivals:
    @pytest.mark.slow
    def test_a_record_for_each(self, tmp_path):
        found = run(tmp_path, "--method", "rivals", "--epochs", "1")
        assert {method for method, _ in found} == set(cifar_settings.RIVALS)
        views = {m: r["settings"]["num_views"] for (m, _), r in found.items()}
        assert set(views.values()) == {2}
        effective = {
            method: record["curves"].get("effective_views", [None])[0]
            for (method, _), record in found.items()
        }
        assert effective["maxup"] == pytest.approx(1, abs=1e-5)

    def test_scores_of_the_test_set(self, every_method):
        _, found = every_method
        for record in found.values():
            scores = record["scores"]
            # Test images are flat colors: flipping changes the noise alone.
            last = record["curves"]["val_accuracy"][-1]
            assert scores["accuracy"] == pytest.approx(last, abs=1e-6)
            assert scores["nll"] == pytest.approx(
                record["curves"]["val_nll"][-1], rel=1e-4
            )
            assert 0 <= scores["ece"] <= 1
            assert 0 <= scores["accuracy_shifted"] <= 1


@pytest.mark.slow
class TestVariants:
    def test_replicas(self, tmp_path):
        words = ("--method", "mmel-s", "--epochs", "1", "--replicas", "2")
        found = run(tmp_path, *words)
        assert np.isfinite(found["mmel-s", 0]["scores"]["nll"])

    @pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
    def test_mixed_precision(self, policy, tmp_path):
        words = ("--method", "mmel-h", "--epochs", "1")
        found = run(tmp_path, *words, "--mixed_precision", policy)
        assert np.isfinite(found["mmel-h", 0]["scores"]["nll"])

    def test_cifar100(self, tmp_path):
        words = ("--dataset", "cifar100", "--method", "mmel-h", "--epochs", "1")
        found = run(tmp_path, *words)
        assert np.isfinite(found["mmel-h", 0]["scores"]["nll"])

    def test_real_images(self, tmp_path, shared_dir):
        words = ["--method", "mmel-h", "--epochs", "1", "--limit", "100"]
        words += ["--test_limit", "100"]
        folder = shared_dir / "data" / "tfds"
        found = run(
            tmp_path,
            *words,
            "--data_dir",
            str(folder),
            load=cifar_data.load_tfds,
        )
        record = found["mmel-h", 0]
        assert "--data_dir" not in record["command"]
        assert json.dumps(record).count(str(folder)) == 0
        assert np.isfinite(record["scores"]["nll"])
