import json

import keras
import numpy as np
import pytest
import scipy.special

import experiments.rivals  # noqa: F401  (its methods)
import keras_mmel
from examples import cifar as recipe
from experiments.training import cifar
from experiments.training import images
from tests.experiments.training import stopping
from tests.experiments.training import toy_images
from tests.experiments.training.toy_images import run
from tests.scores.test_of_views import ece_loop

METHODS = ("--method", "all", "maxup", "--epochs", "1")


@pytest.fixture(scope="module")
def _toy_network():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keras_mmel.models, "cifar_resnet", toy_images.network)
        yield


@pytest.fixture(scope="module")
def every_method(tmp_path_factory, _toy_network):
    folder = tmp_path_factory.mktemp("all")
    return folder, run(folder, *METHODS)


@pytest.mark.slow
class TestEveryMethod:
    @pytest.mark.parametrize(
        ("method", "epochs", "views", "effective"),
        [
            ("da", 1, 1, None),
            ("da-long", 2, 1, None),
            ("uniform", 1, 2, pytest.approx(2, abs=1e-4)),
            ("mmel-h", 1, 2, pytest.approx(1.5, abs=0.49)),
            # Only one view beside the original, which has no weight here.
            ("mmel-s", 1, 2, pytest.approx(1, abs=1e-4)),
            ("maxup", 1, 2, pytest.approx(1, abs=1e-4)),
        ],
    )
    def test_a_record(self, every_method, method, epochs, views, effective):
        folder, found = every_method
        assert len(found) == 6
        assert list((folder / "work").iterdir()) == []
        record = found[method, 0]
        assert record["hours"] > 0
        assert record["environment"]["keras"] == keras.__version__
        command = "python -m experiments.training.cifar "
        assert record["command"].startswith(command)
        assert str(folder) not in json.dumps(record)
        assert record["settings"]["epochs"] == epochs
        assert record["settings"]["num_views"] == views
        curves, scores = record["curves"], record["scores"]
        assert len(curves["loss"]) == epochs
        assert curves["val_epoch"] == [epochs]
        assert curves.get("effective_views", [None])[0] == effective
        for name in ("accuracy", "nll"):
            last = curves[f"val_{name}"][-1]
            assert scores[name] == pytest.approx(last, rel=1e-4)

    def test_nothing_is_run_twice(self, every_method, capsys, monkeypatch):
        folder, found = every_method
        monkeypatch.setattr(images, "train", None)
        assert run(folder, *METHODS) == found
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
@pytest.mark.slow
def test_the_same_command_goes_on(tmp_path, monkeypatch, capsys):
    words = ("--method", "mmel-h", "--epochs", "3", "--seeds", "3")

    def record(name):
        return run(tmp_path / name, *words)["mmel-h", 3]

    whole = record("whole")
    stopping.check_goes_on(
        lambda: record("parts"), whole, 2, monkeypatch, capsys
    )


def test_a_batch_larger_than_the_data(tmp_path):
    with pytest.raises(ValueError, match="batch_size=64 for 20 images"):
        run(tmp_path, "--method", "da", "--batch_size", "64")


@pytest.mark.usefixtures("_toy_network")
def test_the_model_takes_raw_images():
    args = cifar.parse_arguments(["--dataset", "cifar100"])
    model = cifar.build_model(cifar.run_settings(args, "mmel-h", 0), 1).model
    pictures = toy_images.load("cifar100")[0][0]
    normalize = model.get_layer("normalization")
    mean, std = (np.array(of["cifar100"]) for of in (recipe.MEAN, recipe.STD))
    np.testing.assert_allclose(
        normalize(pictures), (pictures - mean) / std, rtol=1e-4, atol=1e-5
    )
    assert model(pictures[:2]).shape == (2, 100)


def test_calibration_error():
    rng = np.random.default_rng(0)
    pictures = rng.random((60, 8, 8, 1), "float32")
    labels = rng.integers(0, 3, 60)
    layers = [keras.layers.Flatten(), keras.layers.Dense(3)]
    model = keras.Sequential([keras.Input((8, 8, 1)), *layers])
    found = images.score(model, pictures, labels)
    p = scipy.special.softmax(np.float64(model(pictures)), axis=1)
    ece = ece_loop(p.max(axis=1), p.argmax(axis=1) == labels)
    assert found["ece"] == pytest.approx(ece, abs=1e-6)


@pytest.mark.slow
class TestVariants:
    @pytest.mark.parametrize(
        "words",
        [
            ("mmel-s", "--mixed_precision", "mixed_float16"),
            ("mmel-s", "--mixed_precision", "mixed_bfloat16"),
            ("mmel-h", "--dataset", "cifar100"),
            ("tilted", "consistency"),
        ],
    )
    def test_options(self, words, tmp_path):
        found = run(tmp_path, "--epochs", "1", "--method", *words)
        assert all(np.isfinite(r["scores"]["nll"]) for r in found.values())

    def test_real_images(self, tmp_path, shared_dir):
        folder = str(shared_dir / "data" / "tfds")
        words = ["--method", "mmel-h", "--epochs", "1", "--limit", "100"]
        words += ["--test_limit", "100", "--data_dir", folder]
        record = run(tmp_path, *words, load=recipe.load)["mmel-h", 0]
        assert folder not in json.dumps(record)
        assert np.isfinite(record["scores"]["nll"])
