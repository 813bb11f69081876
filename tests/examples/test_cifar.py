import json

import keras
import numpy as np
import pytest
import scipy.special
from sklearn.metrics import log_loss

import experiments.rivals  # noqa: F401  (its methods)
import keras_mmel
from examples import cifar
from examples import images
from examples import records
from examples.runs import Progress
from tests.examples import toy_images
from tests.examples.toy_images import run


@pytest.fixture(scope="module")
def _toy_network():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keras_mmel.models, "cifar_resnet", toy_images.network)
        yield


@pytest.fixture(scope="module")
def every_method(tmp_path_factory, _toy_network):
    folder = tmp_path_factory.mktemp("all")
    words = ("--method", "all", "maxup", "--epochs", "1")
    return folder, run(folder, *words)


class TestEveryMethod:
    def test_a_record_for_each(self, every_method):
        folder, found = every_method
        assert {method for method, _ in found} == {*cifar.METHODS, "maxup"}
        for record in found.values():
            assert np.isfinite(record["scores"]["nll"])
            assert 0 <= record["scores"]["accuracy"] <= 1
            assert record["hours"] > 0
            assert record["environment"]["keras"] == keras.__version__
            assert record["command"].startswith("python -m examples.cifar ")
        assert list((folder / "work").iterdir()) == []
        for path in (folder / "out").iterdir():
            assert str(folder) not in path.read_text()

    def test_what_the_methods_are(self, every_method):
        _, found = every_method
        for method, epochs, views, effective in [
            ("da", 1, 1, None),
            ("da-long", 2, 1, None),
            ("uniform", 1, 2, 2),
            ("mmel-h", 1, 2, 1.99),
            # Only one view beside the original, which has no weight here.
            ("mmel-s", 1, 2, 1),
            ("maxup", 1, 2, 1),
        ]:
            record = found[method, 0]
            assert record["settings"]["epochs"] == epochs
            assert record["settings"]["num_views"] == views
            curves = record["curves"]
            assert len(curves["loss"]) == epochs
            assert curves["val_epoch"] == [epochs]
            if effective is None:
                assert "effective_views" not in curves
            elif method == "mmel-h":
                assert 1 < curves["effective_views"][0] < effective
            else:
                expected = pytest.approx(effective, abs=1e-4)
                assert curves["effective_views"][0] == expected

    def test_scores_of_the_test_set(self, every_method):
        _, found = every_method
        for record in found.values():
            scores, curves = record["scores"], record["curves"]
            for name in ("accuracy", "nll"):
                last = curves[f"val_{name}"][-1]
                assert scores[name] == pytest.approx(last, rel=1e-4)

    def test_nothing_is_run_twice(self, every_method, capsys, monkeypatch):
        folder, found = every_method
        monkeypatch.setattr(images, "train", None)
        words = ("--method", "all", "maxup", "--epochs", "1")
        assert run(folder, *words) == found
        assert capsys.readouterr().out.count("finished before") == 6

    def test_table(self, every_method, capsys):
        folder, found = every_method
        cifar.main(["--table", "--out", str(folder / "out")], load=None)
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 6
        accuracy = found["mmel-h", 0]["scores"]["accuracy"]
        (line,) = [line for line in lines if "mmel-h" in line]
        assert f"  accuracy {accuracy:.4f}  nll " in line
        assert line.endswith("(1 seeds)")
        # What differs between the lines.
        assert "lambda_p=1.0" in line and "dataset" not in line


@pytest.mark.usefixtures("_toy_network")
def test_the_same_command_goes_on(tmp_path, monkeypatch, capsys):
    words = ("--method", "mmel-h", "--epochs", "3", "--seeds", "3")
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


class TestSettings:
    def settings(self, method, *words):
        return cifar.run_settings(cifar.parse_arguments([*words]), method, 0)

    def test_defaults_are_the_recipe_of_the_paper(self):
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
        assert expected.items() <= self.settings("mmel-s").items()

    @pytest.mark.parametrize(
        ("method", "stretch"), [("mmel-h", 1), ("da-long", 10)]
    )
    def test_rate_drops_at_60_120_and_160(self, method, stretch):
        schedule = images.schedule(self.settings(method), steps_per_epoch=7)
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
        ("words", "message"),
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
    (pictures, labels), _ = toy_images.load("cifar10")

    def test_classes_are_equal_up_to_one(self):
        chosen = cifar.balanced_subset(self.pictures, self.labels, 13)
        assert len(chosen[0]) == 13
        counts = np.bincount(chosen[1], minlength=10)
        assert sorted(counts) == [1] * 7 + [2] * 3

    def test_does_not_depend_on_the_order(self):
        shuffled = np.random.default_rng(1).permutation(len(self.labels))
        one = cifar.balanced_subset(self.pictures, self.labels, 10)
        other = cifar.balanced_subset(
            self.pictures[shuffled], self.labels[shuffled], 10
        )
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])

    def test_images_keep_their_labels(self):
        pictures = np.arange(40, dtype="uint8").reshape(20, 2, 1, 1)
        labels = pictures[:, 0, 0, 0] // 2 % 4
        chosen, found = cifar.balanced_subset(pictures, labels, 8)
        np.testing.assert_array_equal(found, chosen[:, 0, 0, 0] // 2 % 4)
        assert len(np.unique(chosen)) == 16

    def test_all_and_too_many(self):
        found, _ = cifar.balanced_subset(self.pictures, self.labels, None)
        assert found is self.pictures
        with pytest.raises(ValueError, match="Received: 21 of 20"):
            cifar.balanced_subset(self.pictures, self.labels, 21)


@pytest.mark.usefixtures("_toy_network")
def test_the_model_takes_raw_images():
    args = cifar.parse_arguments(["--dataset", "cifar100"])
    model = cifar.build_model(cifar.run_settings(args, "mmel-h", 0), 1).model
    pictures = toy_images.load("cifar100")[0][0]
    normalize = model.get_layer("normalization")
    mean, std = (np.array(of["cifar100"]) for of in (cifar.MEAN, cifar.STD))
    np.testing.assert_allclose(
        normalize(pictures), (pictures - mean) / std, rtol=1e-4, atol=1e-5
    )
    assert model(pictures[:2]).shape == (2, 100)


def test_score():
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (60, 8, 8, 1)).astype("uint8")
    labels = rng.integers(0, 3, 60)
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Rescaling(1 / 255),
            keras.layers.Flatten(),
            keras.layers.Dense(3),
        ]
    )
    found = images.score(model, pictures, labels)

    def right(pictures):
        return np.argmax(model(pictures), axis=1) == labels

    p = scipy.special.softmax(np.float64(model(pictures)), axis=1)
    nll = log_loss(labels, p)
    assert found["accuracy"] == pytest.approx(right(pictures).mean())
    assert found["nll"] == pytest.approx(nll, rel=1e-5)
    confidence, ece = p.max(1), 0.0
    for low in np.arange(15) / 15:
        inside = (confidence > low) & (confidence <= low + 1 / 15)
        if inside.any():
            gap = right(pictures)[inside].mean() - confidence[inside].mean()
            ece += inside.mean() * abs(gap)
    assert found["ece"] == pytest.approx(ece, abs=1e-6)


@pytest.mark.slow
class TestVariants:
    @pytest.mark.parametrize(
        "words",
        [
            ("--mixed_precision", "mixed_float16"),
            ("--mixed_precision", "mixed_bfloat16"),
            ("--dataset", "cifar100"),
        ],
    )
    def test_options(self, words, tmp_path):
        found = run(tmp_path, "--method", "mmel-s", "--epochs", "1", *words)
        assert np.isfinite(found["mmel-s", 0]["scores"]["nll"])

    def test_every_rival(self, tmp_path):
        rivals = ("maxup", "tilted", "consistency")
        found = run(tmp_path, "--method", *rivals, "--epochs", "1")
        assert {method for method, _ in found} == set(rivals)

    def test_real_images(self, tmp_path, shared_dir):
        folder = str(shared_dir / "data" / "tfds")
        words = ["--method", "mmel-h", "--epochs", "1", "--limit", "100"]
        words += ["--test_limit", "100", "--data_dir", folder]
        record = run(tmp_path, *words, load=cifar.load_tfds)["mmel-h", 0]
        assert "--data_dir" not in record["command"]
        assert json.dumps(record).count(folder) == 0
        assert np.isfinite(record["scores"]["nll"])
